#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "chaos/drivers/fault_driver.h"

namespace outrigger::chaos {

inline constexpr std::chrono::seconds kAdminDeadline{2};

/// Faults through a sidecar's admin API (api/outrigger/sidecar/admin/v1/fault.proto); `admin` is unix:///path/of/the.sock.
/// Connects at the first call, and again after the sidecar was restarted.
[[nodiscard]] std::unique_ptr<FaultDriver> make_sidecar_driver(const std::string& admin, std::chrono::milliseconds deadline = kAdminDeadline);

}  // namespace outrigger::chaos

#pragma once

#include <memory>

#include "lib/runtime/error.h"
#include "lib/telemetry/metrics.h"
#include "service/journal/journal.h"
#include "service/program/settings.h"

namespace outrigger::service {

/// The journal that the settings ask for: the one place that knows the kinds. `registry` outlives it.
/// Errors: those of the journals' own open functions.
[[nodiscard]] Result<std::unique_ptr<journal::Journal>> open_journal(const ServiceSettings& settings, telemetry::Registry& registry);

}  // namespace outrigger::service

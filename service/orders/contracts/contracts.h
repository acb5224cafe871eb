#pragma once

#include <span>
#include <string_view>

#include "lib/contracts/registry.h"

namespace outrigger::orders {

/// Namespace of the order example's schemas: a command of type T is `<package>.T`, its reply `<package>.TReply`. The undos'
/// replies have no output, so they use the protocol's own outrigger.saga.v1.Reply.
inline constexpr std::string_view kContractPackage = "outrigger.orders.v1";

/// The schemas of v1/*.avsc, as they were when the program was built.
[[nodiscard]] std::span<const contracts::EmbeddedSchema> contract_schemas();

}  // namespace outrigger::orders

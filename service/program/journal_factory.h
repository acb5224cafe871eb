#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lib/runtime/error.h"
#include "lib/telemetry/metrics.h"
#include "service/journal/journal.h"
#include "service/program/settings.h"
#include "service/saga/definition.h"

namespace outrigger::service {

/// Asks this process to end with that exit code; from any thread.
using DemandExit = std::function<void(int exit_code)>;

/// The journal that the settings ask for: the one place that knows the kinds. Kafka's command topics are those that the
/// definitions' steps name. `registry` outlives it. Errors: those of the journals' own open functions.
[[nodiscard]] Result<std::unique_ptr<journal::Journal>> open_journal(const ServiceSettings& settings, const saga::Catalog& definitions,
                                                                     DemandExit demand_exit, telemetry::Registry& registry);

/// With the Kafka journal a definition can be added while running only when its topics were checked at the start.
/// Errors: kInvalidArgument (a URL), kFailedPrecondition.
[[nodiscard]] Result<void> check_command_topics(const saga::Catalog& found, const saga::Catalog& of_the_start);

}  // namespace outrigger::service

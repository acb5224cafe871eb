#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "lib/participant/message.h"
#include "service/saga/definition.h"
#include "service/saga/state.h"

namespace outrigger::saga {

/// The command of a step as the state says it stands: the same state gives the same command.
/// Payload: {"input": …, "outputs": {<earlier step>: …}}, and for an undo "output": what this step's do answered, or null.
[[nodiscard]] participant::Command make_command(const Definition& definition, const SagaState& saga, std::size_t step,
                                                participant::Direction direction);

/// How deep a JSON text nests. Writers of JSON recurse, so what comes from outside has a limit.
[[nodiscard]] std::size_t json_depth(std::string_view text);
inline constexpr std::size_t kMaxJsonDepth = 64;

/// JSON text as it is; anything else, and what nests too deep, as a JSON string, so that it can stand in a payload.
[[nodiscard]] std::string as_json(const std::string& output);

/// How long to wait after send number `attempt`. Grows by the policy's multiplier, less up to a fifth that the step's identity
/// decides, so that sagas that failed together do not come back together.
[[nodiscard]] std::chrono::milliseconds backoff(const RetryPolicy& policy, std::string_view saga_id, std::string_view step, std::uint32_t attempt);

}  // namespace outrigger::saga

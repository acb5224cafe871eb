#include "service/saga/internal/payload.h"

#include <algorithm>
#include <cmath>
#include <format>

#include <nlohmann/json.hpp>

#include "lib/runtime/ids.h"

namespace outrigger::saga {
namespace {

using participant::Direction;

/// Marks the steps that come before `step` by `after`. They had succeeded when it was first sent, and their outputs never change,
/// so every send of a command carries the same payload.
void mark_earlier(const Definition& definition, std::size_t step, std::vector<bool>& earlier) {
  for (const auto& before : definition.steps[step].after) {
    const auto index = *definition.index_of(before);
    if (!earlier[index]) {
      earlier[index] = true;
      mark_earlier(definition, index, earlier);
    }
  }
}

std::string payload(const Definition& definition, const SagaState& saga, std::size_t step, Direction direction) {
  const auto or_null = [](const std::string& json) -> std::string_view { return json.empty() ? std::string_view("null") : std::string_view(json); };
  std::vector<bool> earlier(definition.steps.size(), false);
  mark_earlier(definition, step, earlier);
  std::string text = std::format("{{\"input\":{},\"outputs\":{{", or_null(saga.input));
  bool is_first = true;
  for (std::size_t i = 0; i < earlier.size(); ++i) {
    if (earlier[i]) {
      text += std::format("{}\"{}\":{}", is_first ? "" : ",", definition.steps[i].name, or_null(saga.steps[i].output));
      is_first = false;
    }
  }
  text += "}";
  if (direction == Direction::kUndo) {
    text += std::format(",\"output\":{}", or_null(saga.steps[step].output));
  }
  return text + "}";
}

}  // namespace

participant::Command make_command(const Definition& definition, const SagaState& saga, std::size_t step, Direction direction) {
  const auto& what = definition.steps[step];
  const auto& state = saga.steps[step];
  const bool is_do = direction == Direction::kDo;
  return {.saga_id = saga.id,
          .partition = saga.partition,
          .step = what.name,
          .direction = direction,
          .attempt = is_do ? state.attempt : state.undo_attempt,
          .type = is_do ? what.command : what.compensate->command,
          .destination = what.url.empty() ? what.topic
                         : is_do          ? what.url
                                          : what.compensate->url,
          .payload = payload(definition, saga, step, direction),
          .deadline = state.next_at.value_or(saga.deadline),
          .traceparent = saga.traceparent};
}

std::size_t json_depth(std::string_view text) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      i += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

std::string as_json(const std::string& output) {
  using Json = nlohmann::json;
  const bool is_json = json_depth(output) <= kMaxJsonDepth && Json::accept(output);
  return output.empty() || is_json ? output : Json(output).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::chrono::milliseconds backoff(const RetryPolicy& policy, std::string_view saga_id, std::string_view step, std::uint32_t attempt) {
  const auto longest = static_cast<double>(policy.max_backoff.count());
  const auto grown = std::min(longest, static_cast<double>(policy.backoff.count()) * std::pow(policy.multiplier, std::min(attempt - 1, 1000U)));
  const auto spread = static_cast<double>(stable_hash(std::format("{}/{}/{}", saga_id, step, attempt)) % 1000) / 1000.0;
  return std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(grown * (1.0 - 0.2 * spread)));
}

}  // namespace outrigger::saga

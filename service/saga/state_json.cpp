#include <nlohmann/json.hpp>

#include "service/saga/state.h"

namespace outrigger::saga {
namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json time_or_null(const std::optional<WallTime>& time) { return time ? Json(format_time(*time)) : Json(nullptr); }

/// JSON text as JSON; what is none, as a string.
Json embedded(const std::string& text) {
  if (text.empty()) {
    return nullptr;
  }
  auto json = Json::parse(text, nullptr, false);
  return json.is_discarded() ? Json(text) : json;
}

Json event_json(const HistoryEvent& event) {
  return {{"sequence", event.sequence},
          {"at", format_time(event.at)},
          {"event", event.event},
          {"step", text_or_null(event.step)},
          {"detail", text_or_null(event.detail)}};
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string to_json(const HistoryEvent& event) { return dump(event_json(event)); }

std::string to_json(const SagaState& state) {
  auto steps = Json::array();
  for (const auto& step : state.steps) {
    steps.push_back({{"name", step.name},
                     {"status", name(step.status)},
                     {"attempt", step.attempt},
                     {"undo_attempt", step.undo_attempt},
                     {"output", embedded(step.output)},
                     {"error", text_or_null(step.error)},
                     {"started_at", time_or_null(step.started_at)},
                     {"ended_at", time_or_null(step.ended_at)},
                     {"next_at", time_or_null(step.next_at)}});
  }
  auto history = Json::array();
  for (const auto& event : state.history) {
    history.push_back(event_json(event));
  }
  const Json json{{"id", state.id},
                  {"definition", state.definition},
                  {"definition_version", state.definition_version},
                  {"status", name(state.status)},
                  {"version", state.version},
                  {"business_key", text_or_null(state.business_key)},
                  {"created_at", format_time(state.created_at)},
                  {"updated_at", format_time(state.updated_at)},
                  {"deadline", format_time(state.deadline)},
                  {"steps", std::move(steps)},
                  {"history", std::move(history)}};
  return dump(json);
}

}  // namespace outrigger::saga

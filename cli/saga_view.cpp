#include "cli/saga_view.h"

#include <array>

#include <nlohmann/json.hpp>

namespace outrigger::cli {
namespace {

using Json = nlohmann::ordered_json;

Tone tone_of(std::string_view status) {
  if (status == "COMPLETED" || status == "SUCCEEDED") {
    return Tone::kGood;
  }
  if (status == "STUCK" || status == "FAILED" || status == "UNDO_FAILED" || status == "ABANDONED") {
    return Tone::kBad;
  }
  if (status == "COMPENSATING" || status == "COMPENSATED" || status == "PAUSED" || status == "UNDONE" || status == "UNKNOWN") {
    return Tone::kWarning;
  }
  return Tone::kPlain;
}

Cell coloured(std::string status) {
  const Tone tone = tone_of(status);
  return {std::move(status), tone};
}

const Json& list_in(const Json& object, const char* key) {
  static const Json kNone = Json::array();
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : kNone;
}

/// What a step came to: its error, or else its output.
std::string result_of(const Json& step) {
  const std::string error = text_of(step, "error");
  return error.empty() ? text_of(step, "output") : error;
}

}  // namespace

std::string text_of(const Json& object, std::string_view key) {
  if (!object.is_object()) {
    return {};
  }
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) {
    return {};
  }
  return found->is_string() ? found->get<std::string>() : found->dump(-1, ' ', false, Json::error_handler_t::replace);
}

Cell saga_status(const Json& saga) { return coloured(text_of(saga, "status")); }

Table saga_list(const Json& sagas) {
  Table table{.columns = {"SAGA", "DEFINITION", "STATUS", "BUSINESS KEY", "CREATED", "UPDATED"}, .rows = {}};
  for (const Json& saga : sagas) {
    table.rows.push_back({text_of(saga, "id"), text_of(saga, "definition"), saga_status(saga), text_of(saga, "business_key"),
                          text_of(saga, "created_at"), text_of(saga, "updated_at")});
  }
  return table;
}

Table saga_steps(const Json& saga) {
  Table table{.columns = {"STEP", "STATUS", "ATTEMPT", "RESULT"}, .rows = {}};
  for (const Json& step : list_in(saga, "steps")) {
    table.rows.push_back({text_of(step, "name"), saga_status(step), text_of(step, "attempt"), result_of(step)});
  }
  return table;
}

Table saga_timeline(const Json& saga, std::size_t first) {
  Table table{.columns = {"AT", "EVENT", "STEP", "DETAIL"}, .rows = {}};
  const Json& history = list_in(saga, "history");
  for (std::size_t i = first; i < history.size(); ++i) {
    table.rows.push_back({text_of(history[i], "at"), text_of(history[i], "event"), text_of(history[i], "step"), text_of(history[i], "detail")});
  }
  return table;
}

bool is_at_rest(const Json& saga) {
  static constexpr std::array<std::string_view, 4> kAtRest{"COMPLETED", "COMPENSATED", "STUCK", "ABANDONED"};
  return std::ranges::find(kAtRest, text_of(saga, "status")) != kAtRest.end();
}

}  // namespace outrigger::cli

#include "chaos/runner/replay.h"

#include <algorithm>
#include <format>

#include <nlohmann/json.hpp>

namespace outrigger::chaos {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& entry, const char* key) {
  const auto found = entry.find(key);
  return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

/// Why an entry is none; empty: it is.
std::string apply(const Json& entry, JournalState& state) {
  const auto event = text_of(entry, "event");
  const auto sequence = entry.find("seq");
  if (event.empty() || text_of(entry, "run").empty() || sequence == entry.end() || !sequence->is_number_unsigned()) {
    return "no entry of a chaos journal";
  }
  state.last_sequence = sequence->get<std::uint64_t>();
  const auto armed_id = text_of(entry, "armed_id");
  if (event == "start") {
    state.run_id = text_of(entry, "run");
    state.scenario = text_of(entry, "scenario");
  } else if (event == "intent") {
    OpenFault fault{armed_id, text_of(entry, "driver"), text_of(entry, "admin"), event};
    // Only what carries the run's id is ours to end.
    if (fault.driver.empty() || fault.admin.empty() || state.run_id.empty() || text_of(entry, "run") != state.run_id) {
      return "an intent without its run, driver or target";
    }
    state.open.push_back(std::move(fault));
    ++state.faults;
  } else if (event == "verified") {
    std::erase_if(state.open, [&](const OpenFault& fault) { return fault.armed_id == armed_id; });
  } else if (event == "end") {
    const auto code = entry.find("exit_code");
    state.exit_code = code != entry.end() && code->is_number_integer() ? code->get<int>() : 0;
  } else if (const auto found = std::ranges::find(state.open, armed_id, &OpenFault::armed_id); found != state.open.end()) {
    found->last_event = event;
  }
  return {};
}

}  // namespace

Result<JournalState> replay(std::string_view text, const std::string& file) {
  JournalState state;
  std::size_t number = 0;
  while (state.whole_bytes < text.size()) {
    const auto end = text.find('\n', state.whole_bytes);
    if (end == std::string_view::npos) {
      break;
    }
    ++number;
    const auto entry = Json::parse(text.substr(state.whole_bytes, end - state.whole_bytes), nullptr, false);
    const auto problem = entry.is_object() ? apply(entry, state) : std::string("not a JSON object");
    if (!problem.empty()) {
      return fail(ErrorCode::kInvalidArgument, std::format("{}: give the journal that `outrigger chaos run` wrote", problem),
                  std::format("{}:{}", file, number));
    }
    state.whole_bytes = end + 1;
  }
  return state;
}

}  // namespace outrigger::chaos

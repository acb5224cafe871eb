#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <utility>

#include <nlohmann/json.hpp>

#include "service/saga/state.h"

namespace outrigger::saga {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// JSON text, member by member, without a tree of it in between: every finished order is answered with one of these.
class Writer final {
 public:
  template <class... Members>
  void object(Members&&... members) {
    text_ += '{';
    (std::forward<Members>(members)(*this), ...);
    end('}');
  }
  template <class Items, class Write>
  void array(const Items& items, Write&& write) {
    text_ += '[';
    for (const auto& item : items) {
      write(item);
      text_ += ',';
    }
    end(']');
  }

  void string(std::string_view text) {
    const bool is_plain = std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
    if (is_plain) {
      text_.append(1, '"').append(text) += '"';
    } else {
      text_ += dump(Json(text));
    }
  }
  void string_or_null(std::string_view text) { text.empty() ? null() : string(text); }
  void null() { text_ += "null"; }
  void number(std::uint64_t number) {
    std::array<char, 20> digits{};
    text_.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
  }
  void time(const std::optional<WallTime>& time) { time ? string(format_time(*time)) : null(); }

  /// JSON text as JSON, on one line; what is none, as a string.
  void embedded(const std::string& text) {
    if (text.empty()) {
      null();
    } else if (!text.contains('\n') && !text.contains('\r') && Json::accept(text)) {
      text_ += text;
    } else {
      auto json = Json::parse(text, nullptr, false);
      text_ += dump(json.is_discarded() ? Json(text) : json);
    }
  }

  void name(std::string_view name) { text_.append(1, '"').append(name) += "\":"; }
  void comma() { text_ += ','; }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  // Each item leaves a comma behind it.
  void end(char bracket) {
    if (text_.back() == ',') {
      text_.pop_back();
    }
    text_ += bracket;
  }

  std::string text_;
};

/// A member of an object whose value `write` writes.
template <std::invocable<Writer&> Write>
auto member(std::string_view name, Write write) {
  return [name, write](Writer& to) {
    to.name(name);
    write(to);
    to.comma();
  };
}
auto member(std::string_view name, std::string_view text) {
  return member(name, [text](Writer& to) { to.string(text); });
}
auto member(std::string_view name, std::uint64_t number) {
  return member(name, [number](Writer& to) { to.number(number); });
}
auto member(std::string_view name, const std::optional<WallTime>& time) {
  return member(name, [time](Writer& to) { to.time(time); });
}
auto text_or_null(std::string_view name, std::string_view text) {
  return member(name, [text](Writer& to) { to.string_or_null(text); });
}

void write(Writer& to, const HistoryEvent& event) {
  to.object(member("sequence", event.sequence), member("at", std::optional(event.at)), member("event", std::string_view(event.event)),
            text_or_null("step", event.step), text_or_null("detail", event.detail));
}

void write(Writer& to, const StepState& step) {
  to.object(member("name", std::string_view(step.name)), member("status", name(step.status)), member("attempt", std::uint64_t{step.attempt}),
            member("undo_attempt", std::uint64_t{step.undo_attempt}), member("output", [&](Writer& output) { output.embedded(step.output); }),
            text_or_null("error", step.error), member("started_at", step.started_at), member("ended_at", step.ended_at),
            member("next_at", step.next_at));
}

}  // namespace

std::string to_json(const HistoryEvent& event) {
  Writer writer;
  write(writer, event);
  return writer.take();
}

std::string to_json(const SagaState& state) {
  Writer writer;
  writer.object(member("id", std::string_view(state.id)), member("definition", std::string_view(state.definition)),
                member("definition_version", std::uint64_t{state.definition_version}), member("status", name(state.status)),
                member("version", std::uint64_t{state.version}), text_or_null("business_key", state.business_key),
                member("created_at", std::optional(state.created_at)), member("updated_at", std::optional(state.updated_at)),
                member("deadline", std::optional(state.deadline)),
                member("steps", [&](Writer& to) { to.array(state.steps, [&](const StepState& step) { write(to, step); }); }),
                member("history", [&](Writer& to) { to.array(state.history, [&](const HistoryEvent& event) { write(to, event); }); }));
  return writer.take();
}

}  // namespace outrigger::saga

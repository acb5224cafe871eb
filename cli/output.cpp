#include "cli/output.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>

#include <yaml-cpp/yaml.h>
#include <nlohmann/json.hpp>

namespace outrigger::cli {
namespace {

std::string_view escape(Tone tone) {
  switch (tone) {
    case Tone::kGood: return "\x1b[32m";
    case Tone::kBad: return "\x1b[31m";
    case Tone::kWarning: return "\x1b[33m";
    case Tone::kFaint: return "\x1b[2m";
    case Tone::kPlain: break;
  }
  return {};
}

std::string paint(std::string_view text, Tone tone, bool has_colour) {
  const std::string_view start = has_colour ? escape(tone) : std::string_view{};
  return start.empty() ? std::string(text) : std::string(start) + std::string(text) + "\x1b[0m";
}

/// What a server sent must not move the cursor of the terminal or forge a row.
std::string printable(std::string_view text) {
  std::string out(text);
  std::ranges::replace_if(out, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return out;
}

/// Columns that a text takes: its code points, good enough for what is shown here.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

/// YAML 1.1 readers take these for booleans and nulls, and unquoted digits for numbers.
bool reads_as_another_type(const std::string& text) {
  static constexpr std::array<std::string_view, 11> kWords{"", "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n"};
  std::string lower = text;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(kWords, lower) != kWords.end() || std::isdigit(static_cast<unsigned char>(text.front())) != 0 ||
         std::string_view("+-.=").contains(text.front());
}

void emit(YAML::Emitter& out, const nlohmann::ordered_json& value) {
  if (value.is_object()) {
    out << (value.empty() ? YAML::Flow : YAML::Block) << YAML::BeginMap;
    for (const auto& [key, item] : value.items()) {
      out << YAML::Key << key << YAML::Value;
      emit(out, item);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    out << (value.empty() ? YAML::Flow : YAML::Block) << YAML::BeginSeq;
    for (const auto& item : value) {
      emit(out, item);
    }
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    out << (text.empty() || reads_as_another_type(text) ? YAML::DoubleQuoted : YAML::Auto) << text;
  } else if (value.is_null()) {
    out << YAML::Null;
  } else {
    out << value.dump();  // numbers and booleans are written alike in both
  }
}

}  // namespace

bool wants_colour(int file_descriptor) {
  const char* no_color = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): read once, before any thread
  const char* terminal = std::getenv("TERM");      // NOLINT(concurrency-mt-unsafe)
  return isatty(file_descriptor) == 1 && (no_color == nullptr || *no_color == '\0') && terminal != nullptr && std::string_view(terminal) != "dumb";
}

std::string render(const Table& table, bool has_colour) {
  std::vector<std::size_t> widths;
  widths.reserve(table.columns.size());
  for (const auto& column : table.columns) {
    widths.push_back(width(column));
  }
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], width(row[i].text));
    }
  }
  std::string out;
  const auto append = [&](std::size_t i, std::size_t last, const std::string& text, Tone tone) {
    const std::string shown = printable(text);
    out += paint(shown, tone, has_colour);
    if (i < last) {
      out.append(widths[i] - width(shown) + 2, ' ');
    }
  };
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    append(i, table.columns.size() - 1, table.columns[i], Tone::kFaint);
  }
  out += '\n';
  for (const auto& row : table.rows) {
    const std::size_t cells = std::min(row.size(), widths.size());
    for (std::size_t i = 0; i < cells; ++i) {
      append(i, cells - 1, row[i].text, row[i].tone);
    }
    out += '\n';
  }
  return out;
}

std::string to_yaml(const nlohmann::ordered_json& document) {
  YAML::Emitter out;
  emit(out, document);
  return std::string(out.c_str()) + "\n";
}

Output::Output(std::ostream& out, std::ostream& error, bool out_has_colour, bool error_has_colour)
    : out_(out), error_(error), out_has_colour_(out_has_colour), error_has_colour_(error_has_colour) {}

void Output::result(const nlohmann::ordered_json& document, const std::function<void()>& for_people) {
  switch (format_) {
    case OutputFormat::kTable: for_people(); break;
    case OutputFormat::kJson: out_ << document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n'; break;
    case OutputFormat::kYaml: out_ << to_yaml(document); break;
  }
  out_.flush();
}

void Output::event(const nlohmann::ordered_json& document, const std::function<void()>& for_people) {
  switch (format_) {
    case OutputFormat::kTable: for_people(); break;
    case OutputFormat::kJson: out_ << document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n'; break;
    case OutputFormat::kYaml: out_ << "---\n" << to_yaml(document); break;
  }
  out_.flush();
}

void Output::table(const Table& table) { out_ << render(table, out_has_colour_); }

void Output::line(std::string_view text, Tone tone) { out_ << paint(printable(text), tone, out_has_colour_) << '\n'; }

void Output::note(std::string_view text) { error_ << text << '\n'; }

int Output::failure(const Error& failure) {
  error_ << paint("error:", Tone::kBad, error_has_colour_) << ' ' << failure.to_string() << '\n';
  switch (failure.code) {
    case ErrorCode::kInvalidArgument: return exit_code::kUsage;
    case ErrorCode::kUnavailable: return exit_code::kUnreachable;
    default: return exit_code::kFailed;
  }
}

}  // namespace outrigger::cli

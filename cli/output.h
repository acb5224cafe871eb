#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/runtime/error.h"

namespace outrigger::cli {

/// Exit codes of the command line; `chaos` documents a table of its own.
namespace exit_code {
inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;        ///< the command ran and the answer is no
inline constexpr int kUsage = 2;         ///< wrong flags or invalid input
inline constexpr int kUnreachable = 69;  ///< EX_UNAVAILABLE: the service or sidecar did not answer
}  // namespace exit_code

enum class OutputFormat { kTable, kJson, kYaml };

/// What a text says, for its colour on a terminal; without colour nothing is lost.
enum class Tone { kPlain, kGood, kBad, kWarning, kFaint };

struct Cell {
  Cell(std::string cell_text, Tone cell_tone = Tone::kPlain) : text(std::move(cell_text)), tone(cell_tone) {}  // NOLINT: rows read as lists of text
  Cell(const char* cell_text) : text(cell_text) {}                                                             // NOLINT
  std::string text;
  Tone tone;
};

struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;
};

/// Where a command writes: results on `out`, remarks and errors on `error`. Not thread-safe.
class Output final {
 public:
  Output(std::ostream& out, std::ostream& error, bool out_has_colour, bool error_has_colour);

  void set_format(OutputFormat format) { format_ = format; }
  [[nodiscard]] OutputFormat format() const { return format_; }

  /// The result of a command: one JSON or YAML document, or what `for_people` writes with the calls below.
  void result(const nlohmann::ordered_json& document, const std::function<void()>& for_people);

  /// One of a stream of results: a line of JSON, a YAML document after "---", or what `for_people` writes.
  void event(const nlohmann::ordered_json& document, const std::function<void()>& for_people);

  void table(const Table& table);
  void line(std::string_view text, Tone tone = Tone::kPlain);

  /// A remark that is no result, on `error`.
  void note(std::string_view text);

  /// "error: …" on `error`; returns the exit code that fits: invalid input 2, unreachable 69, else 1.
  int failure(const Error& failure);

 private:
  std::ostream& out_;
  std::ostream& error_;
  bool out_has_colour_;
  bool error_has_colour_;
  OutputFormat format_ = OutputFormat::kTable;
};

/// Colour is for terminals, unless NO_COLOR is set and not empty (no-color.org) or TERM is "dumb".
[[nodiscard]] bool wants_colour(int file_descriptor);

/// The table as text, columns two spaces apart; pure.
[[nodiscard]] std::string render(const Table& table, bool has_colour);

/// The document as YAML; strings that would read as another type are quoted. Pure.
[[nodiscard]] std::string to_yaml(const nlohmann::ordered_json& document);

}  // namespace outrigger::cli

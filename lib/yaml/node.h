#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/error.h"

namespace outrigger::yaml {

/// One value of a YAML document and where it stands. Owns its children; copying copies them.
struct Node {
  struct Entry;
  enum class Kind : std::uint8_t { kNull, kScalar, kSequence, kMapping };

  Kind kind = Kind::kNull;
  bool quoted = false;                      ///< a scalar in quotes or a block: text, whatever it looks like
  std::string scalar;                       ///< of kScalar
  std::vector<Node> items;                  ///< of kSequence
  std::vector<Entry> entries;               ///< of kMapping, in the order of the file
  std::shared_ptr<const std::string> file;  ///< as the caller named it
  int line = 0;                             ///< 1-based; of a mapping's entry: its value
  int column = 0;
  int key_line = 0;  ///< of a mapping's entry: its key, else 0
  int key_column = 0;

  /// "file:line:column" of the value.
  [[nodiscard]] std::string where() const;
  /// "file:line:column" of the entry's key; of the value where it has none.
  [[nodiscard]] std::string where_key() const;
  /// The entry of a mapping, or nullptr.
  [[nodiscard]] const Node* find(std::string_view key) const;
};

struct Node::Entry {
  std::string key;
  Node value;
};

/// Parses every document of `text`; `file` is what error messages name.
/// Refuses duplicate keys, keys that are not scalars, aliases and merge keys, tags, nesting deeper than 64, more than 4 MiB.
/// Errors: kInvalidArgument with file:line:column as its context.
[[nodiscard]] Result<std::vector<Node>> parse_documents(std::string_view text, std::string_view file);

/// Parses a text that must hold exactly one document.
[[nodiscard]] Result<Node> parse(std::string_view text, std::string_view file);

/// Reads and parses a file with one document. Errors: also kNotFound.
[[nodiscard]] Result<Node> parse_file(const std::string& path);
[[nodiscard]] Result<std::vector<Node>> parse_file_documents(const std::string& path);

}  // namespace outrigger::yaml

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outrigger::contracts::internal {

enum class Kind : std::uint8_t { kNull, kBoolean, kInt, kLong, kFloat, kDouble, kBytes, kString, kRecord, kEnum, kFixed, kArray, kMap, kUnion };

[[nodiscard]] std::string_view type_name(Kind kind);

struct Node;

struct Field {
  std::string name;
  std::string json_name;  ///< the name unless the schema says otherwise
  const Node* type = nullptr;
  std::optional<std::string> default_bytes;  ///< the default as Avro binary
  bool is_default_null = false;
};

/// One type of a schema. Named types may be reached by several ways and may contain themselves.
struct Node {
  Kind kind = Kind::kNull;
  std::string name;                   ///< full name of record, enum, fixed
  std::vector<Field> fields;          ///< record
  std::vector<std::string> symbols;   ///< enum
  std::vector<const Node*> branches;  ///< union; the items of an array, the values of a map
  std::size_t size = 0;               ///< fixed
};

struct Schema {
  std::vector<std::unique_ptr<Node>> nodes;
  const Node* root = nullptr;
  std::string name;
  std::string canonical_form;
  std::uint64_t fingerprint = 0;
};

}  // namespace outrigger::contracts::internal

#include "lib/contracts/schema.h"

#include <avro/errors.h>
#include <avro/schema.h>

#include <algorithm>
#include <array>
#include <format>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/contracts/internal/canonical_form.h"
#include "lib/contracts/internal/json_encoder.h"
#include "lib/contracts/internal/node.h"

namespace outrigger::contracts {
namespace {

using internal::Field;
using internal::Kind;
using internal::Node;
using Json = nlohmann::json;

constexpr std::array<std::string_view, 14> kTypeNames{"null",   "boolean", "int",  "long",  "float", "double", "bytes",
                                                      "string", "record",  "enum", "fixed", "array", "map",    "union"};
constexpr std::size_t kPrimitives = 8;
constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxFixedBytes = 1U << 20U;

bool is_name(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

bool is_full_name(std::string_view text) {
  for (;;) {
    const auto dot = text.find('.');
    if (!is_name(text.substr(0, dot))) {
      return false;
    }
    if (dot == std::string_view::npos) {
      return true;
    }
    text.remove_prefix(dot + 1);
  }
}

/// Builds the tree; the first problem ends it.
class Parser {
 public:
  explicit Parser(internal::Schema& out) : out_(out) {}

  Result<const Node*> type(const Json& json, const std::string& name_space, const std::string& path, std::size_t depth) {
    if (depth > kMaxDepth) {
      return problem(path, "types are nested too deeply");
    }
    if (json.is_string()) {
      return reference(json.get<std::string>(), name_space, path);
    }
    if (json.is_array()) {
      return union_of(json, name_space, path, depth);
    }
    if (!json.is_object() || !json.contains("type")) {
      return problem(path, "a type is a name, a list of types or an object with \"type\"");
    }
    const auto& kind = json.at("type");
    if (!kind.is_string()) {
      return type(kind, name_space, path, depth + 1);
    }
    const auto text = kind.get<std::string>();
    if (text == "record" || text == "error") {
      return record(json, name_space, path, depth);
    }
    if (text == "enum") {
      return enumeration(json, name_space, path);
    }
    if (text == "fixed") {
      return fixed(json, name_space, path);
    }
    if (text == "array" || text == "map") {
      const std::string key = text == "array" ? "items" : "values";
      if (!json.contains(key)) {
        return problem(path, std::format("{} without \"{}\"", text, key));
      }
      auto element = type(json.at(key), name_space, path + "." + key, depth + 1);
      if (!element) {
        return element;
      }
      auto& node = add(text == "array" ? Kind::kArray : Kind::kMap);
      node.branches.push_back(*element);
      return &node;
    }
    return reference(text, name_space, path);
  }

 private:
  static std::unexpected<Error> problem(const std::string& path, std::string_view what) {
    return fail(ErrorCode::kInvalidArgument, std::format("{}: {}", path.empty() ? "schema" : path, what));
  }

  Node& add(Kind kind) {
    out_.nodes.push_back(std::make_unique<Node>());
    out_.nodes.back()->kind = kind;
    return *out_.nodes.back();
  }

  Result<const Node*> reference(const std::string& name, const std::string& name_space, const std::string& path) {
    const auto primitive = std::ranges::find(kTypeNames.begin(), kTypeNames.begin() + kPrimitives, name);
    if (primitive != kTypeNames.begin() + kPrimitives) {
      return &add(static_cast<Kind>(primitive - kTypeNames.begin()));
    }
    const bool is_qualified = name.contains('.');
    const auto found = named_.find(is_qualified || name_space.empty() ? name : name_space + "." + name);
    if (found == named_.end()) {
      return problem(path, std::format("unknown type '{}': a named type must be defined before it is used", name));
    }
    return found->second;
  }

  Result<const Node*> union_of(const Json& json, const std::string& name_space, const std::string& path, std::size_t depth) {
    if (json.empty()) {
      return problem(path, "a union needs a branch");
    }
    std::vector<const Node*> branches;
    std::set<std::string> kinds;
    for (std::size_t i = 0; i < json.size(); ++i) {
      const auto where = std::format("{}[{}]", path, i);
      auto branch = type(json[i], name_space, where, depth + 1);
      if (!branch) {
        return branch;
      }
      const auto& node = **branch;
      if (node.kind == Kind::kUnion) {
        return problem(where, "a union must not hold a union directly");
      }
      if (!kinds.insert(node.name.empty() ? std::string(type_name(node.kind)) : node.name).second) {
        return problem(where, std::format("the union has {} twice", node.name.empty() ? type_name(node.kind) : node.name));
      }
      branches.push_back(&node);
    }
    auto& node = add(Kind::kUnion);
    node.branches = std::move(branches);
    return &node;
  }

  // Registers the name before the content is read, so that a record can contain itself.
  Result<Node*> named(Kind kind, const Json& json, std::string& name_space, const std::string& path) {
    if (!json.contains("name") || !json.at("name").is_string()) {
      return problem(path, std::format("{} without a name", type_name(kind)));
    }
    auto name = json.at("name").get<std::string>();
    if (const auto dot = name.rfind('.'); dot != std::string::npos) {
      name_space = name.substr(0, dot);
    } else {
      if (json.contains("namespace") && json.at("namespace").is_string()) {
        name_space = json.at("namespace").get<std::string>();
      }
      name = name_space.empty() ? name : name_space + "." + name;
    }
    if (!is_full_name(name)) {
      return problem(path, std::format("'{}' is not an Avro name: letters, digits and _, not starting with a digit, parts joined by dots", name));
    }
    auto& node = add(kind);
    node.name = name;
    if (!named_.emplace(name, &node).second) {
      return problem(path, std::format("'{}' is defined twice", name));
    }
    return &node;
  }

  Result<const Node*> record(const Json& json, std::string name_space, const std::string& path, std::size_t depth) {
    auto node = named(Kind::kRecord, json, name_space, path);
    if (!node) {
      return std::unexpected(node.error());
    }
    if (!json.contains("fields") || !json.at("fields").is_array()) {
      return problem(path, std::format("record {} without a list of fields", (*node)->name));
    }
    std::set<std::string> names;
    for (const auto& entry : json.at("fields")) {
      if (!entry.is_object() || !entry.contains("name") || !entry.at("name").is_string() || !entry.contains("type")) {
        return problem((*node)->name, "a field is an object with \"name\" and \"type\"");
      }
      Field field;
      field.name = entry.at("name").get<std::string>();
      const auto where = (*node)->name + "." + field.name;
      if (!is_name(field.name)) {
        return problem(where, "not an Avro name; \"json\" can give the field another name in JSON");
      }
      field.json_name = entry.value("json", field.name);
      if (!names.insert(field.name).second || (field.json_name != field.name && !names.insert(field.json_name).second)) {
        return problem(where, "the record has this field twice");
      }
      auto type_of_field = type(entry.at("type"), name_space, where, depth + 1);
      if (!type_of_field) {
        return type_of_field;
      }
      field.type = *type_of_field;
      if (entry.contains("default")) {
        field.is_default_null = entry.at("default").is_null();
        field.default_bytes.emplace();
        // Avro: the default of a union belongs to its first branch.
        const auto& of = field.type->kind == Kind::kUnion ? *field.type->branches.front() : *field.type;
        if (field.type->kind == Kind::kUnion) {
          field.default_bytes->push_back('\0');
        }
        if (auto encoded = internal::encode_value(of, entry.at("default"), where + " (default)", *field.default_bytes); !encoded) {
          return std::unexpected(encoded.error());
        }
      }
      (*node)->fields.push_back(std::move(field));
    }
    return *node;
  }

  Result<const Node*> enumeration(const Json& json, std::string name_space, const std::string& path) {
    auto node = named(Kind::kEnum, json, name_space, path);
    if (!node) {
      return std::unexpected(node.error());
    }
    const auto symbols = json.find("symbols");
    if (symbols == json.end() || !symbols->is_array() || symbols->empty()) {
      return problem((*node)->name, "an enum needs a list of symbols");
    }
    for (const auto& symbol : *symbols) {
      if (!symbol.is_string() || !is_name(symbol.get<std::string>()) || std::ranges::contains((*node)->symbols, symbol.get<std::string>())) {
        return problem((*node)->name, std::format("symbol {} is not an Avro name or is there twice", symbol.dump()));
      }
      (*node)->symbols.push_back(symbol.get<std::string>());
    }
    return *node;
  }

  Result<const Node*> fixed(const Json& json, std::string name_space, const std::string& path) {
    auto node = named(Kind::kFixed, json, name_space, path);
    if (!node) {
      return std::unexpected(node.error());
    }
    const auto size = json.find("size");
    if (size == json.end() || !size->is_number_unsigned() || size->get<std::uint64_t>() > kMaxFixedBytes) {
      return problem((*node)->name, std::format("a fixed needs a size of at most {} bytes", kMaxFixedBytes));
    }
    (*node)->size = size->get<std::size_t>();
    return *node;
  }

  internal::Schema& out_;
  std::map<std::string, const Node*, std::less<>> named_;
};

}  // namespace

std::string_view internal::type_name(Kind kind) { return kTypeNames.at(static_cast<std::size_t>(kind)); }

Result<Schema> Schema::parse(std::string_view json, std::string_view source) {
  const auto with_source = [&](Error error) {
    error.context = source;
    return std::unexpected(std::move(error));
  };
  Json parsed;
  try {
    parsed = Json::parse(json);
  } catch (const Json::exception& e) {
    return with_source({ErrorCode::kInvalidArgument, std::format("not JSON: {}", e.what()), {}});
  }
  auto schema = std::make_shared<internal::Schema>();
  auto root = Parser(*schema).type(parsed, {}, {}, 0);
  if (!root) {
    return with_source(root.error());
  }
  // The second opinion: what avro-c refuses, other users of the contract could not read.
  avro_schema_t other = nullptr;
  if (avro_schema_from_json_length(json.data(), json.size(), &other) != 0) {
    return with_source({ErrorCode::kInvalidArgument, std::format("avro-c refuses the schema: {}", avro_strerror()), {}});
  }
  avro_schema_decref(other);
  schema->root = *root;
  schema->name = (*root)->name.empty() ? std::string(internal::type_name((*root)->kind)) : (*root)->name;
  schema->canonical_form = internal::canonical_form(**root);
  schema->fingerprint = rabin_fingerprint(schema->canonical_form);
  return Schema(std::move(schema));
}

Schema::Schema(std::shared_ptr<const internal::Schema> schema) : schema_(std::move(schema)) {}
const std::string& Schema::name() const { return schema_->name; }
const std::string& Schema::canonical_form() const { return schema_->canonical_form; }
std::uint64_t Schema::fingerprint() const { return schema_->fingerprint; }
const internal::Node& Schema::root() const { return *schema_->root; }

}  // namespace outrigger::contracts

#include <bit>
#include <cmath>
#include <cstdint>
#include <format>
#include <limits>
#include <nlohmann/json.hpp>

#include "lib/contracts/codec.h"
#include "lib/contracts/internal/json_encoder.h"
#include "lib/contracts/internal/node.h"

namespace outrigger::contracts {
namespace internal {
namespace {

using Json = nlohmann::json;

void append_long(std::int64_t value, std::string& out) {
  auto zigzag = (static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63);
  for (; zigzag >= 0x80U; zigzag >>= 7U) {
    out.push_back(static_cast<char>((zigzag & 0x7fU) | 0x80U));
  }
  out.push_back(static_cast<char>(zigzag));
}

template <class Bits>
void append_little_endian(Bits bits, std::string& out) {
  for (std::size_t i = 0; i < sizeof bits; ++i, bits = static_cast<Bits>(bits >> 8U)) {
    out.push_back(static_cast<char>(bits & 0xffU));
  }
}

std::unexpected<Error> mismatch(const std::string& path, const Json& value, std::string_view expected) {
  // A list or an object may be deeper than the stack that printing it would take.
  auto text =
      value.is_structured() ? std::string(value.is_array() ? "a list" : "an object") : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 60) {
    text.resize(57);
    text += "...";
  }
  return fail(ErrorCode::kInvalidArgument, std::format("{}: {} is not {}", path.empty() ? "the document" : path, text, expected));
}

std::string below(const std::string& path, std::string_view name) { return path.empty() ? std::string(name) : std::format("{}.{}", path, name); }

Result<void> encode_integer(const Node& type, const Json& value, const std::string& path, std::string& out) {
  const bool is_int = type.kind == Kind::kInt;
  const auto highest = is_int ? std::int64_t{std::numeric_limits<std::int32_t>::max()} : std::numeric_limits<std::int64_t>::max();
  if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(highest)) ||
      value.get<std::int64_t>() < -highest - 1) {
    return mismatch(path, value, is_int ? "an int (32 bits)" : "a long (64 bits)");
  }
  append_long(value.get<std::int64_t>(), out);
  return {};
}

// "bytes" and "fixed" are strings of the code points 0-255: UTF-8 of one or two bytes.
Result<std::string> latin1(const Json& value, const std::string& path) {
  std::string bytes;
  const auto& text = value.get_ref<const std::string&>();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<std::uint8_t>(text[i]);
    if (lead < 0x80U) {
      bytes.push_back(text[i]);
    } else if ((lead == 0xc2U || lead == 0xc3U) && i + 1 < text.size()) {
      bytes.push_back(static_cast<char>(((lead & 3U) << 6U) | (static_cast<std::uint8_t>(text[++i]) & 0x3fU)));
    } else {
      return mismatch(path, value, "a string of the code points 0-255");
    }
  }
  return bytes;
}

Result<void> encode_record(const Node& type, const Json& value, const std::string& path, std::string& out) {
  if (!value.is_object()) {
    return mismatch(path, value, std::format("an object ({})", type.name));
  }
  std::size_t used = 0;
  for (const auto& field : type.fields) {
    const auto found = value.find(field.json_name);
    if (found != value.end()) {
      ++used;
      if (auto encoded = encode_value(*field.type, *found, below(path, field.json_name), out); !encoded) {
        return encoded;
      }
    } else if (field.default_bytes) {
      out += *field.default_bytes;
    } else {
      return fail(ErrorCode::kInvalidArgument, std::format("{}: missing, and {} has no default for it", below(path, field.json_name), type.name));
    }
  }
  if (used != value.size()) {
    for (const auto& [key, ignored] : value.items()) {
      if (std::ranges::find(type.fields, key, &Field::json_name) == type.fields.end()) {
        return fail(ErrorCode::kInvalidArgument, std::format("{}: {} has no such field", below(path, key), type.name));
      }
    }
  }
  return {};
}

Result<void> encode_items(const Node& type, const Json& value, const std::string& path, std::string& out) {
  const bool is_array = type.kind == Kind::kArray;
  if (is_array ? !value.is_array() : !value.is_object()) {
    return mismatch(path, value, is_array ? "a list" : "an object (map)");
  }
  if (!value.empty()) {
    append_long(static_cast<std::int64_t>(value.size()), out);
  }
  std::size_t index = 0;
  for (const auto& [key, item] : value.items()) {
    if (!is_array) {
      append_long(static_cast<std::int64_t>(key.size()), out);
      out += key;
    }
    const auto where = is_array ? std::format("{}[{}]", path, index++) : below(path, key);
    if (auto encoded = encode_value(*type.branches.front(), item, where, out); !encoded) {
      return encoded;
    }
  }
  append_long(0, out);
  return {};
}

Result<void> encode_union(const Node& type, const Json& value, const std::string& path, std::string& out) {
  const auto start = out.size();
  Error last;
  std::size_t tried = 0;
  for (std::size_t i = 0; i < type.branches.size(); ++i) {
    // null fits nothing else, and nothing else fits null: the message of the other branch is the useful one.
    if ((type.branches[i]->kind == Kind::kNull) != value.is_null()) {
      continue;
    }
    append_long(static_cast<std::int64_t>(i), out);
    auto encoded = encode_value(*type.branches[i], value, path, out);
    if (encoded) {
      return {};
    }
    out.resize(start);
    last = encoded.error();
    ++tried;
  }
  if (tried == 1) {
    return std::unexpected(last);
  }
  return mismatch(path, value, tried == 0 ? "allowed by the union" : std::format("any of the union's types; of the last: {}", last.message));
}

}  // namespace

Result<void> encode_value(const Node& type, const Json& value, const std::string& path, std::string& out) {
  switch (type.kind) {
    case Kind::kNull: return value.is_null() ? Result<void>{} : mismatch(path, value, "null");
    case Kind::kBoolean:
      if (!value.is_boolean()) {
        return mismatch(path, value, "true or false");
      }
      out.push_back(value.get<bool>() ? '\1' : '\0');
      return {};
    case Kind::kInt:
    case Kind::kLong: return encode_integer(type, value, path, out);
    case Kind::kFloat:
    case Kind::kDouble:
      if (!value.is_number()) {
        return mismatch(path, value, "a number");
      }
      if (type.kind == Kind::kFloat) {
        append_little_endian(std::bit_cast<std::uint32_t>(value.get<float>()), out);
      } else {
        append_little_endian(std::bit_cast<std::uint64_t>(value.get<double>()), out);
      }
      return {};
    case Kind::kString:
      if (!value.is_string()) {
        return mismatch(path, value, "a string");
      }
      append_long(static_cast<std::int64_t>(value.get_ref<const std::string&>().size()), out);
      out += value.get_ref<const std::string&>();
      return {};
    case Kind::kBytes:
    case Kind::kFixed: {
      if (!value.is_string()) {
        return mismatch(path, value, "a string of bytes");
      }
      auto bytes = latin1(value, path);
      if (!bytes) {
        return std::unexpected(bytes.error());
      }
      if (type.kind == Kind::kBytes) {
        append_long(static_cast<std::int64_t>(bytes->size()), out);
      } else if (bytes->size() != type.size) {
        return mismatch(path, value, std::format("{} bytes long ({})", type.size, type.name));
      }
      out += *bytes;
      return {};
    }
    case Kind::kEnum: {
      const auto symbol = value.is_string() ? std::ranges::find(type.symbols, value.get_ref<const std::string&>()) : type.symbols.end();
      if (symbol == type.symbols.end()) {
        return mismatch(path, value, std::format("a symbol of {}", type.name));
      }
      append_long(symbol - type.symbols.begin(), out);
      return {};
    }
    case Kind::kRecord: return encode_record(type, value, path, out);
    case Kind::kArray:
    case Kind::kMap: return encode_items(type, value, path, out);
    case Kind::kUnion: return encode_union(type, value, path, out);
  }
  impossible("Avro kind");
}

}  // namespace internal

Result<std::string> encode(const Schema& schema, std::string_view json) {
  nlohmann::json value;
  try {
    value = nlohmann::json::parse(json);
  } catch (const nlohmann::json::exception& e) {
    return fail(ErrorCode::kInvalidArgument, std::format("not JSON: {}", e.what()), schema.name());
  }
  std::string out;
  if (auto encoded = internal::encode_value(schema.root(), value, {}, out); !encoded) {
    return fail(encoded.error().code, encoded.error().message, schema.name());
  }
  return out;
}

}  // namespace outrigger::contracts

#include <bit>
#include <cmath>
#include <cstdint>
#include <format>
#include <limits>
#include <nlohmann/json.hpp>

#include "lib/contracts/codec.h"
#include "lib/contracts/internal/node.h"

namespace outrigger::contracts {
namespace {

using internal::Kind;
using internal::Node;
using Json = nlohmann::json;

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto at = [&](std::size_t k) { return i + k < text.size() ? static_cast<std::uint8_t>(text[i + k]) : 0U; };
    const unsigned lead = at(0);
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xc2 && lead < 0xe0 ? 2
                               : lead >= 0xe0 && lead < 0xf0 ? 3
                               : lead >= 0xf0 && lead < 0xf5 ? 4
                                                             : 0;
    if (length == 0) {
      return false;
    }
    for (std::size_t k = 1; k < length; ++k) {
      if ((at(k) & 0xc0U) != 0x80U) {
        return false;
      }
    }
    // Overlong forms, surrogates and what lies beyond Unicode show in the second byte.
    if ((lead == 0xe0 && at(1) < 0xa0) || (lead == 0xed && at(1) > 0x9f) || (lead == 0xf0 && at(1) < 0x90) || (lead == 0xf4 && at(1) > 0x8f)) {
      return false;
    }
    i += length;
  }
  return true;
}

std::string utf8_of_bytes(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (byte < 0x80U) {
      text.push_back(c);
    } else {
      text.push_back(static_cast<char>(0xc0U | (byte >> 6U)));
      text.push_back(static_cast<char>(0x80U | (byte & 0x3fU)));
    }
  }
  return text;
}

class Decoder {
 public:
  Decoder(std::string_view bytes, const DecodeLimits& limits) : bytes_(bytes), limits_(limits) {}

  [[nodiscard]] std::size_t left() const { return bytes_.size(); }

  Result<Json> value(const Node& type, const std::string& path, std::size_t depth) {
    if (depth > limits_.depth || ++values_ > limits_.values) {
      return damaged(path, depth > limits_.depth ? "values are nested too deeply" : "too many values");
    }
    switch (type.kind) {
      case Kind::kNull: return Json(nullptr);
      case Kind::kBoolean: return boolean(path);
      case Kind::kInt:
      case Kind::kLong: return integer(type, path);
      case Kind::kFloat: return number<float, std::uint32_t>(path);
      case Kind::kDouble: return number<double, std::uint64_t>(path);
      case Kind::kString:
      case Kind::kBytes:
      case Kind::kFixed: return text(type, path);
      case Kind::kEnum: {
        auto index = index_below(type.symbols.size(), path, "enum symbol");
        return index ? Result<Json>(Json(type.symbols[*index])) : std::unexpected(index.error());
      }
      case Kind::kUnion: {
        auto index = index_below(type.branches.size(), path, "union branch");
        return index ? value(*type.branches[*index], path, depth + 1) : std::unexpected(index.error());
      }
      case Kind::kRecord: return record(type, path, depth);
      case Kind::kArray:
      case Kind::kMap: return items(type, path, depth);
    }
    impossible("Avro kind");
  }

 private:
  static std::unexpected<Error> damaged(const std::string& path, std::string_view what) {
    return fail(ErrorCode::kDataLoss, std::format("{}: {}", path.empty() ? "the record" : path, what));
  }

  Result<std::int64_t> long_value(const std::string& path) {
    std::uint64_t zigzag = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) {
        return damaged(path, "the bytes end inside a number");
      }
      const auto byte = static_cast<std::uint8_t>(bytes_.front());
      bytes_.remove_prefix(1);
      if (shift == 63 && byte > 1) {
        break;
      }
      zigzag |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if ((byte & 0x80U) == 0) {
        return static_cast<std::int64_t>(zigzag >> 1U) ^ -static_cast<std::int64_t>(zigzag & 1U);
      }
    }
    return damaged(path, "a number has more than 64 bits");
  }

  Result<Json> integer(const Node& type, const std::string& path) {
    auto number = long_value(path);
    if (!number) {
      return std::unexpected(number.error());
    }
    if (type.kind == Kind::kInt && (*number > std::numeric_limits<std::int32_t>::max() || *number < std::numeric_limits<std::int32_t>::min())) {
      return damaged(path, std::format("{} is beyond an int", *number));
    }
    return Json(*number);
  }

  Result<std::size_t> index_below(std::size_t count, const std::string& path, std::string_view what) {
    auto index = long_value(path);
    if (!index) {
      return std::unexpected(index.error());
    }
    if (*index < 0 || static_cast<std::uint64_t>(*index) >= count) {
      return damaged(path, std::format("{} {} of {}", what, *index, count));
    }
    return static_cast<std::size_t>(*index);
  }

  Result<Json> boolean(const std::string& path) {
    auto byte = take(1, path);
    if (!byte) {
      return std::unexpected(byte.error());
    }
    if (byte->front() != '\0' && byte->front() != '\1') {
      return damaged(path, "a boolean is neither 0 nor 1");
    }
    return Json(byte->front() == '\1');
  }

  template <class Number, class Bits>
  Result<Json> number(const std::string& path) {
    auto raw = take(sizeof(Bits), path);
    if (!raw) {
      return std::unexpected(raw.error());
    }
    Bits bits = 0;
    for (std::size_t i = sizeof bits; i-- > 0;) {
      bits = static_cast<Bits>((bits << 8U) | static_cast<std::uint8_t>((*raw)[i]));
    }
    const auto number = std::bit_cast<Number>(bits);
    if (!std::isfinite(number)) {
      return damaged(path, "the number is not finite, and JSON has no word for that");
    }
    return Json(number);
  }

  Result<std::string_view> take(std::size_t size, const std::string& path) {
    if (size > bytes_.size()) {
      return damaged(path, std::format("{} bytes are announced, {} are left", size, bytes_.size()));
    }
    const auto taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

  Result<std::string_view> sized(const std::string& path) {
    auto size = long_value(path);
    if (!size) {
      return std::unexpected(size.error());
    }
    if (*size < 0) {
      return damaged(path, "a length is negative");
    }
    auto taken = take(static_cast<std::size_t>(*size), path);
    if (!taken) {
      return taken;
    }
    text_ += taken->size();
    return text_ > limits_.text_bytes ? damaged(path, "too much text") : std::move(taken);
  }

  Result<Json> text(const Node& type, const std::string& path) {
    auto raw = type.kind == Kind::kFixed ? take(type.size, path) : sized(path);
    if (!raw) {
      return std::unexpected(raw.error());
    }
    if (type.kind != Kind::kString) {
      return Json(utf8_of_bytes(*raw));
    }
    if (!is_utf8(*raw)) {
      return damaged(path, "a string is not UTF-8");
    }
    return Json(*raw);
  }

  Result<Json> record(const Node& type, const std::string& path, std::size_t depth) {
    Json object = Json::object();
    for (const auto& field : type.fields) {
      auto content = value(*field.type, path.empty() ? field.json_name : path + "." + field.json_name, depth + 1);
      if (!content) {
        return content;
      }
      if (!(field.is_default_null && content->is_null())) {
        object.emplace(field.json_name, std::move(*content));
      }
    }
    return object;
  }

  // Arrays and maps come in blocks; a negative count is followed by the block's size in bytes.
  Result<Json> items(const Node& type, const std::string& path, std::size_t depth) {
    const bool is_array = type.kind == Kind::kArray;
    Json all = is_array ? Json::array() : Json::object();
    for (;;) {
      auto count = long_value(path);
      if (!count) {
        return std::unexpected(count.error());
      }
      if (*count == 0) {
        return all;
      }
      if (*count < 0) {
        if (auto size = long_value(path); !size) {
          return std::unexpected(size.error());
        }
        if (*count == std::numeric_limits<std::int64_t>::min()) {
          return damaged(path, "a block count is beyond all bounds");
        }
        count = -*count;
      }
      for (; *count > 0; --*count) {
        std::string key;
        if (!is_array) {
          auto raw = sized(path);
          if (!raw) {
            return std::unexpected(raw.error());
          }
          if (!is_utf8(*raw)) {
            return damaged(path, "a key is not UTF-8");
          }
          key = *raw;
        }
        auto item = value(*type.branches.front(), is_array ? std::format("{}[{}]", path, all.size()) : std::format("{}.{}", path, key), depth + 1);
        if (!item) {
          return item;
        }
        if (is_array) {
          all.push_back(std::move(*item));
        } else {
          all[key] = std::move(*item);
        }
      }
    }
  }

  std::string_view bytes_;
  DecodeLimits limits_;
  std::size_t values_ = 0;
  std::size_t text_ = 0;
};

}  // namespace

Result<std::string> decode(const Schema& schema, std::string_view bytes, const DecodeLimits& limits) {
  Decoder decoder(bytes, limits);
  auto value = decoder.value(schema.root(), {}, 0);
  if (!value) {
    return fail(value.error().code, value.error().message, schema.name());
  }
  if (decoder.left() != 0) {
    return fail(ErrorCode::kDataLoss, std::format("{} bytes are left over", decoder.left()), schema.name());
  }
  return value->dump();
}

}  // namespace outrigger::contracts

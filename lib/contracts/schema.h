#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lib/runtime/error.h"

namespace outrigger::contracts {

namespace internal {
struct Node;
struct Schema;
}  // namespace internal

/// An Avro schema (avro.apache.org/docs/1.11.1/specification). Immutable; copies share; thread-safe.
///
/// One attribute goes beyond Avro's: a field may say `"json": "reserve-inventory"` when its JSON name cannot be an Avro name.
/// It is not part of the canonical form, so other implementations read the same bytes.
class Schema final {
 public:
  /// Reads the JSON text of a schema; `source` (a file name) goes into errors.
  /// Errors: kInvalidArgument, naming the path inside the schema.
  [[nodiscard]] static Result<Schema> parse(std::string_view json, std::string_view source);

  /// Full name of a record, enum or fixed ("outrigger.orders.v1.ReserveInventory"); otherwise the type's name.
  [[nodiscard]] const std::string& name() const;

  /// Parsing canonical form: what two schemas share that read the same bytes.
  [[nodiscard]] const std::string& canonical_form() const;

  /// CRC-64-AVRO of the canonical form: identifies the schema in single-object encoding.
  [[nodiscard]] std::uint64_t fingerprint() const;

  /// The parsed tree, for the codec.
  [[nodiscard]] const internal::Node& root() const;

 private:
  explicit Schema(std::shared_ptr<const internal::Schema> schema);
  std::shared_ptr<const internal::Schema> schema_;
};

/// CRC-64-AVRO (Rabin) fingerprint of the bytes.
[[nodiscard]] std::uint64_t rabin_fingerprint(std::string_view bytes);

}  // namespace outrigger::contracts

#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "lib/contracts/codec.h"
#include "lib/contracts/schema.h"
#include "lib/runtime/error.h"

namespace outrigger::contracts {

/// A record that arrived: which schema wrote it, and its content as JSON text.
struct DecodedRecord {
  std::string schema;  ///< full name
  std::string json;
};

/// A schema's file that was embedded when the program was built (cmake/Embed.cmake).
struct EmbeddedSchema {
  std::string_view file;
  std::string_view text;
};

/// The schemas of a process. Filled at start-up, then read by any thread.
///
/// Single-object encoding (Avro 1.11, "Single-object encoding"): C3 01, the fingerprint in little-endian order, the Avro binary.
/// Several versions of one name may be present: all decode; encoding uses the one added last.
class SchemaRegistry final {
 public:
  /// Adding the same schema again changes nothing. Errors: kAlreadyExists when two different schemas share a fingerprint.
  Result<void> add(Schema schema);

  /// Adds every *.avsc below the folder, in the order of their paths. Errors: kNotFound, kInvalidArgument with file and path.
  Result<void> add_folder(const std::filesystem::path& folder);

  Result<void> add_embedded(std::span<const EmbeddedSchema> schemas);

  /// Null when there is none. The pointer lives as long as the registry and until the name is added again.
  [[nodiscard]] const Schema* find(std::string_view name) const;
  [[nodiscard]] const Schema* find(std::uint64_t fingerprint) const;
  [[nodiscard]] std::size_t size() const { return by_fingerprint_.size(); }

  /// Errors: kNotFound (no schema of that name), kInvalidArgument (the JSON does not fit it).
  [[nodiscard]] Result<std::string> encode(std::string_view schema_name, std::string_view json) const;

  /// Errors: kDataLoss (not single-object encoding, or bytes that do not fit), kNotFound (unknown fingerprint).
  [[nodiscard]] Result<DecodedRecord> decode(std::string_view record, const DecodeLimits& limits = {}) const;

 private:
  std::map<std::uint64_t, Schema> by_fingerprint_;
  std::map<std::string, std::uint64_t, std::less<>> by_name_;
};

}  // namespace outrigger::contracts

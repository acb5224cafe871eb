#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "lib/contracts/schema.h"
#include "lib/runtime/error.h"

namespace outrigger::contracts {

/// What a decoder spends on bytes that it does not trust.
struct DecodeLimits {
  std::size_t depth = 64;                      ///< nested values
  std::size_t values = 1'000'000;              ///< all values together: an array of a billion nulls takes no bytes
  std::size_t text_bytes = 16U * 1024 * 1024;  ///< all strings together
};

/// JSON text to Avro binary. The JSON is plain, not Avro's JSON encoding: a union takes the first branch that fits the value.
/// `bytes` and `fixed` are strings of the code points 0-255. A field that is absent takes its default; a field that the schema
/// does not know is an error, because dropping it would lose what the sender meant.
/// Errors: kInvalidArgument, naming the path: "lines[2].quantity: 2.5 is not an int".
[[nodiscard]] Result<std::string> encode(const Schema& schema, std::string_view json);

/// Avro binary to JSON text. Tolerates any bytes. A field whose value and default are both null is left out.
/// Errors: kDataLoss, naming the path; also when bytes are left over or a limit is passed.
[[nodiscard]] Result<std::string> decode(const Schema& schema, std::string_view bytes, const DecodeLimits& limits = {});

}  // namespace outrigger::contracts

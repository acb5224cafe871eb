#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace outrigger {

/// What kind of failure: callers switch on it. The names follow google.rpc.Code, so that gRPC and HTTP answers are a table.
enum class ErrorCode {
  kInvalidArgument,  ///< the caller's input is wrong; the same call fails again
  kNotFound,
  kAlreadyExists,
  kFailedPrecondition,  ///< the state does not allow it now; something else must happen first
  kAborted,             ///< lost a race or was fenced; repeat from a fresh read
  kUnavailable,         ///< try again later
  kDeadlineExceeded,
  kResourceExhausted,  ///< a limit was reached
  kPermissionDenied,
  kDataLoss,  ///< stored bytes are damaged
  kUnimplemented,
  kInternal,
};

/// An error that crosses a module border. `message` says what happened, to what, and what to do;
/// `context` says where (file:line:column, address, topic), or is empty.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string context;

  /// "context: message", or the message alone.
  [[nodiscard]] std::string to_string() const;
};

template <class T>
using Result = std::expected<T, Error>;

/// `return fail(ErrorCode::kNotFound, "no saga has the id …");`
[[nodiscard]] std::unexpected<Error> fail(ErrorCode code, std::string message, std::string context = {});

/// Lower-case name such as "invalid_argument", for logs and JSON.
[[nodiscard]] std::string_view name(ErrorCode code);

/// Ends the process with the message: for states that cannot be, never for bad input.
[[noreturn]] void impossible(std::string_view what, std::string_view detail = {});

}  // namespace outrigger

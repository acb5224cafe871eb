#include "lib/runtime/error.h"

#include <cstdio>
#include <cstdlib>

namespace outrigger {

std::string Error::to_string() const { return context.empty() ? message : context + ": " + message; }

std::unexpected<Error> fail(ErrorCode code, std::string message, std::string context) {
  return std::unexpected(Error{code, std::move(message), std::move(context)});
}

std::string_view name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return "invalid_argument";
    case ErrorCode::kNotFound: return "not_found";
    case ErrorCode::kAlreadyExists: return "already_exists";
    case ErrorCode::kFailedPrecondition: return "failed_precondition";
    case ErrorCode::kAborted: return "aborted";
    case ErrorCode::kUnavailable: return "unavailable";
    case ErrorCode::kDeadlineExceeded: return "deadline_exceeded";
    case ErrorCode::kResourceExhausted: return "resource_exhausted";
    case ErrorCode::kPermissionDenied: return "permission_denied";
    case ErrorCode::kDataLoss: return "data_loss";
    case ErrorCode::kUnimplemented: return "unimplemented";
    case ErrorCode::kInternal: return "internal";
  }
  impossible("ErrorCode", std::to_string(static_cast<int>(code)));
}

void impossible(std::string_view what, std::string_view detail) {
  std::fprintf(stderr, "outrigger: impossible state: %.*s%s%.*s\n", static_cast<int>(what.size()), what.data(), detail.empty() ? "" : ": ",
               static_cast<int>(detail.size()), detail.data());
  std::abort();
}

}  // namespace outrigger

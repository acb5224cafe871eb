#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/http/message.h"

namespace outrigger::gateway {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// Removes what concerns one connection only (RFC 9110, 7.6.1): Connection, what it names, and the fields that old
/// intermediaries forgot to name. Host, which a client could name to have it removed, stays.
void remove_hop_by_hop(Headers& headers);

/// The headers of the request as they go to the application: end-to-end fields as they came, Via, X-Forwarded-For with the
/// peer appended, X-Forwarded-Proto and -Host unless an earlier proxy set them, and `traceparent` replaced. tracestate goes on
/// only with the trace that it belongs to.
[[nodiscard]] Headers headers_for_upstream(const http::Request& request, std::string_view via, std::string_view traceparent, bool continues_trace);

/// The target in origin form, and the authority that it named if it came in absolute form (then Host is replaced, RFC 9112, 3.2.2).
struct Target {
  std::string origin_form;
  std::string authority;
};
[[nodiscard]] Target target_for_upstream(std::string_view target);

}  // namespace outrigger::gateway

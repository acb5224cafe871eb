#pragma once

#include <httplib.h>

#include <string>

#include "lib/http/message.h"

namespace outrigger::http::cpp_httplib::internal {

struct LocalEnd {
  std::string address;  ///< that the server is bound to
  int port = 0;
};

/// Everything but the body. REMOTE_ADDR, REMOTE_PORT, LOCAL_ADDR and LOCAL_PORT are the server's: a client's headers of these
/// names are dropped. Header values stay as they were sent, where stock cpp-httplib percent-decodes them.
void fill_head(httplib::Request& to, const Request& from, const LocalEnd& local);

}  // namespace outrigger::http::cpp_httplib::internal

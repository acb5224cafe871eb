#include "service/http_participants/internal/resolver.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>

namespace outrigger::http_participants {

Result<std::vector<std::string>> resolve(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* first = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &first); error != 0) {
    return fail(ErrorCode::kUnavailable, gai_strerror(error), host);
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(first, &freeaddrinfo);
  std::vector<std::string> addresses;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const auto* each = first; each != nullptr; each = each->ai_next) {
      std::array<char, NI_MAXHOST> text{};
      if (each->ai_family == family &&
          getnameinfo(each->ai_addr, each->ai_addrlen, text.data(), static_cast<socklen_t>(text.size()), nullptr, 0, NI_NUMERICHOST) == 0 &&
          std::ranges::find(addresses, text.data()) == addresses.end()) {
        addresses.emplace_back(text.data());
      }
    }
  }
  if (addresses.empty()) {
    return fail(ErrorCode::kUnavailable, "it has no address", host);
  }
  return addresses;
}

}  // namespace outrigger::http_participants

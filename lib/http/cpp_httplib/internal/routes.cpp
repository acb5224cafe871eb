#include "lib/http/cpp_httplib/internal/routes.h"

#include <regex>

namespace outrigger::http::cpp_httplib::internal {
namespace {

// libstdc++'s usual matcher calls itself once a character: a long path on a small stack ends the process, a nasty one takes
// exponential time. With __polynomial, its documented extension, it keeps a list of states instead: linear in the path, and as
// deep as the pattern. It cannot do back-references, which the constructor refuses.
class RegexMatcher final : public httplib::detail::MatcherBase {
 public:
  explicit RegexMatcher(const std::string& pattern) : regex_(pattern, std::regex::ECMAScript | std::regex_constants::__polynomial) {}

  bool match(httplib::Request& request) const override {
    request.path_params.clear();
    return std::regex_match(request.path, request.matches, regex_);
  }

 private:
  std::regex regex_;
};

std::unique_ptr<httplib::detail::MatcherBase> make_matcher(const std::string& pattern) {
  if (pattern.contains("/:")) {
    return std::make_unique<httplib::detail::PathParamsMatcher>(pattern);
  }
  return std::make_unique<RegexMatcher>(pattern);
}

}  // namespace

void Routes::add(Method method, const std::string& pattern, httplib::Server::Handler handler) {
  auto matcher = make_matcher(pattern);
  handlers_[static_cast<std::size_t>(method)].push_back({pattern, std::move(matcher), std::move(handler), {}});
}

void Routes::add(Method method, const std::string& pattern, httplib::Server::HandlerWithContentReader reader) {
  auto matcher = make_matcher(pattern);
  readers_[static_cast<std::size_t>(method)].push_back({pattern, std::move(matcher), {}, std::move(reader)});
}

const Route* Routes::find(Method method, httplib::Request& request) const {
  const auto index = static_cast<std::size_t>(method == Method::kHead ? Method::kGet : method);
  for (const auto* routes : {&readers_[index], &handlers_[index]}) {
    for (const auto& route : *routes) {
      if (route.matcher->match(request)) {
        return &route;
      }
    }
  }
  return nullptr;
}

}  // namespace outrigger::http::cpp_httplib::internal

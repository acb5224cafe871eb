#pragma once

#include <httplib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "lib/http/message.h"

namespace outrigger::http::cpp_httplib::internal {

struct Route {
  std::string pattern;
  std::unique_ptr<httplib::detail::MatcherBase> matcher;
  httplib::Server::Handler handler;
  httplib::Server::HandlerWithContentReader reader;  ///< instead of `handler`
};

/// The routes as stock cpp-httplib orders them: of one method those with a content reader first, else in the order of their
/// registration; the first that matches serves. HEAD is GET's. Reading is thread-safe once nothing is added.
class Routes final {
 public:
  /// A pattern with "/:" has path parameters, any other is an ECMAScript regular expression that must match the whole path.
  /// Throws std::regex_error for a wrong one and for one with back-references.
  void add(Method method, const std::string& pattern, httplib::Server::Handler handler);
  void add(Method method, const std::string& pattern, httplib::Server::HandlerWithContentReader reader);

  /// Fills the request's `matches` or `path_params`. Nothing when no route matches.
  [[nodiscard]] const Route* find(Method method, httplib::Request& request) const;

  template <class Visitor>
  void visit(Visitor visitor) const {
    for (const auto* routes_by_method : {&readers_, &handlers_}) {
      for (const auto& routes : *routes_by_method) {
        std::ranges::for_each(routes, visitor);
      }
    }
  }

 private:
  static constexpr std::size_t kMethods = 7;
  std::array<std::vector<Route>, kMethods> readers_;
  std::array<std::vector<Route>, kMethods> handlers_;
};

}  // namespace outrigger::http::cpp_httplib::internal

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/http/message.h"
#include "lib/http/responder.h"

namespace outrigger::http {

/// Runs on the I/O loop and must not block: health, constant bodies. Writes its answer at once.
using LoopHandler = std::function<void(const RequestView&, Response&)>;

/// Waits for something else (a commit, another server) and holds no thread meanwhile.
using DeferredHandler = std::function<void(Request, Responder)>;

/// Which handler answers a method and path. Built before the server starts, immutable after; reading is thread-safe.
///
/// A pattern is literal segments, ":name" (one segment) and a last "*" (the rest, may be empty). Literals win over ":name",
/// ":name" over "*". No regular expressions. An unknown path answers 404, a known path with another method 405 with Allow;
/// HEAD is served by GET's handler without the body. Two equal patterns for one method end the process: a programming error.
class Router final {
 public:
  Router();
  ~Router();
  Router(Router&&) noexcept;
  Router& operator=(Router&&) noexcept;

  void handle(Method method, std::string_view pattern, LoopHandler handler);
  void defer(Method method, std::string_view pattern, DeferredHandler handler);
  /// Every method and path that no route matches: the proxy's way in.
  void defer_unmatched(DeferredHandler handler);
  [[nodiscard]] bool serves_unmatched() const { return static_cast<bool>(unmatched_); }

  /// Every route as (method, pattern), to check a description of them against.
  [[nodiscard]] std::vector<std::pair<Method, std::string_view>> routes() const;

  struct Match;
  [[nodiscard]] Match match(Method method, std::string_view path) const;

 private:
  struct Node;
  std::unique_ptr<Node> root_;
  DeferredHandler unmatched_;
};

/// The outcome of a look-up: one of the handlers, or the methods that the path does allow (empty: 404).
struct Router::Match {
  const LoopHandler* loop = nullptr;
  const DeferredHandler* deferred = nullptr;
  std::string_view pattern;  ///< of the route, for metrics; lives as long as the router
  std::vector<HeaderView> parameters;
  std::vector<Method> allowed;
};

}  // namespace outrigger::http

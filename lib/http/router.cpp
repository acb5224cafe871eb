#include "lib/http/router.h"

#include <array>
#include <format>
#include <map>
#include <unordered_map>

#include "lib/runtime/error.h"

namespace outrigger::http {
namespace {

constexpr std::size_t kMethods = 7;

struct Route {
  LoopHandler loop;
  DeferredHandler deferred;
  std::string pattern;
};

struct Routes {
  std::array<std::unique_ptr<Route>, kMethods> by_method;

  [[nodiscard]] const Route* find(Method method) const {
    const auto& exact = by_method[static_cast<std::size_t>(method)];
    if (!exact && method == Method::kHead) {
      return by_method[static_cast<std::size_t>(Method::kGet)].get();
    }
    return exact.get();
  }

  [[nodiscard]] bool any() const {
    return std::ranges::any_of(by_method, [](const auto& route) { return route != nullptr; });
  }
};

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

}  // namespace

struct Router::Node {
  std::map<std::string, std::unique_ptr<Node>, std::less<>> literals;
  std::unique_ptr<Node> parameter;  // the segment after ':'
  std::unique_ptr<Node> rest;       // the last '*'
  Routes routes;
  std::vector<std::string> parameter_names;  // of the pattern that ends here, in order of the path

  // Patterns without parameters, whole: what most requests ask for, found with one look-up. Root only.
  std::unordered_map<std::string, Node*, StringHash, std::equal_to<>> exact;

  Node& child(std::string_view segment);
  Route& add(Method method, std::string_view pattern);
  const Node* find(Method method, std::string_view path, std::vector<std::string_view>& values, const Node*& other_methods) const;
  void list(std::vector<std::pair<Method, std::string_view>>& into) const;
};

Router::Node& Router::Node::child(std::string_view segment) {
  auto& slot = segment == "*" ? rest : segment.starts_with(':') ? parameter : literals[std::string(segment)];
  if (!slot) {
    slot = std::make_unique<Node>();
  }
  return *slot;
}

Route& Router::Node::add(Method method, std::string_view pattern) {
  if (!pattern.starts_with('/')) {
    impossible("a route pattern does not start with '/'", pattern);
  }
  Node* node = this;
  std::vector<std::string> names;
  auto left = pattern.substr(1);
  for (bool more = true; more;) {
    const auto segment = left.substr(0, left.find('/'));
    more = segment.size() < left.size();
    left.remove_prefix(segment.size() + (more ? 1 : 0));
    if (segment == "*" && more) {
      impossible("'*' is not the last segment of a route pattern", pattern);
    }
    if (segment == "*" || segment.starts_with(':')) {
      names.emplace_back(segment == "*" ? segment : segment.substr(1));
    }
    node = &node->child(segment);
  }
  auto& slot = node->routes.by_method[static_cast<std::size_t>(method)];
  if (slot) {
    impossible("two routes are the same", std::format("{} {}", http::name(method), pattern));
  }
  if (node->routes.any() && node->parameter_names != names) {
    impossible("two methods of one path name its parameters differently", pattern);
  }
  slot = std::make_unique<Route>();
  slot->pattern = pattern;
  node->parameter_names = std::move(names);
  if (node->parameter_names.empty()) {
    exact.emplace(pattern, node);
  }
  return *slot;
}

// Literal before parameter before rest, with backtracking: the depth is that of the patterns, not of the path.
const Router::Node* Router::Node::find(Method method, std::string_view path, std::vector<std::string_view>& values,
                                       const Node*& other_methods) const {
  const auto slash = path.find('/');
  const auto segment = path.substr(0, slash);
  const bool last = slash == std::string_view::npos;
  const auto descend = [&](const Node& node) -> const Node* {
    if (!last) {
      return node.find(method, path.substr(slash + 1), values, other_methods);
    }
    if (node.routes.find(method) != nullptr) {
      return &node;
    }
    if (node.routes.any() && other_methods == nullptr) {
      other_methods = &node;
    }
    return nullptr;
  };
  if (const auto literal = literals.find(segment); literal != literals.end()) {
    if (const auto* found = descend(*literal->second)) {
      return found;
    }
  }
  if (parameter && !segment.empty()) {
    values.push_back(segment);
    if (const auto* found = descend(*parameter)) {
      return found;
    }
    values.pop_back();
  }
  if (rest) {
    if (rest->routes.find(method) != nullptr) {
      values.push_back(path);
      return rest.get();
    }
    if (other_methods == nullptr) {
      other_methods = rest.get();
    }
  }
  return nullptr;
}

void Router::Node::list(std::vector<std::pair<Method, std::string_view>>& into) const {
  for (std::size_t i = 0; i < kMethods; ++i) {
    if (routes.by_method[i]) {
      into.emplace_back(static_cast<Method>(i), routes.by_method[i]->pattern);
    }
  }
  for (const auto& [segment, node] : literals) {
    node->list(into);
  }
  for (const auto* node : {parameter.get(), rest.get()}) {
    if (node != nullptr) {
      node->list(into);
    }
  }
}

Router::Router() : root_(std::make_unique<Node>()) {}
Router::~Router() = default;
Router::Router(Router&&) noexcept = default;
Router& Router::operator=(Router&&) noexcept = default;

void Router::handle(Method method, std::string_view pattern, LoopHandler handler) { root_->add(method, pattern).loop = std::move(handler); }
void Router::defer(Method method, std::string_view pattern, DeferredHandler handler) { root_->add(method, pattern).deferred = std::move(handler); }
void Router::defer_unmatched(DeferredHandler handler) { unmatched_ = std::move(handler); }

std::vector<std::pair<Method, std::string_view>> Router::routes() const {
  std::vector<std::pair<Method, std::string_view>> all;
  root_->list(all);
  return all;
}

Router::Match Router::match(Method method, std::string_view path) const {
  Match result;
  const Node* found = nullptr;
  const Node* other_methods = nullptr;
  std::vector<std::string_view> values;
  if (const auto exact = root_->exact.find(path); exact != root_->exact.end() && exact->second->routes.find(method) != nullptr) {
    found = exact->second;
  } else if (path.starts_with('/')) {
    found = root_->find(method, path.substr(1), values, other_methods);
  }
  if (found != nullptr) {
    const auto* route = found->routes.find(method);
    result.pattern = route->pattern;
    if (route->loop) {
      result.loop = &route->loop;
    } else {
      result.deferred = &route->deferred;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      result.parameters.push_back({found->parameter_names[i], values[i]});
    }
    return result;
  }
  if (unmatched_) {
    result.deferred = &unmatched_;
    result.pattern = "*";
    return result;
  }
  if (other_methods != nullptr) {
    for (std::size_t i = 0; i < kMethods; ++i) {
      if (other_methods->routes.find(static_cast<Method>(i)) != nullptr) {
        result.allowed.push_back(static_cast<Method>(i));
      }
    }
  }
  return result;
}

}  // namespace outrigger::http

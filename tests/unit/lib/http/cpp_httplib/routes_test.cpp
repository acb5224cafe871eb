#include "lib/http/cpp_httplib/internal/routes.h"

#include <gtest/gtest.h>
#include <pthread.h>

namespace outrigger::http::cpp_httplib::internal {
namespace {

constexpr std::size_t kSmallStackBytes = 256U << 10U;

/// Runs the task on a thread with a small stack, where recursion over a path would overflow it.
void run_on_small_stack(std::function<void()> task) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kSmallStackBytes);
  pthread_t thread{};
  const auto run = [](void* argument) -> void* {
    (*static_cast<std::function<void()>*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &task), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(Routes, MatchTheLongestPathOnASmallStack) {
  Routes routes;
  routes.add(Method::kGet, "/files/(.*)", [](const auto&, auto&) {});
  httplib::Request request;
  request.path = "/files/" + std::string(8'000, 'x');
  bool is_found = false;
  run_on_small_stack([&] { is_found = routes.find(Method::kGet, request) != nullptr; });
  EXPECT_TRUE(is_found);
  EXPECT_EQ(request.matches[1].length(), 8'000);
}

TEST(Routes, AreNotSlowedDownByNestedRepetition) {
  Routes routes;
  routes.add(Method::kGet, "/(a+)+b", [](const auto&, auto&) {});
  httplib::Request request;
  request.path = "/" + std::string(2'000, 'a');  // 2^2000 steps for a matcher that goes back
  EXPECT_EQ(routes.find(Method::kGet, request), nullptr);
}

TEST(Routes, RefuseBackReferencesAndBrokenPatterns) {
  Routes routes;
  const httplib::Server::Handler handler = [](const auto&, auto&) {};
  EXPECT_THROW(routes.add(Method::kGet, R"(/(a)\1)", handler), std::regex_error);
  EXPECT_THROW(routes.add(Method::kGet, "/(", handler), std::regex_error);
}

TEST(Routes, CaptureAsAnEcmaScriptMatcherDoes) {
  struct Case {
    std::string pattern;
    std::string path;
  };
  for (const auto& [pattern, path] :
       {Case{"/(a|ab)(c|bcd)(d*)", "/abcd"}, Case{"/(.*?)/(.*)", "/x/y/z"}, Case{"/(x)?(.*)", "/y"}, Case{R"(/v(\d+)(?:/(.+))?)", "/v12/rest"}}) {
    Routes routes;
    routes.add(Method::kGet, pattern, [](const auto&, auto&) {});
    httplib::Request request;
    request.path = path;
    std::smatch expected;
    ASSERT_TRUE(std::regex_match(path, expected, std::regex(pattern)));
    ASSERT_NE(routes.find(Method::kGet, request), nullptr) << pattern;
    ASSERT_EQ(request.matches.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(request.matches[i].str(), expected[i].str()) << pattern << " group " << i;
    }
  }
}

}  // namespace
}  // namespace outrigger::http::cpp_httplib::internal

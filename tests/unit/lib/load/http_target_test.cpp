#include "lib/load/http_target.h"

#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

namespace outrigger::load {
namespace {

using namespace std::chrono_literals;

TEST(Url, SplitsOriginAndTarget) {
  const auto url = parse_url("http://127.0.0.1:8000/v1/orders?wait=5s#x").value();
  EXPECT_EQ(url.origin, "http://127.0.0.1:8000");
  EXPECT_EQ(url.target, "/v1/orders?wait=5s");
  EXPECT_EQ(parse_url("https://example.com").value().target, "/");
  EXPECT_EQ(parse_url("http://[::1]:80/a").value().origin, "http://[::1]:80");
  EXPECT_EQ(parse_url("http://h?q=1").value().target, "/?q=1");
}

TEST(Url, RefusesWhatCannotBeCalled) {
  for (const auto* text : {"", "127.0.0.1:80", "ftp://h/", "http://", "http:///x", "http://u:p@h/", "http://h:0/", "http://h:99999/", "http://h:x/",
                           "http://h/a b", "http://h/\r\nX: y"}) {
    const auto url = parse_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_TRUE(url.error().message.contains("http://127.0.0.1:8000/api/health"));
  }
}

TEST(Header, ReadsNameAndValue) {
  EXPECT_EQ(parse_header("X-A:  b: c").value(), (std::pair<std::string, std::string>{"X-A", "b: c"}));
  for (const auto* text : {"", "novalue", ": x", "a b: c", "A: b\r\nC: d"}) {
    EXPECT_FALSE(parse_header(text)) << text;
  }
}

TEST(Expand, ReplacesWhatItKnowsAndKeepsTheRest) {
  EXPECT_EQ(expand("{{run}}-{{sequence}} {{other}} {{", "r1", 7), "r1-7 {{other}} {{");
  EXPECT_EQ(expand("plain", "r", 0), "plain");
}

/// A stock cpp-httplib server on a free port.
class HttpSenderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server_.Post("/echo", [this](const httplib::Request& request, httplib::Response& response) {
      const std::lock_guard lock(mutex_);
      keys_.insert(request.get_header_value("Idempotency-Key"));
      bodies_.insert(request.body);
      response.status = 202;
    });
    server_.Get("/fails", [](const httplib::Request&, httplib::Response& response) { response.status = 503; });
    server_.Get("/hangs", [this](const httplib::Request&, httplib::Response&) { released_.wait(false); });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::jthread([this] { server_.listen_after_bind(); });
    server_.wait_until_ready();
  }
  void TearDown() override { stop(); }
  void stop() {
    released_ = true;
    released_.notify_all();
    server_.stop();
    if (thread_.joinable()) {
      thread_.join();
    }
  }
  HttpRequest request(const std::string& method, const std::string& path) const {
    HttpRequest made;
    made.method = method;
    made.url = parse_url("http://127.0.0.1:" + std::to_string(port_) + path).value();
    made.timeout = 20s;
    return made;
  }

  httplib::Server server_;
  int port_ = 0;
  std::mutex mutex_;
  std::set<std::string> keys_;
  std::set<std::string> bodies_;
  std::atomic<bool> released_ = false;
  std::jthread thread_;
};

TEST_F(HttpSenderTest, SendsItsHeadersAndBodyWithTheRequestsNumber) {
  auto post = request("POST", "/echo");
  post.headers = {{"Idempotency-Key", "{{run}}-{{sequence}}"}, {"Content-Type", "application/json"}};
  post.body = "{\"n\":{{sequence}}}";
  const auto sender = make_http_sender(post, "r");
  EXPECT_EQ(sender->send(0).status, 202);
  EXPECT_EQ(sender->send(1).outcome, Outcome::kOk);
  EXPECT_EQ(keys_, (std::set<std::string>{"r-0", "r-1"}));
  EXPECT_EQ(bodies_, (std::set<std::string>{"{\"n\":0}", "{\"n\":1}"}));
}

TEST_F(HttpSenderTest, TellsErrorsOfTheServerTheConnectionAndTimeApart) {
  EXPECT_EQ(make_http_sender(request("GET", "/fails"), "r")->send(0).outcome, Outcome::kHttpError);
  EXPECT_EQ(make_http_sender(request("GET", "/nowhere"), "r")->send(0).status, 404);
  auto hanging = request("GET", "/hangs");
  hanging.timeout = 50ms;
  EXPECT_EQ(make_http_sender(hanging, "r")->send(0).outcome, Outcome::kTimeout);
  auto nobody = request("GET", "/");
  stop();
  EXPECT_EQ(make_http_sender(nobody, "r")->send(0).outcome, Outcome::kTransport);
}

}  // namespace
}  // namespace outrigger::load

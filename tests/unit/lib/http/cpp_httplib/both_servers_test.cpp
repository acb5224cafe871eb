// The same handlers under stock cpp-httplib and under this adapter, over real sockets, with the same expectations: routing, requests,
// statuses and the handlers round a handler. Where stock is wrong, differences_test.cpp says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "tests/unit/lib/http/cpp_httplib/running_server.h"
#include "tests/unit/lib/http/socket_client.h"

namespace outrigger::http::cpp_httplib {
namespace {

using httplib::Request;
using httplib::Response;
using testing::ElementsAre;
using HandlerResponse = httplib::Server::HandlerResponse;

template <class ServerType>
class BothServers : public testing::Test {};
using ServerTypes = testing::Types<httplib::Server, Server>;
TYPED_TEST_SUITE(BothServers, ServerTypes);

void answer(const Request&, Response& response) { response.set_content("answer", "text/plain"); }

TYPED_TEST(BothServers, AnswerWithStatusHeadersAndBody) {
  RunningServer<TypeParam> running([](auto& server) {
    server.Get("/hi", [](const Request&, Response& response) {
      response.status = 201;
      response.set_header("X-Made", "here");
      response.set_content("made", "text/special");
    });
  });
  const auto result = running.client().Get("/hi");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 201);
  EXPECT_EQ(result->get_header_value("X-Made"), "here");
  EXPECT_EQ(result->get_header_value("Content-Type"), "text/special");
  EXPECT_EQ(result->get_header_value("Content-Length"), "4");
  EXPECT_EQ(result->body, "made");
}

TYPED_TEST(BothServers, AnswerAnEmptyHandlerWith200AndABodyWithoutTypeAsText) {
  RunningServer<TypeParam> running([](auto& server) {
    server.Get("/empty", [](const Request&, Response&) {});
    server.Get("/untyped", [](const Request&, Response& response) { response.body = "bare"; });
  });
  auto client = running.client();
  const auto empty = client.Get("/empty");
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->status, 200);
  EXPECT_EQ(empty->body, "");
  const auto untyped = client.Get("/untyped");
  ASSERT_TRUE(untyped);
  EXPECT_EQ(untyped->get_header_value("Content-Type"), "text/plain");
}

TYPED_TEST(BothServers, MatchRegularExpressionsAgainstTheWholeDecodedPath) {
  RunningServer<TypeParam> running([](auto& server) {
    server.Get(R"(/numbers/(\d+)/(.*))", [](const Request& request, Response& response) {
      response.set_content(request.matches[1].str() + "|" + request.matches[2].str(), "text/plain");
    });
  });
  auto client = running.client();
  EXPECT_EQ(client.Get("/numbers/42/a%20b/c")->body, "42|a b/c");
  EXPECT_EQ(client.Get("/numbers/x/a")->status, 404);
  EXPECT_EQ(client.Get("/prefix/numbers/42/a")->status, 404);
}

TYPED_TEST(BothServers, MatchPathParameters) {
  RunningServer<TypeParam> running([](auto& server) {
    server.Get("/users/:user/orders/:order", [](const Request& request, Response& response) {
      response.set_content(request.path_params.at("user") + "|" + request.path_params.at("order"), "text/plain");
    });
  });
  auto client = running.client();
  EXPECT_EQ(client.Get("/users/ada/orders/7")->body, "ada|7");
  EXPECT_EQ(client.Get("/users/ada/orders/7/lines")->status, 404);
}

TYPED_TEST(BothServers, TryRoutesInTheOrderOfTheirRegistration) {
  RunningServer<TypeParam> running([](auto& server) {
    server.Get("/a.*", [](const Request&, Response& response) { response.set_content("first", "text/plain"); });
    server.Get("/ab", [](const Request&, Response& response) { response.set_content("second", "text/plain"); });
  });
  EXPECT_EQ(running.client().Get("/ab")->body, "first");
}

TYPED_TEST(BothServers, RouteEveryMethod) {
  RunningServer<TypeParam> running([](auto& server) {
    const auto echo = [](const Request& request, Response& response) { response.set_content(request.method + " " + request.body, "text/plain"); };
    server.Get("/x", echo).Post("/x", echo).Put("/x", echo).Patch("/x", echo).Delete("/x", echo).Options("/x", echo);
  });
  auto client = running.client();
  EXPECT_EQ(client.Get("/x")->body, "GET ");
  EXPECT_EQ(client.Post("/x", "p", "text/plain")->body, "POST p");
  EXPECT_EQ(client.Put("/x", "u", "text/plain")->body, "PUT u");
  EXPECT_EQ(client.Patch("/x", "a", "text/plain")->body, "PATCH a");
  EXPECT_EQ(client.Delete("/x", "d", "text/plain")->body, "DELETE d");
  EXPECT_EQ(client.Options("/x")->body, "OPTIONS ");
}

TYPED_TEST(BothServers, Answer404ForUnknownPathsAndMethods) {
  RunningServer<TypeParam> running([](auto& server) { server.Get("/x", answer); });
  auto client = running.client();
  EXPECT_EQ(client.Get("/y")->status, 404);
  EXPECT_EQ(client.Get("/y")->body, "");
  EXPECT_EQ(client.Post("/x", "p", "text/plain")->status, 404);
}

TYPED_TEST(BothServers, ServeHeadWithGetsHandlerAndNoBody) {
  RunningServer<TypeParam> running([](auto& server) { server.Get("/x", answer); });
  const auto result = running.client().Head("/x");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
  EXPECT_EQ(result->get_header_value("Content-Length"), "6");
  EXPECT_EQ(result->get_header_value("Accept-Ranges"), "bytes");
  EXPECT_EQ(result->body, "");
}

TYPED_TEST(BothServers, GiveHandlersTheQueryDecoded) {
  RunningServer<TypeParam> running([](auto& server) {
    server.Get("/q", [](const Request& request, Response& response) {
      response.set_content(request.get_param_value("a") + "|" + std::to_string(request.get_param_value_count("b")), "text/plain");
    });
  });
  EXPECT_EQ(running.client().Get("/q?a=x%26y%20z&b=1&b=2&c")->body, "x&y z|2");
}

TYPED_TEST(BothServers, GiveHandlersHeadersAndBothEndsAddresses) {
  RunningServer<TypeParam> running([](auto& server) {
    server.Get("/ends", [](const Request& request, Response& response) {
      response.set_header("X-Remote", request.remote_addr);
      response.set_header("X-Remote-Header", request.get_header_value("REMOTE_ADDR"));
      response.set_header("X-Local-Port", std::to_string(request.local_port));
      response.set_content(request.get_header_value("x-mine") + (request.remote_port > 0 ? " from a port" : ""), "text/plain");
    });
  });
  const auto result = running.client().Get("/ends", httplib::Headers{{"X-Mine", "value"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->body, "value from a port");
  EXPECT_EQ(result->get_header_value("X-Remote"), "127.0.0.1");
  EXPECT_EQ(result->get_header_value("X-Remote-Header"), "127.0.0.1");
  EXPECT_EQ(result->get_header_value("X-Local-Port"), std::to_string(running.port()));
}

TYPED_TEST(BothServers, RedirectWithLocation) {
  RunningServer<TypeParam> running(
      [](auto& server) { server.Get("/old", [](const Request&, Response& response) { response.set_redirect("/new"); }); });
  const auto result = running.client().Get("/old");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 302);
  EXPECT_EQ(result->get_header_value("Location"), "/new");
}

TYPED_TEST(BothServers, LetThePreRoutingHandlerAnswerFirst) {
  RunningServer<TypeParam> running([](auto& server) {
    server.Get("/open", answer).Get("/closed", answer);
    server.set_pre_routing_handler([](const Request& request, Response& response) {
      if (request.path != "/closed") {
        return HandlerResponse::Unhandled;
      }
      response.status = 401;
      response.set_content("who are you", "text/plain");
      return HandlerResponse::Handled;
    });
  });
  auto client = running.client();
  EXPECT_EQ(client.Get("/open")->body, "answer");
  EXPECT_EQ(client.Get("/closed")->status, 401);
  EXPECT_EQ(client.Get("/closed")->body, "who are you");
}

TYPED_TEST(BothServers, LetThePostRoutingHandlerChangeEveryAnswer) {
  RunningServer<TypeParam> running([](auto& server) {
    server.Get("/x", answer);
    server.set_post_routing_handler([](const Request&, Response& response) { response.set_header("X-After", "yes"); });
  });
  auto client = running.client();
  EXPECT_EQ(client.Get("/x")->get_header_value("X-After"), "yes");
  EXPECT_EQ(client.Get("/unknown")->get_header_value("X-After"), "yes");
}

TYPED_TEST(BothServers, LetTheErrorHandlerFillAnswersFrom400On) {
  RunningServer<TypeParam> running([](auto& server) {
    server.Get("/refuses", [](const Request&, Response& response) { response.status = 409; });
    server.Get("/x", answer);
    server.set_error_handler(
        [](const Request&, Response& response) { response.set_content("error " + std::to_string(response.status), "text/plain"); });
  });
  auto client = running.client();
  EXPECT_EQ(client.Get("/refuses")->body, "error 409");
  EXPECT_EQ(client.Get("/unknown")->body, "error 404");
  EXPECT_EQ(client.Get("/x")->body, "answer");
}

TYPED_TEST(BothServers, TakeAnErrorHandlerThatMayLeaveTheAnswerAsItIs) {
  RunningServer<TypeParam> running([](auto& server) {
    server.Get("/own", [](const Request&, Response& response) {
      response.status = 422;
      response.set_content("own words", "text/plain");
    });
    server.set_error_handler([](const Request&, Response& response) {
      if (!response.body.empty()) {
        return HandlerResponse::Unhandled;
      }
      response.set_content("default words", "text/plain");
      return HandlerResponse::Handled;
    });
  });
  auto client = running.client();
  EXPECT_EQ(client.Get("/own")->body, "own words");
  EXPECT_EQ(client.Get("/unknown")->body, "default words");
}

TYPED_TEST(BothServers, LetTheExceptionHandlerAnswerForAHandlerThatThrew) {
  RunningServer<TypeParam> running([](auto& server) {
    server.Get("/throws", [](const Request&, Response&) { throw std::runtime_error("the reason"); });
    server.set_exception_handler([](const Request&, Response& response, std::exception_ptr error) {
      try {
        std::rethrow_exception(error);
      } catch (const std::exception& exception) {
        response.status = 418;
        response.set_content(exception.what(), "text/plain");
      }
    });
  });
  const auto result = running.client().Get("/throws");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 418);
  EXPECT_EQ(result->body, "the reason");
}

TYPED_TEST(BothServers, AddTheDefaultHeaders) {
  RunningServer<TypeParam> running([](auto& server) {
    server.set_default_headers({{"X-Default", "everywhere"}});
    server.Get("/x", answer);
  });
  auto client = running.client();
  EXPECT_EQ(client.Get("/x")->get_header_value("X-Default"), "everywhere");
  EXPECT_EQ(client.Get("/unknown")->get_header_value("X-Default"), "everywhere");
}

TYPED_TEST(BothServers, TellTheLoggerOfRequestAndAnswer) {
  std::mutex mutex;
  std::vector<std::string> lines;
  {
    RunningServer<TypeParam> running([&](auto& server) {
      server.Get("/x", answer);
      server.set_logger([&](const Request& request, const Response& response) {
        const std::scoped_lock lock(mutex);
        lines.push_back(request.method + " " + request.path + " " + std::to_string(response.status) + " " + response.body);
      });
    });
    auto client = running.client();
    EXPECT_TRUE(client.Get("/x"));
    EXPECT_TRUE(client.Get("/unknown"));
  }
  EXPECT_THAT(lines, ElementsAre("GET /x 200 answer", "GET /unknown 404 "));
}

TYPED_TEST(BothServers, ServeManyRequestsOnOneConnection) {
  RunningServer<TypeParam> running([](auto& server) {
    server.Get("/port", [](const Request& request, Response& response) { response.set_content(std::to_string(request.remote_port), "text/plain"); });
  });
  auto client = running.client();
  client.set_keep_alive(true);
  const auto first = client.Get("/port");
  ASSERT_TRUE(first);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(client.Get("/port")->body, first->body);
  }
}

TYPED_TEST(BothServers, DoNotTakeTheBodyOfAGetForTheNextRequest) {
  RunningServer<TypeParam> running([](auto& server) {
    server.Get("/(.*)", [](const Request& request, Response& response) {
      response.set_content("<" + request.matches[1].str() + request.body + ">", "text/plain");
    });
  });
  SocketClient client(static_cast<std::uint16_t>(running.port()));
  client.send("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 35\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(body_of(client.read_to_end()), "<aGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n>");
}

TYPED_TEST(BothServers, RunUntilStopped) {
  RunningServer<TypeParam> running([](auto& server) { server.Get("/x", answer); });
  EXPECT_TRUE(running.server().is_running());
  running.stop();
  EXPECT_FALSE(running.server().is_running());
  EXPECT_FALSE(running.client().Get("/x"));
}

TYPED_TEST(BothServers, ListenAgainAfterTheyWereStopped) {
  RunningServer<TypeParam> running([](auto& server) { server.Get("/x", answer); });
  running.stop();
  const int port = running.server().bind_to_any_port("127.0.0.1");
  ASSERT_GT(port, 0);
  std::thread listener([&] { running.server().listen_after_bind(); });
  running.server().wait_until_ready();
  const auto result = httplib::Client("127.0.0.1", port).Get("/x");
  EXPECT_TRUE(result && result->status == 200);
  running.server().stop();
  listener.join();
}

}  // namespace
}  // namespace outrigger::http::cpp_httplib

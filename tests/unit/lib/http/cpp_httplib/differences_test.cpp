// The same handlers under both servers where stock cpp-httplib 0.18 is wrong, or where the adapter does something else on purpose:
// each test says what either does. README.md of the adapter lists the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/lib/http/cpp_httplib/running_server.h"
#include "tests/unit/lib/http/socket_client.h"

namespace outrigger::http::cpp_httplib {
namespace {

using httplib::DataSink;
using httplib::Request;
using httplib::Response;
using testing::HasSubstr;
using testing::Not;

template <class ServerType>
class Differences : public testing::Test {};
using ServerTypes = testing::Types<httplib::Server, Server>;
TYPED_TEST_SUITE(Differences, ServerTypes);

template <class ServerType>
std::string exchange(const RunningServer<ServerType>& running, std::string_view request) {
  SocketClient client(static_cast<std::uint16_t>(running.port()));
  client.send(request);
  return client.read_to_end().value_or("");
}

TYPED_TEST(Differences, StockSendsAnExceptionsTextToTheClient) {
  RunningServer<TypeParam> running(
      [](auto& server) { server.Get("/throws", [](const Request&, Response&) { throw std::runtime_error("password=hunter2"); }); });
  const auto answer = exchange(running, "GET /throws HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr(" 500 "));
  if (kIsStock<TypeParam>) {
    EXPECT_THAT(answer, HasSubstr("hunter2"));
  } else {
    EXPECT_THAT(answer, Not(HasSubstr("hunter2")));
    EXPECT_THAT(answer, Not(HasSubstr("EXCEPTION_WHAT")));
  }
}

TYPED_TEST(Differences, StockLetsAClientAddItsOwnRemoteAddr) {
  RunningServer<TypeParam> running([](auto& server) {
    server.Get("/peer", [](const Request& request, Response& response) {
      response.set_content(std::to_string(request.get_header_value_count("REMOTE_ADDR")) + request.get_header_value("LOCAL_PORT"), "text/plain");
    });
  });
  const auto result = running.client().Get("/peer", httplib::Headers{{"REMOTE_ADDR", "6.6.6.6"}, {"remote_addr", "7.7.7.7"}, {"Local_Port", "1"}});
  ASSERT_TRUE(result);
  if (kIsStock<TypeParam>) {
    EXPECT_TRUE(result->body.starts_with('3')) << result->body;
  } else {
    EXPECT_EQ(result->body, "1" + std::to_string(running.port()));
  }
}

TYPED_TEST(Differences, StockSplitsAnswersAtLineEndsInHeaders) {
  RunningServer<TypeParam> running([](auto& server) {
    server.Get("/split", [](const Request&, Response& response) { response.headers.emplace("X-Echo", "a\r\nSet-Cookie: stolen=1"); });
  });
  const auto answer = exchange(running, "GET /split HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  if (kIsStock<TypeParam>) {
    EXPECT_THAT(answer, HasSubstr("\r\nSet-Cookie: stolen=1"));
  } else {
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 500 ")) << answer;
    EXPECT_THAT(answer, Not(HasSubstr("stolen")));
  }
}

TYPED_TEST(Differences, StockDecodesHeaderValuesEvenToLineEnds) {
  RunningServer<TypeParam> running([](auto& server) {
    server.Get("/value", [](const Request& request, Response& response) { response.set_content(request.get_header_value("X-Value"), "text/plain"); });
  });
  const auto result = running.client().Get("/value", httplib::Headers{{"X-Value", "a%0D%0Ab"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->body, kIsStock<TypeParam> ? "a\r\nb" : "a%0D%0Ab");
}

TYPED_TEST(Differences, StockAcceptsTwoFramingsOfOneBody) {
  RunningServer<TypeParam> running([](auto& server) { server.Post("/echo", [](const Request&, Response&) {}); });
  const auto answer =
      exchange(running, "POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr(kIsStock<TypeParam> ? " 200 " : " 400 "));
}

TYPED_TEST(Differences, StockForgetsPipelinedRequests) {
  RunningServer<TypeParam> running([](auto& server) {
    server.set_keep_alive_timeout(1);
    server.Get("/(.)", [](const Request& request, Response& response) { response.set_content("<" + request.matches[1].str() + ">", "text/plain"); });
  });
  const auto answer = exchange(running,
                               "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
                               "GET /b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("<a>"));
  if (kIsStock<TypeParam>) {
    EXPECT_THAT(answer, Not(HasSubstr("<b>")));
  } else {
    EXPECT_THAT(answer, HasSubstr("<b>"));
  }
}

TYPED_TEST(Differences, AContentOfUnknownLengthIsChunkedWhereStockDoesNotFrameIt) {
  RunningServer<TypeParam> running([](auto& server) {
    server.Get("/stream", [](const Request&, Response& response) {
      response.set_content_provider("text/plain", [](std::size_t, DataSink& sink) {
        sink.write("streamed", 8);
        sink.done();
        return true;
      });
    });
  });
  const auto result = running.client().Get("/stream");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->body, "streamed");
  EXPECT_EQ(result->get_header_value("Transfer-Encoding"), kIsStock<TypeParam> ? "" : "chunked");
}

TYPED_TEST(Differences, StockCompressesAnswers) {
  RunningServer<TypeParam> running([](auto& server) {
    server.Get("/long", [](const Request&, Response& response) { response.set_content(std::string(5'000, 'x'), "text/plain"); });
  });
  const auto answer = exchange(running, "GET /long HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n");
  if (kIsStock<TypeParam>) {
    EXPECT_THAT(answer, HasSubstr("Content-Encoding: gzip"));
  } else {
    EXPECT_THAT(answer, Not(HasSubstr("Content-Encoding")));
    EXPECT_THAT(answer, HasSubstr(std::string(5'000, 'x')));
  }
}

TYPED_TEST(Differences, SeveralRangesGetTheWholeWhereStockSendsParts) {
  RunningServer<TypeParam> running(
      [](auto& server) { server.Get("/abc", [](const Request&, Response& response) { response.set_content("abcdefghij", "text/plain"); }); });
  const auto result = running.client().Get("/abc", httplib::Headers{{"Range", "bytes=0-1,4-5"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, kIsStock<TypeParam> ? 206 : 200);
  if (kIsStock<TypeParam>) {
    EXPECT_THAT(result->get_header_value("Content-Type"), HasSubstr("multipart/byteranges"));
  } else {
    EXPECT_EQ(result->body, "abcdefghij");
  }
}

TYPED_TEST(Differences, APostWithoutLengthIsAnEmptyOneWhereStockWaitsForMore) {
  RunningServer<TypeParam> running([](auto& server) {
    server.set_read_timeout(std::chrono::milliseconds(50));
    server.Post("/echo", [](const Request& request, Response& response) { response.set_content("<" + request.body + ">", "text/plain"); });
  });
  const auto answer = exchange(running, "POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  if (kIsStock<TypeParam>) {
    EXPECT_THAT(answer, HasSubstr(" 400 "));
  } else {
    EXPECT_THAT(answer, HasSubstr("<>"));
  }
}

}  // namespace
}  // namespace outrigger::http::cpp_httplib

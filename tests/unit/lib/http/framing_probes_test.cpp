// Requests that servers are known to have framed wrongly, one row each: the answer, and what becomes of the connection.
//
// "Closes": not a byte behind the request is taken for another one. "Goes on": its end was found, the next request is served.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/http/server.h"
#include "tests/unit/lib/http/socket_client.h"

namespace outrigger::http {
namespace {

enum class After { kCloses, kGoesOn };

struct Probe {
  const char* name;
  std::string bytes;
  int status;
  After after;
  std::string body;  ///< with kGoesOn: what the handler saw, as method|path|query|body
};

void PrintTo(const Probe& probe, std::ostream* out) { *out << probe.name; }

const std::string kNext = "GET /next HTTP/1.1\r\nHost: a\r\n\r\n";
const std::string kPost = "POST /a HTTP/1.1\r\nHost: a\r\n";
const std::string kChunked = kPost + "Transfer-Encoding: chunked\r\n\r\n";

class FramingProbe : public testing::TestWithParam<Probe> {
 protected:
  FramingProbe() : server_({.name = "test", .loops = 1, .max_body_bytes = 1'000, .max_header_fields = 20}, routes(), registry_) {
    const auto started = server_.start();
    EXPECT_TRUE(started) << started.error().to_string();
  }

  static Router routes() {
    Router router;
    for (const auto method : {Method::kGet, Method::kPost}) {
      router.handle(method, "/*", [](const RequestView& request, Response& response) {
        response.body =
            std::string(name(request.method)) + "|" + std::string(request.path) + "|" + std::string(request.query) + "|" + std::string(request.body);
      });
    }
    router.handle(Method::kGet, "/peer", [](const RequestView& request, Response& response) {
      response.body = request.peer_address.starts_with("127.0.0.1:") ? "from the socket" : request.peer_address;
    });
    router.handle(Method::kGet, "/mirror/:value", [](const RequestView& request, Response& response) {
      response.headers.emplace_back("X-Mirror", request.path_parameter("value").value_or(""));
    });
    router.handle(Method::kGet, "/throws", [](const RequestView&, Response&) { throw std::runtime_error("secret"); });
    router.handle(Method::kPost, "/trailer",
                  [](const RequestView& request, Response& response) { response.body = request.header("x-late").value_or("dropped"); });
    router.handle(Method::kPost, "/encoded", [](const RequestView& request, Response& response) { response.body = request.body; });
    return router;
  }

  /// Where another status line begins; a detail may name the protocol too.
  static std::size_t second_answer(const std::string& all) {
    auto at = all.find("HTTP/1.1 ", 9);
    while (at != std::string::npos && (all[at + 9] < '1' || all[at + 9] > '5')) {
      at = all.find("HTTP/1.1 ", at + 9);
    }
    return at;
  }

  void expect_right(const std::string& all) const {
    const auto& probe = GetParam();
    const auto end = second_answer(all);
    const auto first = all.substr(0, end);
    EXPECT_EQ(status_of(first), probe.status) << all;
    EXPECT_THAT(all, testing::Not(testing::HasSubstr("secret")));
    EXPECT_THAT(all, testing::Not(testing::HasSubstr("\r\nSet-Cookie")));
    if (probe.after == After::kCloses) {
      EXPECT_EQ(end, std::string::npos) << "something behind the refused request was answered:\n" << all;
      EXPECT_THAT(first, testing::HasSubstr("\r\nConnection: close\r\n"));
    } else {
      if (!probe.body.empty()) {
        EXPECT_EQ(body_of(first), probe.body);
      }
      ASSERT_NE(end, std::string::npos) << "the next request was not served:\n" << all;
      EXPECT_EQ(body_of(all.substr(end)), "GET|/next||");
    }
  }

  telemetry::Registry registry_;
  Server server_;
};

TEST_P(FramingProbe, IsAnsweredRightAndLeavesNothingBehind) {
  SocketClient client(server_.port());
  client.send(GetParam().bytes + kNext);
  client.shut_down_sending();
  const auto all = client.read_to_end();
  ASSERT_TRUE(all);
  expect_right(*all);
}

TEST_P(FramingProbe, TheSameWhenEveryByteComesAlone) {
  SocketClient client(server_.port());
  for (const char c : GetParam().bytes + kNext) {
    if (!client.send({&c, 1})) {
      break;
    }
  }
  client.shut_down_sending();
  const auto all = client.read_to_end();
  ASSERT_TRUE(all);
  expect_right(*all);
}

std::string fields(int count) {
  std::string result;
  for (int i = 0; i < count; ++i) {
    result += "X: y\r\n";
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(
    Probes, FramingProbe,
    testing::Values(
        Probe{"LengthAndChunked", kPost + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, After::kCloses, ""},
        Probe{"TwoLengths", kPost + "Content-Length: 3\r\nContent-Length: 30\r\n\r\nabc", 400, After::kCloses, ""},
        Probe{"SignedLength", kPost + "Content-Length: +5\r\n\r\nabcde", 400, After::kCloses, ""},
        Probe{"LengthWithLetters", kPost + "Content-Length: 5abc\r\n\r\nabcde", 400, After::kCloses, ""},
        Probe{"HexadecimalPrefixOfAChunk", kChunked + "0x5\r\nabcde\r\n0\r\n\r\n", 400, After::kCloses, ""},
        Probe{"SpaceBeforeColon", "GET /a HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n", 400, After::kCloses, ""},
        Probe{"BareLineFeed", "GET /a HTTP/1.1\nHost: a\n\n", 400, After::kCloses, ""},
        Probe{"GzipThenChunked", kPost + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501, After::kCloses, ""},
        Probe{"GetWithABody", "GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: 14\r\n\r\nGET /b HTTP/1.", 200, After::kGoesOn,
              "GET|/a||GET /b HTTP/1."},
        Probe{"UnknownVersion", "GET /a HTTP/1.2\r\nHost: a\r\n\r\n", 505, After::kCloses, ""},
        Probe{"TrailersAreDropped", "POST /trailer HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Late: kept\r\n\r\n",
              200, After::kGoesOn, "dropped"},
        Probe{"NoHost", "GET /a HTTP/1.1\r\n\r\n", 400, After::kCloses, ""},
        Probe{"FoldedField", "GET /a HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", 400, After::kCloses, ""},
        Probe{"AbsoluteForm", "GET http://b/a?q HTTP/1.1\r\nHost: a\r\n\r\n", 200, After::kGoesOn, "GET|/a|q|"},
        Probe{"OptionsAsterisk", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 204, After::kGoesOn, ""},
        Probe{"LeadingEmptyLine", "\r\nGET /a HTTP/1.1\r\nHost: a\r\n\r\n", 200, After::kGoesOn, "GET|/a||"},
        Probe{"CloseInCapitals", "GET /a HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", 200, After::kCloses, ""},
        Probe{"EscapedLineBreakInAField", "GET /a HTTP/1.1\r\nHost: a\r\nX: a%0D%0ASet-Cookie: z\r\n\r\n", 200, After::kGoesOn, "GET|/a||"},
        Probe{"PeerAddressInAField", "GET /peer HTTP/1.1\r\nHost: a\r\nREMOTE_ADDR: 6.6.6.6\r\n\r\n", 200, After::kGoesOn, "from the socket"},
        Probe{"HandlerThrows", "GET /throws HTTP/1.1\r\nHost: a\r\n\r\n", 500, After::kGoesOn, ""},
        Probe{"LongPathOnAWildcard", "GET /" + std::string(8'000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", 200, After::kGoesOn, ""},
        Probe{"PathOfManySegments", "GET " + std::string(4'000, '/') + " HTTP/1.1\r\nHost: a\r\n\r\n", 200, After::kGoesOn, ""},
        Probe{"PostWithoutALength", kPost + "\r\n", 200, After::kGoesOn, "POST|/a||"}),
    [](const auto& instance) { return instance.param.name; });

INSTANTIATE_TEST_SUITE_P(
    FixedElsewhere, FramingProbe,
    testing::Values(
        Probe{"ResponseSplittingByAnEscapedPath", "GET /mirror/a%0D%0ASet-Cookie:%20z HTTP/1.1\r\nHost: a\r\n\r\n", 500, After::kGoesOn, ""},
        Probe{"EndlessChunkExtension", kChunked + "1;" + std::string(20'000, 'x') + "\r\na\r\n0\r\n\r\n", 400, After::kCloses, ""},
        Probe{"ChunkedBodyBeyondTheLimit", kChunked + "3e9\r\n" + std::string(1'001, 'x') + "\r\n0\r\n\r\n", 413, After::kCloses, ""},
        Probe{"TooManyFields", "GET /a HTTP/1.1\r\nHost: a\r\n" + fields(20) + "\r\n", 431, After::kCloses, ""},
        Probe{"TooManyTrailers", kChunked + "0\r\n" + fields(20) + "\r\n", 431, After::kCloses, ""},
        Probe{"HugeChunkAllocatesNothing", kChunked + "7fffffffffffffff\r\n", 413, After::kCloses, ""},
        Probe{"CompressedBodyStaysAsItCame", "POST /encoded HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08z",
              200, After::kGoesOn, "\x1f\x8b\x08z"},
        Probe{"MultipartIsOpaque",
              kPost + "Content-Type: multipart/form-data; boundary=" + std::string(2'000, 'b') + "\r\nContent-Length: 3\r\n\r\n---", 200,
              After::kGoesOn, "POST|/a||---"},
        Probe{"EqualLengthsTwice", kPost + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400, After::kCloses, ""},
        Probe{"NegativeChunkSize", kChunked + "-2\r\nab\r\n0\r\n\r\n", 400, After::kCloses, ""},
        Probe{"BodyRefusedUnread", kPost + "Content-Length: 5000\r\n\r\n" + std::string(5'000, 'x'), 413, After::kCloses, ""}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace outrigger::http

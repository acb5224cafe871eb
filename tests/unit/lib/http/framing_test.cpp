// What arrives is framed as RFC 9112 says or refused: two readers of one connection must never disagree about where a request ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/http/server.h"
#include "tests/unit/lib/http/socket_client.h"

namespace outrigger::http {
namespace {

struct Probe {
  const char* name;
  std::string bytes;
  int status;
};

void PrintTo(const Probe& probe, std::ostream* out) { *out << probe.name; }

class Framing : public testing::TestWithParam<Probe> {
 protected:
  Framing() : server_({.name = "test", .loops = 1}, routes(), registry_) {
    const auto started = server_.start();
    EXPECT_TRUE(started) << started.error().to_string();
  }

  static Router routes() {
    Router router;
    const auto echo = [](const RequestView& request, Response& response) {
      response.body = std::string(request.path) + "|" + std::string(request.query) + "|" + std::string(request.body);
    };
    router.handle(Method::kGet, "/*", echo);
    router.handle(Method::kPost, "/*", echo);
    return router;
  }

  telemetry::Registry registry_;
  Server server_;
};

using Refused = Framing;

// The connection ends with the refusal: what follows it is never read as a request.
TEST_P(Refused, AnswersItsStatusAndCloses) {
  SocketClient client(server_.port());
  client.send(GetParam().bytes + "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto answer = client.read_to_end();
  ASSERT_TRUE(answer);
  EXPECT_EQ(status_of(answer), GetParam().status) << *answer;
  EXPECT_THAT(*answer, testing::HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(*answer, testing::Not(testing::HasSubstr("smuggled")));
}

TEST_P(Refused, InPiecesAsWell) {
  SocketClient client(server_.port());
  for (const char c : GetParam().bytes) {
    if (!client.send({&c, 1})) {
      break;
    }
  }
  client.shut_down_sending();
  EXPECT_EQ(status_of(client.read_to_end()), GetParam().status);
}

const std::string kPost = "POST /a HTTP/1.1\r\nHost: a\r\n";
const std::string kChunked = kPost + "Transfer-Encoding: chunked\r\n\r\n";

INSTANTIATE_TEST_SUITE_P(
    , Refused,
    testing::Values(
        Probe{"ContentLengthWithTransferEncoding", kPost + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
        Probe{"TransferEncodingWithContentLength", kPost + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", 400},
        Probe{"DuplicateContentLength", kPost + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc", 400},
        Probe{"EqualDuplicateContentLength", kPost + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400},
        Probe{"ContentLengthList", kPost + "Content-Length: 3, 3\r\n\r\nabc", 400},
        Probe{"SignedContentLength", kPost + "Content-Length: +5\r\n\r\nabcde", 400},
        Probe{"NegativeContentLength", kPost + "Content-Length: -5\r\n\r\nabcde", 400},
        Probe{"ContentLengthWithLetters", kPost + "Content-Length: 5abc\r\n\r\nabcde", 400},
        Probe{"ContentLengthBeyond64Bit", kPost + "Content-Length: 18446744073709551617\r\n\r\na", 400},
        Probe{"HexadecimalPrefixOfChunkSize", kChunked + "0x5\r\nabcde\r\n0\r\n\r\n", 400},
        Probe{"NegativeChunkSize", kChunked + "-2\r\nab\r\n0\r\n\r\n", 400},
        Probe{"SpaceBeforeChunkSize", kChunked + " 5\r\nabcde\r\n0\r\n\r\n", 400},
        Probe{"ChunkSizeBeyond64Bit", kChunked + "10000000000000000\r\n", 400},
        Probe{"ChunkLongerThanItsSize", kChunked + "3\r\nabcde\r\n0\r\n\r\n", 400},
        Probe{"BareLineFeedAfterChunkSize", kChunked + "3\nabc\r\n0\r\n\r\n", 400},
        Probe{"SpaceBeforeColon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400}, Probe{"BareLineFeed", "GET / HTTP/1.1\nHost: a\n\n", 400},
        Probe{"BareCarriageReturn", "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", 400},
        Probe{"NulInHeader", "GET / HTTP/1.1\r\nHost: a\r\nX: a" + std::string(1, '\0') + "b\r\n\r\n", 400},
        Probe{"EncodingsBeforeChunked", kPost + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
        Probe{"EncodingIdentity", kPost + "Transfer-Encoding: identity\r\n\r\n", 501},
        Probe{"EncodingAlmostChunked", kPost + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501},
        Probe{"EncodingChunkedTwice", kPost + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
        Probe{"EncodingInHttp10", "POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
        Probe{"Http12", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505}, Probe{"Http2Preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
        Probe{"Http09", "GET /\r\n\r\n", 505}, Probe{"MissingHost", "GET / HTTP/1.1\r\n\r\n", 400},
        Probe{"TwoHosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400}, Probe{"EmptyHost", "GET / HTTP/1.1\r\nHost:\r\n\r\n", 400},
        Probe{"HostWithPath", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400}, Probe{"HostWithUserInfo", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400},
        Probe{"ObsFold", "GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", 400},
        Probe{"ObsFoldOfAnEmptyValue", "GET / HTTP/1.1\r\nHost: a\r\nX:\r\n\tc\r\n\r\n", 400},
        Probe{"ObsFoldBeforeTheFirstField", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400},
        Probe{"UnknownMethod", "BREW / HTTP/1.1\r\nHost: a\r\n\r\n", 400}, Probe{"MethodNotServed", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 501},
        Probe{"TlsHello", "\x16\x03\x01\x02", 400}, Probe{"UnknownExpectation", kPost + "Content-Length: 1\r\nExpect: tea\r\n\r\na", 417},
        Probe{"RelativeTarget", "GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400}, Probe{"ForeignScheme", "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        Probe{"BrokenEscape", "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400}, Probe{"EscapedNul", "GET /a%00b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        Probe{"Fragment", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400}),
    [](const auto& instance) { return instance.param.name; });

struct Accepted {
  const char* name;
  std::string bytes;
  std::string body;
};

void PrintTo(const Accepted& accepted, std::ostream* out) { *out << accepted.name; }

class Served : public testing::TestWithParam<Accepted> {};

// What follows the request is the next request, so its end was found.
TEST_P(Served, AnswersAndReadsTheNextRequest) {
  telemetry::Registry registry;
  Router router;
  const auto echo = [](const RequestView& request, Response& response) {
    response.body = std::string(request.path) + "|" + std::string(request.query) + "|" + std::string(request.body);
  };
  router.handle(Method::kGet, "/*", echo);
  router.handle(Method::kPost, "/*", echo);
  Server server({.name = "test", .loops = 1}, std::move(router), registry);
  ASSERT_TRUE(server.start());
  SocketClient client(server.port());
  client.send(GetParam().bytes + "GET /next HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(body_of(client.read_answer()), GetParam().body);
  EXPECT_EQ(body_of(client.read_answer()), "/next||");
}

INSTANTIATE_TEST_SUITE_P(
    , Served,
    testing::Values(Accepted{"GetWithBody", "GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", "/a||abc"},
                    Accepted{"ZeroContentLength", kPost + "Content-Length: 0\r\n\r\n", "/a||"},
                    Accepted{"ChunkedWithTrailers", kChunked + "3\r\nabc\r\n0\r\nX: y\r\nHost: evil\r\n\r\n", "/a||abc"},
                    Accepted{"ChunkExtension", kChunked + "3;a=b\r\nabc\r\n0\r\n\r\n", "/a||abc"},
                    Accepted{"ChunkedInCapitals", kPost + "Transfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "/a||abc"},
                    Accepted{"LeadingEmptyLine", "\r\nGET /a HTTP/1.1\r\nHost: a\r\n\r\n", "/a||"},
                    Accepted{"AbsoluteForm", "GET http://b:80/a?q=1 HTTP/1.1\r\nHost: a\r\n\r\n", "/a|q=1|"},
                    Accepted{"AbsoluteFormWithoutPath", "GET http://b HTTP/1.1\r\nHost: a\r\n\r\n", "/||"},
                    Accepted{"UpgradeIsIgnored", "GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "/a||"},
                    Accepted{"Ipv6Host", "GET /a HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "/a||"},
                    Accepted{"PathDecodedOnceQueryNot", "GET /%2541%20b?c=%20d HTTP/1.1\r\nHost: a\r\n\r\n", "/%41 b|c=%20d|"},
                    Accepted{"EscapedLineBreakInHeaderStaysText", "GET /a HTTP/1.1\r\nHost: a\r\nX: a%0D%0ASet-Cookie: z\r\n\r\n", "/a||"}),
    [](const auto& instance) { return instance.param.name; });

TEST(OptionsAsterisk, NamesWhatTheServerServes) {
  telemetry::Registry registry;
  Server server({.name = "test", .loops = 1}, Router(), registry);
  ASSERT_TRUE(server.start());
  SocketClient client(server.port());
  client.send("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto answer = client.read_answer(false);
  EXPECT_EQ(status_of(answer), 204);
  EXPECT_THAT(*answer, testing::HasSubstr("Allow: "));
}

}  // namespace
}  // namespace outrigger::http

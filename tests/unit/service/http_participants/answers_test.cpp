// What every answer of a participant means, from real bytes on a real connection.
#include "service/http_participants/internal/exchange.h"
#include "tests/unit/service/http_participants/fixture.h"

namespace outrigger::http_participants {
namespace {

using namespace std::chrono_literals;
using participant::Outcome;
using testing::HasSubstr;

struct Row {
  std::string name;
  std::string bytes;
  Outcome outcome;
  std::string result;  ///< label of the metric
  std::string says;    ///< the output of a success; else part of the reason
  std::optional<std::chrono::milliseconds> retry_after = {};
};

std::vector<Row> rows() {
  const std::string problem = "Content-Type: application/problem+json\r\n";
  std::vector<Row> table{
      {"200 with JSON", http_answer("200 OK", "Content-Type: application/json\r\n", R"({"id":1})"), Outcome::kSuccess, "success", R"({"id":1})"},
      {"201 with JSON", http_answer("201 Created", "Location: /x\r\n", R"("text")"), Outcome::kSuccess, "success", R"("text")"},
      {"200 without body", http_answer("200 OK", "", ""), Outcome::kSuccess, "success", ""},
      {"204", "HTTP/1.1 204 No Content\r\n\r\n", Outcome::kSuccess, "success", ""},
      {"200 in chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n[1,2\r\n1\r\n]\r\n0\r\n\r\n", Outcome::kSuccess, "success",
       "[1,2]"},
      {"200 that the end of the connection ends", "HTTP/1.1 200 OK\r\n\r\n[1]", Outcome::kSuccess, "success", "[1]"},
      {"an interim answer before it", "HTTP/1.1 100 Continue\r\n\r\n" + http_answer("200 OK", "", "1"), Outcome::kSuccess, "success", "1"},

      {"409", http_answer("409 Conflict", problem, R"({"title":"No","detail":"sold out"})"), Outcome::kFailed, "refused", "sold out"},
      {"422", http_answer("422 Unprocessable Content", problem, R"({"detail":"no such SKU"})"), Outcome::kFailed, "refused", "no such SKU"},
      {"409 with a charset", http_answer("409 Conflict", "Content-Type: Application/Problem+JSON; charset=utf-8\r\n", R"({"detail":"x"})"),
       Outcome::kFailed, "refused", "x"},
      {"409 with a title alone", http_answer("409 Conflict", problem, R"({"title":"Sold out"})"), Outcome::kFailed, "refused", "Sold out"},
      {"409 with a detail that is no text", http_answer("409 Conflict", problem, R"({"detail":[1],"title":"T"})"), Outcome::kFailed, "refused", "T"},
      {"409 with an empty document", http_answer("409 Conflict", problem, "{}"), Outcome::kFailed, "refused", "HTTP 409"},

      {"429", http_answer("429 Too Many Requests", "Retry-After: 7\r\n", ""), Outcome::kRetry, "retry", "HTTP 429", 7s},
      {"503", http_answer("503 Service Unavailable", "Retry-After: 0\r\n", ""), Outcome::kRetry, "retry", "HTTP 503", 0s},
      {"503 with a date that has passed", http_answer("503 Service Unavailable", "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n", ""),
       Outcome::kRetry, "retry", "HTTP 503", 0s},

      {"409 without problem document", http_answer("409 Conflict", "Content-Type: application/json\r\n", R"({"detail":"x"})"), Outcome::kRetry,
       "malformed", "without a problem document"},
      {"409 of a proxy", http_answer("409 Conflict", "Content-Type: text/html\r\n", "<h1>409</h1>"), Outcome::kRetry, "malformed",
       "without a problem document"},
      {"422 whose document is cut", http_answer("422 Unprocessable Content", problem, R"({"detail":)"), Outcome::kRetry, "malformed",
       "without a problem document"},
      {"409 whose document is a list", http_answer("409 Conflict", problem, "[]"), Outcome::kRetry, "malformed", "without a problem document"},
      {"503 without Retry-After", http_answer("503 Service Unavailable", "", ""), Outcome::kRetry, "status", "HTTP 503"},
      {"503 with a bad Retry-After", http_answer("503 Service Unavailable", "Retry-After: soon\r\n", ""), Outcome::kRetry, "status", "HTTP 503"},
      {"429 with a negative Retry-After", http_answer("429 Too Many Requests", "Retry-After: -1\r\n", ""), Outcome::kRetry, "status", "HTTP 429"},
      {"202 without Location", http_answer("202 Accepted", "", ""), Outcome::kRetry, "malformed", "Location cannot be asked: there is none"},
      {"202 that leads elsewhere", http_answer("202 Accepted", "Location: http://169.254.169.254/latest\r\n", ""), Outcome::kRetry, "malformed",
       "away from"},
      {"202 with a relative Location", http_answer("202 Accepted", "Location: jobs/1\r\n", ""), Outcome::kRetry, "malformed",
       "must begin with http://"},
      {"200 that is HTML", http_answer("200 OK", "Content-Type: text/html\r\n", "<html></html>"), Outcome::kRetry, "malformed", "no JSON"},
      {"200 that is two documents", http_answer("200 OK", "", "{} {}"), Outcome::kRetry, "malformed", "no JSON"},
      {"200 that is not UTF-8", http_answer("200 OK", "", "\"\xff\""), Outcome::kRetry, "malformed", "no JSON"},
      {"200 over the limit", http_answer("200 OK", "", "\"" + std::string(100'000, 'x') + "\""), Outcome::kRetry, "malformed", ""},
      {"a head over the limit", "HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n", Outcome::kRetry, "malformed", ""},
      {"no HTTP", "SSH-2.0-OpenSSH_9.2\r\n", Outcome::kRetry, "malformed", ""},
      {"both lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1", Outcome::kRetry, "malformed", ""},
      {"nothing", "", Outcome::kRetry, "broken", "ended without an answer"},
      {"half a head", "HTTP/1.1 200 OK\r\nContent-", Outcome::kRetry, "broken", "in the middle"},
      {"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", Outcome::kRetry, "broken", "in the middle"},
  };
  for (const auto* status : {"301 Moved Permanently", "303 See Other", "307 Temporary Redirect", "400 Bad Request", "401 Unauthorized",
                             "403 Forbidden", "404 Not Found", "408 Request Timeout", "410 Gone", "418 I'm a teapot", "500 Internal Server Error",
                             "501 Not Implemented", "502 Bad Gateway", "504 Gateway Timeout", "599 Odd"}) {
    const auto code = std::string_view(status).substr(0, 3);
    table.push_back({status, http_answer(status, "Location: /other\r\nRetry-After: 1\r\n", R"({"detail":"x"})"), Outcome::kRetry, "status",
                     std::format("HTTP {}", code)});
  }
  for (auto& row : table) {
    if (row.outcome == Outcome::kRetry && row.result != "retry") {
      row.name = "unknown: " + row.name;
    }
  }
  return table;
}

TEST_F(TransportTest, EveryAnswerHasItsMeaning) {
  for (const auto& row : rows()) {
    SCOPED_TRACE(row.name);
    const auto before = commands(row.result);
    const auto reply = answered_with(row.bytes);
    EXPECT_EQ(reply.outcome, row.outcome) << reply.reason;
    EXPECT_EQ(commands(row.result), before + 1);
    EXPECT_EQ(reply.retry_after, row.retry_after);
    if (row.outcome == Outcome::kSuccess) {
      EXPECT_EQ(reply.output, row.says);
      EXPECT_EQ(reply.reason, "");
    } else {
      EXPECT_THAT(reply.reason, HasSubstr(row.says));
      EXPECT_EQ(reply.reason.starts_with("outcome unknown: "), row.name.starts_with("unknown: ")) << reply.reason;
    }
    EXPECT_EQ(reply.saga_id, "p1-a");
    EXPECT_EQ(reply.attempt, 1U);
  }
}

TEST_F(TransportTest, AReasonIsCutToItsLimit) {
  const auto reply = answered_with(
      http_answer("409 Conflict", "Content-Type: application/problem+json\r\n", std::format(R"({{"detail":"{}"}})", std::string(10'000, 'x'))));
  EXPECT_EQ(reply.outcome, Outcome::kFailed);
  EXPECT_EQ(reply.reason, std::string(1'024, 'x'));
}

TEST_F(TransportTest, NobodyListeningIsUnknown) {
  auto lost = command();
  {
    const http::SocketServer closed;
    lost.destination = std::format("http://127.0.0.1:{}/", closed.port());
  }
  EXPECT_TRUE(transport().offer(lost));
  const auto reply = replies_.wait_for(1).at(0);
  EXPECT_EQ(reply.outcome, Outcome::kRetry);
  EXPECT_THAT(reply.reason, HasSubstr("cannot connect"));
}

TEST_F(TransportTest, SilenceIsUnknownWhenTheStepsTimeIsOver) {
  EXPECT_TRUE(transport().offer(command("p1-a", 50ms)));
  const auto connection = server_.accept();
  const auto reply = replies_.wait_for(1).at(0);
  EXPECT_EQ(reply.outcome, Outcome::kRetry);
  EXPECT_THAT(reply.reason, HasSubstr("no answer in time"));
  EXPECT_EQ(commands("deadline"), 1U);
}

TEST(RetryAfter, IsSecondsOrADate) {
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::sys_days{std::chrono::year(2026) / 12 / 1} + 5h);
  EXPECT_EQ(parse_retry_after("120", now), 120s);
  EXPECT_EQ(parse_retry_after("0", now), 0s);
  EXPECT_EQ(parse_retry_after("99999999999999999999", now), 86'400s) << "the engine has a smaller bound";
  EXPECT_EQ(parse_retry_after("Tue, 01 Dec 2026 05:01:30 GMT", now), 90s);
  EXPECT_EQ(parse_retry_after("Tue, 01 Dec 2026 04:59:00 GMT", now), 0s);
  for (const auto* wrong : {"", " ", "-1", "+1", "1.5", "1 2", "0x10", "soon", "Tue, 01 Dec 2026 05:01:30", "Tue, 01 Dec 2026 05:01:30 GMT x",
                            "Tue, 41 Dec 2026 05:01:30 GMT"}) {
    EXPECT_FALSE(parse_retry_after(wrong, now)) << wrong;
  }
}

}  // namespace
}  // namespace outrigger::http_participants

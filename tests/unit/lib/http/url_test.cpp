#include "lib/http/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace outrigger::http {
namespace {

using ::testing::HasSubstr;

TEST(Url, IsTakenApart) {
  struct Case {
    std::string_view text;
    Url url;
  };
  for (const auto& [text, url] : std::vector<Case>{{"http://127.0.0.1:9000/reserve", {"127.0.0.1", 9000, "/reserve"}},
                                                   {"http://inventory", {"inventory", 80, "/"}},
                                                   {"HTTP://Inventory.Shop.svc:81/a%20b?c=d&e", {"inventory.shop.svc", 81, "/a%20b?c=d&e"}},
                                                   {"http://host?q=/x", {"host", 80, "/?q=/x"}},
                                                   {"http://[::1]:9000/x", {"::1", 9000, "/x"}},
                                                   {"http://[2001:DB8::1]", {"2001:db8::1", 80, "/"}}}) {
    const auto parsed = parse_url(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().to_string();
    EXPECT_EQ(*parsed, url) << text;
  }
}

TEST(Url, NamesItsServer) {
  EXPECT_EQ(parse_url("http://host/x")->authority(), "host:80");
  EXPECT_EQ(parse_url("http://[::1]:9/x")->authority(), "[::1]:9");
}

TEST(Url, WhatReadersCouldReadDifferentlyIsRefused) {
  for (const std::string_view text : {"",
                                      "/reserve",
                                      "ftp://host/",
                                      "http:/host",
                                      "http://",
                                      "http:///x",
                                      "http://:80/",
                                      "http://user:secret@host/",
                                      "http://host:0/",
                                      "http://host:65536/",
                                      "http://host:/",
                                      "http://host:8x/",
                                      "http://host:-1/",
                                      "http://[::1/",
                                      "http://[::1]9/",
                                      "http://[host]/",
                                      "http://::1/",
                                      "http://127.1/",
                                      "http://0177.0.0.1/",
                                      "http://2130706433/",
                                      "http://256.0.0.1/",
                                      "http://a..b/",
                                      "http://-a/",
                                      "http://a b/",
                                      "http://host/a b",
                                      "http://host/%4",
                                      "http://host/%zz",
                                      "http://host/#top",
                                      "http://host/\r\nX: y",
                                      "http://host/<x>",
                                      "http://h\xc3\xb6st/",
                                      "http://host\\@other/"}) {
    EXPECT_FALSE(parse_url(text)) << text;
  }
  EXPECT_FALSE(parse_url("http://host/" + std::string(3'000, 'x')));
}

TEST(Url, ARefusalDoesNotRepeatAPassword) { EXPECT_THAT(parse_url("http://user:secret@host/").error().message, testing::Not(HasSubstr("secret"))); }

TEST(Url, HttpsIsRefusedWithAWayOut) {
  const auto parsed = parse_url("https://host/x");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ErrorCode::kUnimplemented);
  EXPECT_THAT(parsed.error().message, HasSubstr("use http:// to a TLS proxy"));
}

TEST(Url, ALocationIsFollowedOnTheSameServerOnly) {
  const auto base = *parse_url("http://host:9000/reserve");
  EXPECT_EQ(follow(base, "/jobs/1?x=y")->target, "/jobs/1?x=y");
  EXPECT_EQ(follow(base, "http://HOST:9000/jobs/1")->target, "/jobs/1");
  for (const std::string_view elsewhere : {"http://other:9000/", "http://host:9001/", "http://host/"}) {
    EXPECT_EQ(follow(base, elsewhere).error().code, ErrorCode::kPermissionDenied) << elsewhere;
  }
  for (const std::string_view unusable : {"", "jobs/1", "//other/x", "../x", "https://host:9000/x", "file:///etc/passwd", "/a b"}) {
    EXPECT_FALSE(follow(base, unusable)) << unusable;
  }
}

}  // namespace
}  // namespace outrigger::http

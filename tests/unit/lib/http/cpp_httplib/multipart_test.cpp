#include "lib/http/cpp_httplib/internal/multipart.h"

#include <gtest/gtest.h>

namespace outrigger::http::cpp_httplib::internal {
namespace {

constexpr MultipartLimits kLimits{.max_parts = 2, .max_part_head_bytes = 64};

std::string part(std::string_view head, std::string_view content) {
  return std::string("--b\r\n").append(head).append("\r\n\r\n").append(content) + "\r\n";
}

std::string field(std::string_view name, std::string_view content) {
  return part(std::string("Content-Disposition: form-data; name=\"").append(name).append("\""), content);
}

int status_of(std::string_view body) {
  const auto parts = parse_multipart(body, "b", kLimits);
  return parts ? 200 : parts.error().status;
}

TEST(Multipart, ReadsNamesTypesAndContents) {
  const auto body =
      field("a", "1") + part("content-disposition: form-data; filename=\"x.txt\"; name=f\r\nContent-Type: text/x", "2\r\n--c") + "--b--\r\n";
  const auto parts = parse_multipart(body, "b", MultipartLimits{});
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->size(), 2);
  EXPECT_EQ(parts->at(0).name, "a");
  EXPECT_EQ(parts->at(0).content, "1");
  EXPECT_EQ(parts->at(1).name, "f");
  EXPECT_EQ(parts->at(1).filename, "x.txt");
  EXPECT_EQ(parts->at(1).content_type, "text/x");
  EXPECT_EQ(parts->at(1).content, "2\r\n--c");
}

TEST(Multipart, SkipsPreambleAndEpilogue) { EXPECT_EQ(status_of("hello\r\n" + field("a", "1") + "--b--\r\nbye --b\r\n"), 200); }

TEST(Multipart, ReadsAnEmptyContentWithAndWithoutALineOfItsOwn) {
  for (const std::string_view body :
       {"--b\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n--b--", "--b\r\nContent-Disposition: form-data; name=a\r\n\r\n--b--"}) {
    const auto parts = parse_multipart(body, "b", kLimits);
    ASSERT_TRUE(parts);
    EXPECT_EQ(parts->at(0).content, "");
  }
}

TEST(Multipart, UnescapesQuotesButKeepsWindowsPaths) {
  const auto body = part(R"(Content-Disposition: form-data; name="a\"b"; filename="C:\x\y")", "") + "--b--";
  const auto parts = parse_multipart(body, "b", kLimits);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->at(0).name, "a\"b");
  EXPECT_EQ(parts->at(0).filename, R"(C:\x\y)");
}

TEST(Multipart, DecodesExtendedFileNames) {
  const auto body = part("Content-Disposition: form-data; name=a; filename*=UTF-8''%c3%a9", "") + "--b--";
  const auto parts = parse_multipart(body, "b", {});
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->at(0).filename, "\xc3\xa9");
}

TEST(Multipart, RefusesWhatIsNotWholeOrNamesNothing) {
  EXPECT_EQ(status_of(""), 400);
  EXPECT_EQ(status_of("nothing"), 400);
  EXPECT_EQ(status_of(field("a", "1")), 400) << "no closing delimiter";
  EXPECT_EQ(status_of("--b\r\n\r\ncontent\r\n--b--"), 400) << "no Content-Disposition";
  EXPECT_EQ(status_of(part("Content-Disposition: form-data", "1") + "--b--"), 400) << "no name";
  EXPECT_EQ(status_of(part("Content-Disposition: attachment; name=a", "1") + "--b--"), 400);
  EXPECT_EQ(status_of(part("Content-Disposition: form-data; name=\"a", "1") + "--b--"), 400) << "open quote";
  EXPECT_EQ(status_of(part("Content-Disposition: form-data; name=a\r\nbad line", "1") + "--b--"), 400);
}

TEST(Multipart, RefusesMorePartsThanTheLimit) {
  const auto parts = parse_multipart(field("a", "1") + field("b", "2") + field("c", "3") + "--b--", "b", kLimits);
  ASSERT_FALSE(parts);
  EXPECT_EQ(parts.error().status, 413);
  EXPECT_EQ(parts.error().limit, "multipart_parts");
}

TEST(Multipart, RefusesAPartHeadAboveTheLimit) {
  const auto parts = parse_multipart(field(std::string(100, 'n'), "1") + "--b--", "b", kLimits);
  ASSERT_FALSE(parts);
  EXPECT_EQ(parts.error().limit, "multipart_part_head_bytes");
}

TEST(Multipart, FindsTheBoundaryOfAContentType) {
  EXPECT_EQ(multipart_boundary("multipart/form-data; boundary=abc"), "abc");
  EXPECT_EQ(multipart_boundary("Multipart/Form-Data; charset=utf-8; Boundary=\"a b\""), "a b");
  EXPECT_EQ(multipart_boundary("multipart/form-data"), std::nullopt);
  EXPECT_EQ(multipart_boundary("multipart/form-data; boundary="), std::nullopt);
  EXPECT_EQ(multipart_boundary("multipart/form-data; boundary=" + std::string(71, 'b')), std::nullopt);
  EXPECT_EQ(multipart_boundary("text/plain; boundary=abc"), std::nullopt);
}

}  // namespace
}  // namespace outrigger::http::cpp_httplib::internal

#include "service/routes/internal/query.h"

#include "tests/unit/service/routes/fixture.h"

namespace outrigger::routes::internal {
namespace {

TEST(Query, FindsByOrderSagaCustomerAndSku) {
  const auto saga = make_saga("p1-A", "O-1");
  for (const auto* text : {"O-1", "p1-A", "C-1", "PADDLE"}) {
    EXPECT_TRUE(matches(saga, text)) << text;
  }
  EXPECT_FALSE(matches(saga, "PADD"));
  EXPECT_FALSE(matches(make_saga("p1-A", "O-1", "not json"), "C-1"));
}

/// `count` orders, newest first, in pages; every one has the customer C-1.
ListSagas pages_of(std::size_t count) {
  return [count](const journal::ListQuery& query) -> Result<journal::ListPage> {
    const std::size_t from = query.cursor.empty() ? 0 : std::stoul(query.cursor);
    const auto to = std::min(count, from + query.limit);
    journal::ListPage page;
    for (auto i = from; i < to; ++i) {
      page.sagas.push_back(std::make_shared<saga::SagaState>(make_saga(std::format("p1-{}", i), std::format("O-{}", i))));
    }
    page.next_cursor = to < count ? std::to_string(to) : "";
    return page;
  };
}

/// No saga by its id.
Result<saga::SagaPointer> none(std::string_view) { return fail(ErrorCode::kNotFound, "none"); }

TEST(Query, FindsIdsByIndexBeyondWhatItScans) {
  const auto old = std::make_shared<saga::SagaState>(make_saga("p1-01ARZ3NDEKTSV4RRFFQ69G5FAV", "O-old"));
  const ListSagas newest = pages_of(600);
  const ListSagas list = [&](const journal::ListQuery& query) -> Result<journal::ListPage> {
    if (query.business_key.empty()) {
      return newest(query);
    }
    return query.business_key == "O-old" ? journal::ListPage{.sagas = {old}, .next_cursor = {}} : journal::ListPage{};
  };
  const GetSaga get = [&](std::string_view id) -> Result<saga::SagaPointer> { return id == old->id ? Result<saga::SagaPointer>(old) : none(id); };
  for (const auto* text : {"O-old", "p1-01ARZ3NDEKTSV4RRFFQ69G5FAV"}) {
    const auto answer = body_of(query_answer(text, {.max_query_scan = 10}, list, get));
    ASSERT_EQ(answer.at("orders").size(), 1U) << text;
    EXPECT_EQ(answer["orders"][0]["id"], old->id);
    EXPECT_EQ(answer["scanned"], 10);
  }
}

TEST(Query, ListsAnOrderOnce) { EXPECT_EQ(body_of(query_answer("O-3", {}, pages_of(10), none)).at("orders").size(), 1U) << "by index and by scan"; }

TEST(Query, FollowsPagesToTheEnd) {
  const auto answer = body_of(query_answer("O-599", {}, pages_of(600), none));
  ASSERT_EQ(answer.at("orders").size(), 1U);
  EXPECT_EQ(answer["orders"][0]["id"], "p1-599");
  EXPECT_EQ(answer["orders"][0]["customer_id"], "C-1");
  EXPECT_EQ(answer.at("complete"), true);
  EXPECT_EQ(answer.at("scanned"), 600);
}

TEST(Query, StopsAtItsBoundsAndSaysSo) {
  const auto scan = body_of(query_answer("O-599", {.max_query_scan = 300}, pages_of(600), none));
  EXPECT_TRUE(scan.at("orders").empty());
  EXPECT_EQ(scan.at("complete"), false);
  EXPECT_EQ(scan.at("scanned"), 300);
  const auto results = body_of(query_answer("C-1", {.max_query_results = 5}, pages_of(10), none));
  EXPECT_EQ(results.at("orders").size(), 5U);
  EXPECT_EQ(results.at("complete"), false);
}

TEST(Query, EscapesWhatWasAskedFor) {
  const std::string hostile = "\"},\"x\":\"\xff<script>";
  EXPECT_EQ(body_of(query_answer(hostile, {}, pages_of(1), none)).at("query"), "\"},\"x\":\"\uFFFD<script>");
}

TEST(Query, PassesErrorsOn) {
  const auto answer =
      query_answer("x", {}, [](const journal::ListQuery&) -> Result<journal::ListPage> { return fail(ErrorCode::kUnavailable, "restoring"); }, none);
  EXPECT_EQ(answer.status, 503);
}

}  // namespace
}  // namespace outrigger::routes::internal

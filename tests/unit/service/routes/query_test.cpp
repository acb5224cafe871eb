#include "service/routes/internal/query.h"

#include "tests/unit/service/routes/fixture.h"

namespace outrigger::routes::internal {
namespace {

/// An index with the orders "O-0" to "O-<count - 1>", newest first, each of the customer C-1.
ListSagas index_of(std::size_t count) {
  return [count](const journal::ListQuery& query) -> Result<journal::ListPage> {
    EXPECT_EQ(query.definition, kOrderDefinition);
    EXPECT_NE(query.business_key.empty(), query.search_term.empty()) << "never a scan";
    journal::ListPage page;
    for (std::size_t i = 0; i < count; ++i) {
      auto saga = make_saga(std::format("p1-{}", i), std::format("O-{}", i));
      if (saga.business_key != query.business_key && query.search_term != "C-1") {
        continue;
      }
      if (page.sagas.size() == query.limit) {
        page.next_cursor = "more";
        break;
      }
      page.sagas.push_back(std::make_shared<saga::SagaState>(std::move(saga)));
    }
    return page;
  };
}

/// No saga by its id.
Result<saga::SagaPointer> none(std::string_view) { return fail(ErrorCode::kNotFound, "none"); }

TEST(Query, FindsAnOrderByItsIdItsSagasIdOrATerm) {
  const auto saga = std::make_shared<saga::SagaState>(make_saga("p1-01ARZ3NDEKTSV4RRFFQ69G5FAV", "O-7"));
  const GetSaga get = [&](std::string_view id) -> Result<saga::SagaPointer> { return id == saga->id ? Result<saga::SagaPointer>(saga) : none(id); };
  EXPECT_EQ(body_of(query_answer(saga->id, {}, index_of(0), get))["orders"][0]["id"], saga->id);
  const auto by_order = body_of(query_answer("O-3", {}, index_of(10), none));
  ASSERT_EQ(by_order.at("orders").size(), 1U);
  EXPECT_EQ(by_order["orders"][0]["id"], "p1-3");
  EXPECT_EQ(by_order["orders"][0]["customer_id"], "C-1");
  EXPECT_EQ(body_of(query_answer("C-1", {}, index_of(10), none)).at("orders").size(), 10U);
  EXPECT_TRUE(body_of(query_answer("PADD", {}, index_of(10), none)).at("orders").empty());
}

TEST(Query, ListsAnOrderOnce) {
  const ListSagas both = [](const journal::ListQuery&) -> Result<journal::ListPage> {
    return journal::ListPage{.sagas = {std::make_shared<saga::SagaState>(make_saga("p1-1", "X"))}, .next_cursor = {}};
  };
  EXPECT_EQ(body_of(query_answer("X", {}, both, none)).at("orders").size(), 1U) << "its id is also its customer's";
}

TEST(Query, StopsAtItsBoundAndSaysSo) {
  const auto some = body_of(query_answer("C-1", {.max_query_results = 5}, index_of(10), none));
  EXPECT_EQ(some.at("orders").size(), 5U);
  EXPECT_EQ(some.at("complete"), false);
  EXPECT_EQ(body_of(query_answer("C-1", {.max_query_results = 10}, index_of(10), none)).at("complete"), true);
}

TEST(Query, EscapesWhatWasAskedFor) {
  const std::string hostile = "\"},\"x\":\"\xff<script>";
  EXPECT_EQ(body_of(query_answer(hostile, {}, index_of(1), none)).at("query"), "\"},\"x\":\"\uFFFD<script>");
}

TEST(Query, PassesErrorsOn) {
  const auto answer =
      query_answer("x", {}, [](const journal::ListQuery&) -> Result<journal::ListPage> { return fail(ErrorCode::kUnavailable, "restoring"); }, none);
  EXPECT_EQ(answer.status, 503);
}

}  // namespace
}  // namespace outrigger::routes::internal

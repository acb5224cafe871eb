#include "service/routes/internal/event_stream.h"

#include "tests/unit/service/routes/fixture.h"

namespace outrigger::routes::internal {
namespace {

saga::SagaState with_history(std::uint64_t from, std::uint64_t to) {
  auto saga = make_saga("p1-A", "O-1");
  for (auto i = from; i <= to; ++i) {
    saga.history.push_back({.sequence = i, .at = WallTime(std::chrono::seconds(i)), .event = "STEP_DISPATCHED", .step = "one", .detail = "a\nb"});
  }
  return saga;
}

TEST(EventsAfter, GivesEachEventItsSequenceAsIdAndOneLineOfData) {
  const auto text = events_after(with_history(1, 2), 1);
  EXPECT_EQ(
      text,
      "id: 2\ndata: {\"sequence\":2,\"at\":\"1970-01-01T00:00:02.000Z\",\"event\":\"STEP_DISPATCHED\",\"step\":\"one\",\"detail\":\"a\\nb\"}\n\n");
}

TEST(EventsAfter, IsEmptyWhenNothingIsNew) {
  EXPECT_EQ(events_after(with_history(1, 3), 3), "");
  EXPECT_EQ(events_after(with_history(1, 3), 99), "");
}

TEST(EventsAfter, SaysWhichEventsAreNoLongerKept) {
  EXPECT_TRUE(events_after(with_history(10, 12), 4).starts_with(": events 5 to 9 are no longer kept\n\nid: 10\n"));
  EXPECT_TRUE(events_after(with_history(10, 12), 9).starts_with("id: 10\n"));
}

TEST(LastEventId, ComesFromTheHeaderOrTheQuery) {
  EXPECT_EQ(last_event_id(make_request("", "", {})).value(), 0U);
  EXPECT_EQ(last_event_id(make_request("", "", {{"Last-Event-ID", "7"}})).value(), 7U);
  EXPECT_EQ(last_event_id(make_request("", "last_event_id=8", {})).value(), 8U);
  for (const auto* bad : {"x", "-1", "1.5", "7x"}) {
    EXPECT_EQ(last_event_id(make_request("", "", {{"Last-Event-ID", bad}})).error().status, 400) << bad;
  }
}

}  // namespace
}  // namespace outrigger::routes::internal

#include "lib/telemetry/trace_context.h"

#include <gtest/gtest.h>

namespace outrigger::telemetry {
namespace {

TEST(TraceContext, ReadsWhatItWrites) {
  const auto trace = new_trace();
  const auto read = parse_traceparent(trace.traceparent());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->trace_id, trace.trace_id);
  EXPECT_EQ(read->span_id, trace.span_id);
}

TEST(TraceContext, ChildKeepsTheTrace) {
  const auto trace = new_trace();
  EXPECT_EQ(trace.child().trace_id, trace.trace_id);
  EXPECT_NE(trace.child().span_id, trace.span_id);
}

TEST(TraceContext, RefusesMalformedHeaders) {
  const std::string good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  ASSERT_TRUE(parse_traceparent(good).has_value());
  for (const std::string& bad : {std::string(), good.substr(1), "ff" + good.substr(2), good + "-x", "00-" + std::string(32, '0') + good.substr(35),
                                 "00-4BF92F3577B34DA6A3CE929D0E0E4736" + good.substr(35), good.substr(0, 53) + "zz"}) {
    EXPECT_FALSE(parse_traceparent(bad).has_value()) << bad;
  }
  EXPECT_TRUE(parse_traceparent("01" + good.substr(2) + "-later").has_value());
}

}  // namespace
}  // namespace outrigger::telemetry

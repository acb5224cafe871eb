#include <gtest/gtest.h>

#include "lib/kafka/admin.h"
#include "lib/kafka/consumer.h"
#include "lib/kafka/producer.h"
#include "lib/kafka/transactional_producer.h"

namespace outrigger::kafka {
namespace {

TEST(Client, NamesThePropertyThatIsWrong) {
  const auto producer = Producer::create({.bootstrap = "127.0.0.1:1", .client_id = "test", .extra = {{"linger.hours", "1"}}});
  ASSERT_FALSE(producer);
  EXPECT_EQ(producer.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(producer.error().message.find("linger.hours"), std::string::npos) << producer.error().message;
}

TEST(Client, SaysSoWhenNobodyAnswers) {
  // Port 1 of the loopback is refused at once; the wait is the caller's.
  const auto admin = Admin::create({.bootstrap = "127.0.0.1:1", .client_id = "test", .extra = {}});
  ASSERT_TRUE(admin);
  const auto id = (*admin)->cluster_id(std::chrono::milliseconds{200});
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().code, ErrorCode::kDeadlineExceeded);
}

TEST(Client, ATransactionNeedsABrokerToBegin) {
  const auto producer = TransactionalProducer::open({.client = {.bootstrap = "127.0.0.1:1", .client_id = "test", .extra = {}},
                                                     .transactional_id = "t",
                                                     .transaction_timeout = std::chrono::milliseconds{1000}});
  ASSERT_FALSE(producer);
  EXPECT_EQ(producer.error().code, ErrorCode::kUnavailable);
}

TEST(ReceivedRecord, TheLastHeaderOfANameCounts) {
  ReceivedRecord record;
  record.headers = {{"a", "1"}, {"b", "2"}, {"a", "3"}};
  EXPECT_EQ(record.header("a"), "3");
  EXPECT_EQ(record.header("c"), std::nullopt);
}

}  // namespace
}  // namespace outrigger::kafka

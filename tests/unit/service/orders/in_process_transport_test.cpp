#include "service/orders/in_process_transport.h"

#include "service/orders/metrics.h"
#include "tests/support/replies.h"
#include "tests/unit/service/orders/fixture.h"

namespace outrigger::orders {
namespace {

using namespace std::chrono_literals;
using participant::Direction;
using participant::Outcome;
using participant::Reply;
using saga::Replies;

class TransportTest : public FolderTest {
 protected:
  std::unique_ptr<InProcessTransport> make(InProcessTransport::Settings settings = {}, Misbehaviour misbehaviour = {}) {
    std::vector<std::unique_ptr<Participant>> participants;
    for (const auto kind : kParticipantKinds) {
      participants.push_back(Participant::open(kind, {.folder = folder_, .misbehaviour = misbehaviour}, small_catalogue(), registry_).value());
    }
    return std::make_unique<InProcessTransport>(settings, std::move(participants), registry_);
  }
  static participant::Command command(ParticipantKind kind, std::string saga) {
    return make_command(kind, std::move(saga), Direction::kDo, make_order(R"([{"sku":"PADDLE","quantity":1,"unit_price_cents":1}])"));
  }

  telemetry::Registry registry_;
};

TEST_F(TransportTest, EveryParticipantAnswersItsCommands) {
  Replies replies;
  const auto transport = make();
  transport->start(replies);
  for (const auto kind : kParticipantKinds) {
    EXPECT_TRUE(transport->offer(command(kind, "s1")));
  }
  for (const auto& reply : replies.wait_for(3)) {
    EXPECT_EQ(reply.outcome, Outcome::kSuccess);
  }
}

TEST_F(TransportTest, WhatWasQueuedBeforeTheStartIsAnswered) {
  Replies replies;
  const auto transport = make({.queue_capacity = 100, .batch_limit = 3});
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(transport->offer(command(ParticipantKind::kLogistics, std::format("s{}", i))));
  }
  transport->start(replies);
  EXPECT_EQ(replies.wait_for(8).size(), 8U);
}

TEST_F(TransportTest, AFullQueueSaysSoAndCounts) {
  const auto transport = make({.queue_capacity = 2, .batch_limit = 1});
  EXPECT_TRUE(transport->offer(command(ParticipantKind::kInventory, "s1")));
  EXPECT_TRUE(transport->offer(command(ParticipantKind::kInventory, "s2")));
  EXPECT_FALSE(transport->offer(command(ParticipantKind::kInventory, "s3")));
  EXPECT_TRUE(transport->offer(command(ParticipantKind::kLogistics, "s3"))) << "each participant has its own queue";
  EXPECT_EQ(registry_.counter(metrics::kQueueFull, {{"participant", "inventory"}}).value(), 1U);
}

TEST_F(TransportTest, AnUnknownDestinationFindsNoRoom) {
  const auto transport = make();
  auto stray = command(ParticipantKind::kInventory, "s1");
  stray.destination = "cmd.nobody";
  EXPECT_FALSE(transport->offer(stray));
  EXPECT_FALSE(transport->serves("cmd.nobody"));
  EXPECT_TRUE(transport->serves("cmd.invoicing"));
}

TEST_F(TransportTest, AReplyThatFindsNoRoomIsOfferedAgain) {
  Replies replies(3);
  const auto transport = make();
  transport->start(replies);
  EXPECT_TRUE(transport->offer(command(ParticipantKind::kInventory, "s1")));
  EXPECT_EQ(replies.wait_for(1).at(0).outcome, Outcome::kSuccess);
}

TEST_F(TransportTest, StopsAtOnceInTheMiddleOfConfiguredSlowness) {
  Replies replies;
  const auto transport = make({}, {.latency = 1h});
  transport->start(replies);
  EXPECT_TRUE(transport->offer(command(ParticipantKind::kInventory, "s1")));
  transport->stop();
  transport->stop();
}

}  // namespace
}  // namespace outrigger::orders

#include "tests/conformance/journal_conformance.h"

#include "lib/kafka/message_codec.h"
#include "lib/kafka/producer.h"
#include "service/journal/kafka/kafka_journal.h"
#include "tests/integration/kafka/cluster.h"
#include "tests/support/temporary_folder.h"

namespace outrigger::testing {
namespace {

/// Processes of one instance name and a cache each, as a Pod that is replaced: the newer one takes all partitions at once, and
/// only the generation's companions, member and instance id, tell the older one apart.
class KafkaHarness final : public JournalHarness {
 public:
  KafkaHarness() { EXPECT_TRUE(contracts_.add_embedded(kafka::protocol_schemas())); }

  [[nodiscard]] Result<std::unique_ptr<journal::Journal>> open() override {
    metrics_.push_back(std::make_unique<telemetry::Registry>());
    return journal::open_kafka_journal({.client = kafka_client(),
                                        .topics = {.generation = generation_, .partitions = 4, .command_topics = {}},
                                        .create_topics = true,
                                        .instance = "one",
                                        .cache_folder = folder_.path() / std::to_string(metrics_.size()),
                                        .contract_package = {},
                                        .on_fatal = {}},
                                       contracts_, *metrics_.back());
  }

  [[nodiscard]] bool send_input(const participant::Reply& reply) override {
    const participant::Command command{.saga_id = reply.saga_id,
                                       .partition = reply.partition,
                                       .step = reply.step,
                                       .type = "Do",
                                       .destination = {},
                                       .payload = {},
                                       .deadline = {},
                                       .traceparent = {}};
    const auto record = kafka::MessageCodec(contracts_, {}).encode(reply, command, journal::TopicNames::of(generation_).inbox);
    auto producer = kafka::Producer::create(kafka_client());
    return record && producer && (*producer)->send(std::vector{*record}, std::chrono::milliseconds{20'000}).has_value();
  }

  [[nodiscard]] std::chrono::seconds patience() const override { return std::chrono::seconds{60}; }

 private:
  contracts::SchemaRegistry contracts_;
  std::string generation_ = unique_name("c");
  TemporaryFolder folder_;
  std::vector<std::unique_ptr<telemetry::Registry>> metrics_;
};

INSTANTIATE_TEST_SUITE_P(Kafka, JournalConformance, ::testing::Values(HarnessFactory{"Kafka", [] { return std::make_unique<KafkaHarness>(); }}),
                         harness_name);

}  // namespace
}  // namespace outrigger::testing

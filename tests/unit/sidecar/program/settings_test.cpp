#include "sidecar/program/settings.h"

#include <gtest/gtest.h>

#include <vector>

#include "lib/runtime/lifecycle.h"

namespace outrigger::sidecar {
namespace {

TEST(Endpoint, ReadsAddressAndPort) {
  EXPECT_EQ(parse_endpoint("127.0.0.1:8000")->address, "127.0.0.1");
  EXPECT_EQ(parse_endpoint("127.0.0.1:8000")->port, 8000);
  EXPECT_EQ(parse_endpoint("[::1]:65535")->address, "::1");
  EXPECT_EQ(parse_endpoint("localhost:80")->address, "127.0.0.1");
}

TEST(Endpoint, RefusesWhatCannotBeConnectedTo) {
  for (const char* wrong : {"", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:80x", "http://127.0.0.1:80", "::1:80",
                            "[127.0.0.1]:80", "app:80"}) {
    EXPECT_FALSE(parse_endpoint(wrong)) << wrong;
  }
}

TEST(SidecarSettings, FlagsFillThem) {
  SidecarSettings settings;
  const std::vector<const char*> arguments{"outrigger-sidecar", "--upstream", "127.0.0.1:9000", "--faults-enabled", "--max-fault-ttl", "30s"};
  EXPECT_EQ(read_settings(settings, static_cast<int>(arguments.size()), arguments.data()), std::nullopt);
  EXPECT_EQ(settings.upstream, "127.0.0.1:9000");
  EXPECT_TRUE(settings.faults_enabled);
  EXPECT_EQ(settings.max_fault_ttl, std::chrono::seconds{30});
}

TEST(SidecarSettings, AnUpstreamThatIsNoneIsABadConfiguration) {
  SidecarSettings settings;
  const std::vector<const char*> arguments{"outrigger-sidecar", "--upstream", "app"};
  EXPECT_EQ(read_settings(settings, static_cast<int>(arguments.size()), arguments.data()), exit_code::kBadConfiguration);
}

}  // namespace
}  // namespace outrigger::sidecar

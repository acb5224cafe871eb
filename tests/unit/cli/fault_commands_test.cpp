#include "cli/fault_commands.h"

#include <filesystem>
#include <mutex>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"
#include "sidecar/admin/admin_server.h"
#include "sidecar/fault/engine.h"

namespace outrigger::cli {
namespace {

using Json = nlohmann::ordered_json;

/// The commands against a real admin server on a socket of the test's own.
class FaultCommandsTest : public testing::Test {
 protected:
  FaultCommandsTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fault-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    socket_ = "unix://" + (folder_ / "admin.sock").string();
  }
  ~FaultCommandsTest() override { std::filesystem::remove_all(folder_); }

  void start(bool is_enabled = true) {
    fault::Settings settings;
    settings.is_enabled = is_enabled;
    engine_ = std::make_unique<fault::Engine>(settings, registry_);
    server_ = std::make_unique<admin::AdminServer>(admin::AdminSettings{.socket = folder_ / "admin.sock"}, *engine_, registry_,
                                                   [this](const admin::AuditEntry& entry) {
                                                     const std::lock_guard lock(mutex_);
                                                     last_audit_ = entry;
                                                   });
    const auto started = server_->start();
    ASSERT_TRUE(started) << started.error().to_string();
  }

  admin::AuditEntry last_audit() {
    const std::lock_guard lock(mutex_);
    return last_audit_;
  }

  int run(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), {"outrigger", "fault"});
    arguments.insert(arguments.end(), {"--admin", socket_.c_str()});
    out_.str("");
    error_.str("");
    CommandLine command_line({in_, out_, error_});
    add_fault_commands(command_line);
    return command_line.run(static_cast<int>(arguments.size()), arguments.data());
  }

  std::filesystem::path folder_;
  std::string socket_;
  telemetry::Registry registry_;
  std::mutex mutex_;
  admin::AuditEntry last_audit_;
  std::unique_ptr<fault::Engine> engine_;
  std::unique_ptr<admin::AdminServer> server_;
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream error_;
};

TEST_F(FaultCommandsTest, AppliesAFile) {
  start();
  in_.str("id: slow\nttl: 1m\nmatch: {http: {pathPrefix: /v1}}\naction: {delay: {fixed: 300ms}}\n");
  EXPECT_EQ(run({"apply", "-"}), 0) << error_.str();
  EXPECT_TRUE(out_.str().contains("delay 300ms")) << out_.str();
  EXPECT_EQ(engine_->list().size(), 1U);
}

TEST_F(FaultCommandsTest, AppliesWhatTheFlagsSay) {
  start();
  EXPECT_EQ(
      run({"apply",         "--id",       "slow",     "--ttl",       "1m",        "--delay", "300ms",  "--jitter", "50ms",     "--method", "POST",
           "--path-prefix", "/v1/orders", "--header", "X-Canary: 1", "--percent", "12.5",    "--seed", "7",        "--reason", "drill"}),
      0)
      << error_.str();
  const auto specification = engine_->get("slow").value().specification;
  EXPECT_EQ(specification.ttl, std::chrono::minutes{1});
  EXPECT_EQ(std::get<fault::Delay>(specification.action), (fault::Delay{std::chrono::milliseconds{300}, std::chrono::milliseconds{50}}));
  EXPECT_EQ(specification.match.method, http::Method::kPost);
  EXPECT_EQ(specification.match.path_prefix, "/v1/orders");
  EXPECT_EQ(specification.match.headers, (std::vector<std::pair<std::string, std::string>>{{"x-canary", "1"}}));
  EXPECT_EQ(specification.trigger, (fault::Trigger{.percent_ppm = 125'000, .seed = 7}));
  EXPECT_EQ(last_audit().reason, "drill");
  EXPECT_TRUE(last_audit().actor.contains('@')) << last_audit().actor;
}

TEST_F(FaultCommandsTest, ValidateOnlyArmsNothing) {
  start();
  EXPECT_EQ(run({"apply", "--id", "slow", "--ttl", "1m", "--abort", "503", "--validate-only"}), 0) << error_.str();
  EXPECT_TRUE(engine_->list().empty());
}

TEST_F(FaultCommandsTest, PassesOnWhatTheSidecarRefuses) {
  start();
  EXPECT_EQ(run({"apply", "--id", "slow", "--ttl", "1h", "--abort", "503"}), 2);
  EXPECT_TRUE(error_.str().contains("fault.ttl: 1h is longer than this sidecar allows: at most 10m")) << error_.str();
  EXPECT_EQ(run({"apply", "--id", "slow", "--ttl", "1m", "--abort", "503"}), 0);
  EXPECT_EQ(run({"apply", "--id", "slow", "--ttl", "1m", "--abort", "500"}), 1);
  EXPECT_TRUE(error_.str().contains("another specification")) << error_.str();
}

TEST_F(FaultCommandsTest, SaysWhatToDoWhereFaultsAreOff) {
  start(false);
  EXPECT_EQ(run({"apply", "--id", "slow", "--ttl", "1m", "--abort", "503"}), 1);
  EXPECT_TRUE(error_.str().contains("--faults-enabled")) << error_.str();
}

TEST_F(FaultCommandsTest, ListsWithHits) {
  start();
  EXPECT_EQ(run({"list", "--output", "json"}), 0);
  EXPECT_EQ(Json::parse(out_.str()), (Json{{"faults", Json::array()}}));
  ASSERT_EQ(run({"apply", "--id", "broken", "--ttl", "1m", "--abort", "503"}), 0);
  http::Request request;
  request.path = "/v1/orders";
  ASSERT_FALSE(engine_->decide(request).is_none());
  EXPECT_EQ(run({"list", "--output", "json"}), 0);
  EXPECT_EQ(Json::parse(out_.str()).at("faults").at(0).at("hits"), 1);
}

TEST_F(FaultCommandsTest, AppliesWhatItListed) {
  start();
  for (const char* id : {"one", "two"}) {
    ASSERT_EQ(run({"apply", "--id", id, "--ttl", "1m", "--abort", "503", "--path-prefix", "/v1"}), 0);
  }
  ASSERT_EQ(run({"list", "--output", "yaml"}), 0);
  in_.str(out_.str());
  ASSERT_EQ(run({"delete", "--all"}), 0);
  EXPECT_EQ(run({"apply", "-"}), 0) << error_.str();
  EXPECT_EQ(engine_->list().size(), 2U);
}

TEST_F(FaultCommandsTest, DeletesByIdOrAll) {
  start();
  for (const char* id : {"one", "two", "three"}) {
    ASSERT_EQ(run({"apply", "--id", id, "--ttl", "1m", "--abort", "503"}), 0);
  }
  EXPECT_EQ(run({"delete", "one", "--reason", "enough"}), 0) << error_.str();
  EXPECT_EQ(last_audit().reason, "enough");
  EXPECT_EQ(run({"delete", "one"}), 1);
  EXPECT_TRUE(error_.str().contains("no armed fault")) << error_.str();
  EXPECT_EQ(run({"delete"}), 2);
  EXPECT_EQ(run({"delete", "--all"}), 0) << error_.str();
  EXPECT_TRUE(engine_->list().empty());
}

TEST_F(FaultCommandsTest, NeedsAFileOrAWholeFault) {
  EXPECT_EQ(run({"apply"}), 2);
  EXPECT_EQ(run({"apply", "--id", "x", "--ttl", "1m"}), 2);
  EXPECT_EQ(run({"apply", "--id", "x", "--ttl", "1m", "--delay", "1s", "--abort", "503"}), 2);
  EXPECT_EQ(run({"apply", "missing.yaml"}), 2);
  EXPECT_EQ(run({"apply", "-", "--id", "x"}), 2);
  EXPECT_EQ(run({"apply", "--id", "x", "--ttl", "60", "--delay", "1s"}), 2);
  EXPECT_TRUE(error_.str().contains("--ttl")) << error_.str();
}

TEST_F(FaultCommandsTest, ASidecarThatIsNotThereIsCode69WithWhatToDo) {
  EXPECT_EQ(run({"list"}), 69);
  EXPECT_TRUE(error_.str().contains("OUTRIGGER_ADMIN")) << error_.str();
}

}  // namespace
}  // namespace outrigger::cli

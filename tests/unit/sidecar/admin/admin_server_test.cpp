#include "sidecar/admin/admin_server.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <vector>

#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include "grpc/health/v1/health.grpc.pb.h"
#include "lib/telemetry/exposition.h"
#include "outrigger/sidecar/admin/v1/fault.grpc.pb.h"

namespace outrigger::admin {
namespace {

namespace api = ::outrigger::sidecar::admin::v1;
using std::chrono::seconds;

class AdminServerTest : public testing::Test {
 protected:
  AdminServerTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "admin-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    socket_ = folder_ / "admin.sock";
  }
  ~AdminServerTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<AdminServer> make_server() {
    return std::make_unique<AdminServer>(AdminSettings{.socket = socket_}, engine_, registry_, [this](const AuditEntry& entry) {
      const std::lock_guard lock(mutex_);
      audit_.push_back(entry);
    });
  }

  std::unique_ptr<AdminServer> started_server() {
    auto server = make_server();
    const auto started = server->start();
    EXPECT_TRUE(started) << started.error().to_string();
    return server;
  }

  std::shared_ptr<grpc::Channel> channel() { return grpc::CreateChannel("unix:" + socket_.string(), grpc::InsecureChannelCredentials()); }

  std::unique_ptr<api::FaultService::Stub> stub() { return api::FaultService::NewStub(channel()); }

  static void expect_soon(grpc::ClientContext& context) { context.set_deadline(std::chrono::system_clock::now() + seconds{10}); }

  static api::Fault slow_orders() {
    api::Fault fault;
    fault.set_id("slow-orders");
    fault.set_reason("drill 7");
    fault.mutable_ttl()->set_seconds(30);
    fault.mutable_match()->mutable_http()->set_method("POST");
    fault.mutable_match()->mutable_http()->set_path_prefix("/v1/orders");
    (*fault.mutable_match()->mutable_http()->mutable_headers())["X-Canary"] = "1";
    fault.mutable_delay()->mutable_fixed()->set_nanos(300'000'000);
    return fault;
  }

  grpc::Status create(const api::Fault& fault, api::Fault* created = nullptr, bool validate_only = false) {
    grpc::ClientContext context;
    expect_soon(context);
    context.AddMetadata("outrigger-actor", "alice@laptop");
    api::CreateFaultRequest request;
    *request.mutable_fault() = fault;
    request.set_validate_only(validate_only);
    api::Fault answer;
    return stub()->CreateFault(&context, request, created != nullptr ? created : &answer);
  }

  std::vector<std::string> listed() {
    grpc::ClientContext context;
    expect_soon(context);
    api::ListFaultsResponse response;
    EXPECT_TRUE(stub()->ListFaults(&context, {}, &response).ok());
    std::vector<std::string> ids;
    for (const auto& fault : response.faults()) {
      ids.push_back(fault.id());
    }
    return ids;
  }

  std::vector<AuditEntry> audit() {
    const std::lock_guard lock(mutex_);
    return audit_;
  }

  static fault::Settings enabled() {
    fault::Settings settings;
    settings.is_enabled = true;
    return settings;
  }

  std::filesystem::path folder_;
  std::filesystem::path socket_;
  std::mutex mutex_;
  std::vector<AuditEntry> audit_;
  telemetry::Registry registry_;
  fault::Engine engine_{enabled(), registry_};
};

TEST_F(AdminServerTest, CreatesListsGetsAndDeletes) {
  const auto server = started_server();
  api::Fault created;
  const auto status = create(slow_orders(), &created);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(created.id(), "slow-orders");
  EXPECT_EQ(created.trigger().percent_ppm(), 1'000'000U);
  EXPECT_EQ(created.expire_time().seconds() - created.create_time().seconds(), 30);
  EXPECT_EQ(created.match().http().headers().at("x-canary"), "1");
  EXPECT_EQ(listed(), std::vector<std::string>{"slow-orders"});

  http::Request request;
  request.method = http::Method::kPost;
  request.path = "/v1/orders";
  request.headers = {{"x-canary", "1"}};
  EXPECT_EQ(engine_.decide(request).delay, std::chrono::milliseconds{300});

  grpc::ClientContext get_context;
  expect_soon(get_context);
  api::GetFaultRequest get;
  get.set_id("slow-orders");
  api::Fault seen;
  ASSERT_TRUE(stub()->GetFault(&get_context, get, &seen).ok());
  EXPECT_EQ(seen.hits(), 1U);

  grpc::ClientContext delete_context;
  expect_soon(delete_context);
  api::DeleteFaultRequest remove;
  remove.set_id("slow-orders");
  remove.set_reason("seen enough");
  api::Fault last;
  ASSERT_TRUE(stub()->DeleteFault(&delete_context, remove, &last).ok());
  EXPECT_EQ(last.hits(), 1U);
  EXPECT_TRUE(listed().empty());

  grpc::ClientContext again_context;
  expect_soon(again_context);
  EXPECT_EQ(stub()->DeleteFault(&again_context, remove, &last).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(AdminServerTest, CreateIsIdempotentByIdAndSpecification) {
  const auto server = started_server();
  api::Fault first, second;
  ASSERT_TRUE(create(slow_orders(), &first).ok());
  ASSERT_TRUE(create(slow_orders(), &second).ok());
  EXPECT_EQ(first.SerializeAsString(), second.SerializeAsString());
  EXPECT_EQ(listed().size(), 1U);

  auto other = slow_orders();
  other.mutable_delay()->mutable_fixed()->set_nanos(400'000'000);
  EXPECT_EQ(create(other).error_code(), grpc::StatusCode::ALREADY_EXISTS);
}

TEST_F(AdminServerTest, ValidateOnlyChecksAndArmsNothing) {
  const auto server = started_server();
  EXPECT_TRUE(create(slow_orders(), nullptr, true).ok());
  EXPECT_TRUE(listed().empty());
  EXPECT_TRUE(audit().empty());
}

TEST_F(AdminServerTest, NamesTheFieldThatIsWrong) {
  const auto server = started_server();
  const auto message_for = [&](auto change) {
    auto fault = slow_orders();
    change(fault);
    const auto status = create(fault);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    return status.error_message().substr(0, status.error_message().find(": "));
  };
  EXPECT_EQ(message_for([](auto& f) { f.clear_id(); }), "fault.id");
  EXPECT_EQ(message_for([](auto& f) { f.clear_ttl(); }), "fault.ttl");
  EXPECT_EQ(message_for([](auto& f) { f.mutable_ttl()->set_seconds(601); }), "fault.ttl");
  EXPECT_EQ(message_for([](auto& f) { f.mutable_ttl()->set_seconds(std::numeric_limits<std::int64_t>::max()); }), "fault.ttl");
  EXPECT_EQ(message_for([](auto& f) { f.mutable_ttl()->set_nanos(-1); }), "fault.ttl");
  EXPECT_EQ(message_for([](auto& f) { f.clear_match(); }), "fault.match");
  EXPECT_EQ(message_for([](auto& f) { f.mutable_match()->mutable_http()->set_method("post"); }), "fault.match.http.method");
  EXPECT_EQ(message_for([](auto& f) { (*f.mutable_match()->mutable_http()->mutable_headers())["x-canary"] = "2"; }), "fault.match.http.headers");
  EXPECT_EQ(message_for([](auto& f) { f.mutable_trigger()->set_percent_ppm(1'000'001); }), "fault.trigger.percent_ppm");
  EXPECT_EQ(message_for([](auto& f) { f.clear_action(); }), "fault.action");
  EXPECT_EQ(message_for([](auto& f) { f.mutable_abort()->set_status(4'294'967'295U); }), "fault.abort.status");
  EXPECT_TRUE(listed().empty());
}

TEST_F(AdminServerTest, AuditsEveryChangeAndEveryRefusal) {
  const auto server = started_server();
  ASSERT_TRUE(create(slow_orders()).ok());
  auto wrong = slow_orders();
  wrong.clear_ttl();
  ASSERT_FALSE(create(wrong).ok());
  const auto entries = audit();
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].action, "fault.create");
  EXPECT_EQ(entries[0].subject, "slow-orders");
  EXPECT_EQ(entries[0].actor, "alice@laptop");
  EXPECT_TRUE(entries[0].peer.starts_with("unix:")) << entries[0].peer;
  EXPECT_EQ(entries[0].reason, "drill 7");
  EXPECT_EQ(entries[0].outcome, "ok");
  EXPECT_EQ(entries[1].outcome, "invalid_argument");
}

TEST_F(AdminServerTest, RefusesFaultsUnlessTheyAreEnabled) {
  telemetry::Registry registry;
  fault::Engine disabled(fault::Settings{}, registry);
  AdminServer server({.socket = socket_}, disabled, registry);
  ASSERT_TRUE(server.start());
  const auto status = create(slow_orders());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(status.error_message().contains("--faults-enabled")) << status.error_message();
}

TEST_F(AdminServerTest, CountsCallsByOutcome) {
  const auto server = started_server();
  ASSERT_TRUE(create(slow_orders()).ok());
  const auto text = telemetry::serialize(registry_.Collect(), telemetry::ExpositionFormat::kPrometheusText);
  EXPECT_TRUE(text.contains("outrigger_sidecar_admin_requests_total{method=\"CreateFault\",code=\"ok\"} 1\n")) << text;
}

TEST_F(AdminServerTest, RefusesAMessageBeyondItsBound) {
  const auto server = started_server();
  auto fault = slow_orders();
  fault.set_reason(std::string(100'000, 'x'));
  EXPECT_EQ(create(fault).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

grpc::health::v1::HealthCheckResponse::ServingStatus health(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + seconds{10});
  grpc::health::v1::HealthCheckRequest request;
  request.set_service("outrigger.sidecar.admin.v1.FaultService");
  grpc::health::v1::HealthCheckResponse response;
  const auto status = grpc::health::v1::Health::NewStub(channel)->Check(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.status();
}

TEST_F(AdminServerTest, HealthFollowsTheDrain) {
  const auto server = started_server();
  EXPECT_EQ(health(channel()), grpc::health::v1::HealthCheckResponse::SERVING);
  server->begin_drain();
  EXPECT_EQ(health(channel()), grpc::health::v1::HealthCheckResponse::NOT_SERVING);
}

TEST_F(AdminServerTest, OnlyTheOwnerMayOpenTheSocket) {
  const auto server = started_server();
  struct stat status{};
  ASSERT_EQ(stat(socket_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(AdminServerTest, TakesOverTheSocketOfADeadProcess) {
  {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket_.string().copy(address.sun_path, sizeof address.sun_path - 1);
    const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(bind(dead, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    close(dead);  // the file stays, nobody listens: what SIGKILL leaves
  }
  ASSERT_TRUE(std::filesystem::exists(socket_));
  const auto server = started_server();
  EXPECT_TRUE(create(slow_orders()).ok());
}

TEST_F(AdminServerTest, LeavesTheSocketOfALivingProcessAlone) {
  const auto first = started_server();
  const auto second = make_server();
  const auto started = second->start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(create(slow_orders()).ok());
}

TEST_F(AdminServerTest, LeavesTheSocketOfAnotherProgramAlone) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_.string().copy(address.sun_path, sizeof address.sun_path - 1);
  const int alive = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(alive, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(alive, 1), 0);
  EXPECT_EQ(make_server()->start().error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(std::filesystem::exists(socket_));
  close(alive);
}

TEST_F(AdminServerTest, LeavesAFileThatIsNoSocketAlone) {
  std::ofstream(socket_) << "precious";
  EXPECT_EQ(make_server()->start().error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(std::filesystem::file_size(socket_), 8U);
}

TEST_F(AdminServerTest, ExplainsAPathItCannotUse) {
  socket_ = folder_ / "missing" / "admin.sock";
  EXPECT_EQ(make_server()->start().error().code, ErrorCode::kUnavailable);
  socket_ = folder_ / std::string(200, 'x');
  EXPECT_EQ(make_server()->start().error().code, ErrorCode::kInvalidArgument);
}

TEST_F(AdminServerTest, CanBeStartedAgainAfterItStopped) {
  {
    const auto server = started_server();
    server->stop(seconds{1});
    EXPECT_FALSE(std::filesystem::exists(socket_));
  }
  const auto server = started_server();
  EXPECT_TRUE(create(slow_orders()).ok());
}

}  // namespace
}  // namespace outrigger::admin

#include "cli/saga_commands.h"

#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <httplib.h>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"

namespace outrigger::cli {
namespace {

using Json = nlohmann::ordered_json;

Json saga(std::string status, int version, int events) {
  Json history = Json::array();
  for (int i = 0; i < events; ++i) {
    history.push_back(
        {{"at", "2026-01-01T00:00:00.000Z"}, {"event", "event-" + std::to_string(i)}, {"step", "reserve-inventory"}, {"detail", nullptr}});
  }
  return {
      {"id", "S1"},
      {"definition", "order-fulfilment"},
      {"definition_version", 1},
      {"status", status},
      {"version", version},
      {"business_key", "o-1"},
      {"created_at", "2026-01-01T00:00:00.000Z"},
      {"steps", {{{"name", "reserve-inventory"}, {"status", "SUCCEEDED"}, {"attempt", 1}, {"output", {{"reservation", "r-1"}}}, {"error", nullptr}}}},
      {"history", history}};
}

/// The commands against a real HTTP server whose answers the test chooses.
class SagaCommandsTest : public testing::Test {
 protected:
  SagaCommandsTest() {
    server_.Post("/v1/orders", [this](const httplib::Request& request, httplib::Response& response) {
      keep(request);
      response.status = 202;
      response.set_content(saga("RUNNING", 1, 1).dump(), "application/json");
    });
    server_.Post("/v1/sagas/transfer", [this](const httplib::Request& request, httplib::Response& response) {
      keep(request);
      response.set_content(saga("COMPLETED", 1, 1).dump(), "application/json");
    });
    server_.Get("/v1/sagas", [this](const httplib::Request& request, httplib::Response& response) {
      keep(request);
      response.set_content(Json{{"sagas", {saga("STUCK", 4, 4)}}, {"next_cursor", "c2"}}.dump(), "application/json");
    });
    server_.Get("/v1/sagas/S1", [this](const httplib::Request& request, httplib::Response& response) {
      keep(request);
      const auto asked = request.has_param("after_version") ? std::stoi(request.get_param_value("after_version")) : 0;
      response.set_content(saga(asked >= 2 ? final_status_ : "RUNNING", asked + 1, asked + 1).dump(), "application/json");
    });
    server_.Post("/v1/sagas/S1:retry", [this](const httplib::Request& request, httplib::Response& response) {
      keep(request);
      response.set_content(saga("COMPENSATING", 5, 5).dump(), "application/json");
    });
    server_.Post("/v1/sagas/S1:skip", [](const httplib::Request&, httplib::Response& response) {
      response.status = 409;
      response.set_content(R"({"title":"Not possible in this state","status":409,"detail":"no step is stuck"})", "application/problem+json");
    });
    server_.set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (!response.body.empty()) {
        return;
      }
      response.set_content(R"({"title":"Not Found","status":404,"detail":"no saga has the id S9"})", "application/problem+json");
    });
    const int port = server_.bind_to_any_port("127.0.0.1");
    url_ = "http://127.0.0.1:" + std::to_string(port);
    thread_ = std::jthread([this] { server_.listen_after_bind(); });
    server_.wait_until_ready();
  }
  ~SagaCommandsTest() override { server_.stop(); }

  void keep(const httplib::Request& request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
  }

  int run(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), {"outrigger", "saga"});
    arguments.insert(arguments.end(), {"--url", url_.c_str()});
    CommandLine command_line({in_, out_, error_});
    add_saga_commands(command_line);
    return command_line.run(static_cast<int>(arguments.size()), arguments.data());
  }

  httplib::Server server_;
  std::string final_status_ = "COMPLETED";
  std::string url_;
  std::mutex mutex_;
  std::vector<httplib::Request> requests_;
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream error_;
  std::jthread thread_;
};

TEST_F(SagaCommandsTest, StartSendsTheObjectWithItsKey) {
  in_.str(R"({"order_id":"o-1"})");
  EXPECT_EQ(run({"start", "--idempotency-key", "k-1"}), 0) << error_.str();
  ASSERT_EQ(requests_.size(), 1U);
  EXPECT_EQ(requests_[0].get_header_value("Idempotency-Key"), "k-1");
  EXPECT_EQ(requests_[0].body, R"({"order_id":"o-1"})");
  EXPECT_TRUE(out_.str().contains("S1")) << out_.str();
}

TEST_F(SagaCommandsTest, StartNamesTheDefinitionAndWaits) {
  in_.str("{}");
  EXPECT_EQ(run({"start", "--definition", "transfer", "--business-key", "t 1", "--wait", "5s"}), 0) << error_.str();
  EXPECT_EQ(requests_.at(0).target, "/v1/sagas/transfer?business_key=t%201&wait=5s");
}

TEST_F(SagaCommandsTest, StartFailsWhenItDidNotEndAsExpected) {
  in_.str("{}");
  EXPECT_EQ(run({"start", "--wait", "5s", "--expect", "COMPENSATED"}), 1);
  EXPECT_TRUE(error_.str().contains("expected COMPENSATED")) << error_.str();
  EXPECT_TRUE(out_.str().contains("S1")) << out_.str();
}

TEST_F(SagaCommandsTest, StartMakesAKeyAndPrintsIt) {
  in_.str("{}");
  EXPECT_EQ(run({"start", "-", "--output", "json"}), 0) << error_.str();
  const auto key = Json::parse(out_.str()).at("idempotency_key").get<std::string>();
  EXPECT_EQ(key.size(), 26U);
  EXPECT_EQ(requests_.at(0).get_header_value("Idempotency-Key"), key);
}

TEST_F(SagaCommandsTest, StartSaysWhereTheJsonBreaks) {
  in_.str("{\n  \"order_id\" \"o-1\"}");
  EXPECT_EQ(run({"start"}), 2);
  EXPECT_TRUE(error_.str().starts_with("error: standard input:2:")) << error_.str();
  EXPECT_TRUE(requests_.empty());
}

TEST_F(SagaCommandsTest, GetShowsStepsAndTimeline) {
  EXPECT_EQ(run({"get", "S1"}), 0) << error_.str();
  EXPECT_TRUE(out_.str().contains("reserve-inventory  SUCCEEDED  1        {\"reservation\":\"r-1\"}")) << out_.str();
  EXPECT_TRUE(out_.str().contains("event-0")) << out_.str();
}

TEST_F(SagaCommandsTest, GetPassesOnWhatTheServiceSays) {
  EXPECT_EQ(run({"get", "S9"}), 1);
  EXPECT_TRUE(error_.str().contains("no saga has the id S9")) << error_.str();
}

TEST_F(SagaCommandsTest, AnIdIsOnePathSegment) {
  EXPECT_EQ(run({"get", "../../S1?x"}), 1);
  EXPECT_TRUE(requests_.empty());
}

TEST_F(SagaCommandsTest, ListFiltersAndTellsHowToGoOn) {
  EXPECT_EQ(run({"list", "--status", "STUCK", "--business-key", "a&b", "--limit", "1"}), 0) << error_.str();
  EXPECT_EQ(requests_.at(0).get_param_value("status"), "STUCK");
  EXPECT_EQ(requests_.at(0).get_param_value("business_key"), "a&b");
  EXPECT_EQ(requests_.at(0).get_param_value("limit"), "1");
  EXPECT_TRUE(out_.str().contains("o-1")) << out_.str();
  EXPECT_TRUE(error_.str().contains("--cursor c2")) << error_.str();
}

TEST_F(SagaCommandsTest, ListFiltersByAgeAndRefusesWhatIsNoDuration) {
  EXPECT_EQ(run({"list", "--older-than", "10m", "--newer-than", "1h"}), 0) << error_.str();
  EXPECT_EQ(requests_.at(0).get_param_value("older_than"), "10m");
  EXPECT_EQ(requests_.at(0).get_param_value("newer_than"), "1h");
  EXPECT_EQ(run({"list", "--older-than", "10"}), 2);
  EXPECT_TRUE(error_.str().contains("--older-than")) << error_.str();
  EXPECT_EQ(requests_.size(), 1U);
}

TEST_F(SagaCommandsTest, AnOperatorsActionSaysWhoAndWhy) {
  EXPECT_EQ(run({"retry", "S1", "--reason", "the \"warehouse\" is back", "--actor", "ana"}), 0) << error_.str();
  const auto body = Json::parse(requests_.at(0).body);
  EXPECT_EQ(body, (Json{{"actor", "ana"}, {"reason", "the \"warehouse\" is back"}}));
  EXPECT_TRUE(out_.str().contains("COMPENSATING")) << out_.str();
}

TEST_F(SagaCommandsTest, AnOperatorsActionIsADocumentForPrograms) {
  EXPECT_EQ(run({"retry", "S1", "--reason", "r", "--output", "json"}), 0) << error_.str();
  EXPECT_EQ(Json::parse(out_.str()).at("status"), "COMPENSATING");
  EXPECT_FALSE(Json::parse(requests_.at(0).body).at("actor").get<std::string>().empty()) << "somebody is always named";
}

TEST_F(SagaCommandsTest, AnActionMayNameAStepWhereThatMeansSomething) {
  EXPECT_EQ(run({"retry", "S1", "--reason", "r", "--step", "issue-invoice"}), 0) << error_.str();
  EXPECT_EQ(Json::parse(requests_.at(0).body).at("step"), "issue-invoice");
  EXPECT_EQ(run({"abandon", "S1", "--reason", "r", "--step", "issue-invoice"}), 2);
}

TEST_F(SagaCommandsTest, AnActionWithoutAReasonIsWrongUsage) {
  for (const char* verb : {"cancel", "pause", "resume", "retry", "skip", "complete", "compensate", "abandon"}) {
    EXPECT_EQ(run({verb, "S1"}), 2) << verb;
  }
  EXPECT_TRUE(error_.str().contains("--reason")) << error_.str();
  EXPECT_TRUE(requests_.empty());
}

TEST_F(SagaCommandsTest, AnActionThatTheStateRefusesFailsAndSaysWhy) {
  EXPECT_EQ(run({"skip", "S1", "--reason", "r"}), 1);
  EXPECT_TRUE(error_.str().contains("no step is stuck")) << error_.str();
  EXPECT_EQ(out_.str(), "");
}

TEST_F(SagaCommandsTest, EveryCommandHasAManual) {
  for (const char* command : {"start", "get", "list", "watch", "cancel", "pause", "resume", "retry", "skip", "complete", "compensate", "abandon"}) {
    out_.str("");
    EXPECT_EQ(run({command, "--help"}), 0);
    for (const char* heading : {"NAME\n  outrigger saga ", "\nSYNOPSIS\n", "\nDESCRIPTION\n", "\nOPTIONS\n", "\nEXIT STATUS\n", "\nEXAMPLES\n"}) {
      EXPECT_TRUE(out_.str().contains(heading)) << command << ": " << heading << "\n" << out_.str();
    }
  }
}

TEST_F(SagaCommandsTest, WatchPrintsEachEventOnceUntilTheEnd) {
  EXPECT_EQ(run({"watch", "S1"}), 0) << error_.str();
  for (const char* event : {"event-0", "event-1", "event-2"}) {
    EXPECT_EQ(out_.str().find(event), out_.str().rfind(event)) << event;
    EXPECT_TRUE(out_.str().contains(event)) << out_.str();
  }
  EXPECT_TRUE(out_.str().ends_with("COMPLETED\n")) << out_.str();
}

TEST_F(SagaCommandsTest, WatchWritesALineOfJsonAVersion) {
  EXPECT_EQ(run({"watch", "S1", "--output", "json"}), 0) << error_.str();
  std::istringstream lines(out_.str());
  std::vector<int> versions;
  for (std::string line; std::getline(lines, line);) {
    versions.push_back(Json::parse(line).at("version").get<int>());
  }
  EXPECT_EQ(versions, (std::vector{1, 2, 3}));
}

TEST_F(SagaCommandsTest, WatchFailsWhenTheSagaEndsOtherwise) {
  final_status_ = "COMPENSATED";
  EXPECT_EQ(run({"watch", "S1"}), 0) << error_.str();
  EXPECT_EQ(run({"watch", "S1", "--expect", "COMPLETED"}), 1);
  EXPECT_TRUE(error_.str().contains("ended as COMPENSATED, expected COMPLETED")) << error_.str();
}

TEST_F(SagaCommandsTest, WatchFailsWhenTheSagaIsStuck) {
  final_status_ = "STUCK";
  EXPECT_EQ(run({"watch", "S1"}), 1);
}

TEST_F(SagaCommandsTest, AServiceThatIsNotThereIsCode69WithWhatToDo) {
  server_.stop();
  thread_.join();
  EXPECT_EQ(run({"list"}), 69);
  EXPECT_TRUE(error_.str().contains("OUTRIGGER_URL")) << error_.str();
  in_.str("{}");
  EXPECT_EQ(run({"start", "--idempotency-key", "k-1"}), 69);
  EXPECT_TRUE(error_.str().contains("--idempotency-key k-1")) << error_.str();
}

}  // namespace
}  // namespace outrigger::cli

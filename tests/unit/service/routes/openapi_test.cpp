#include "service/routes/internal/openapi.h"

#include <algorithm>
#include <functional>
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lib/telemetry/metrics.h"
#include "service/journal/embedded_journal.h"
#include "service/routes/api.h"
#include "service/saga/engine.h"
#include "tests/support/temporary_folder.h"

namespace outrigger::routes {
namespace {

using nlohmann::json;
using nlohmann::literals::operator""_json_pointer;

std::string method_name(http::Method method) {
  std::string lower(http::name(method));
  std::ranges::transform(lower, lower.begin(), [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
  return lower;
}

/// The routes of the API beside the document. The engine never runs: nothing is asked of it.
class OpenApiTest : public ::testing::Test {
 protected:
  OpenApiTest() {
    class NoTransport final : public saga::CommandTransport {
      [[nodiscard]] bool offer(const participant::Command&) override { return false; }
    };
    static NoTransport transport;
    journal_ = journal::open_embedded_journal({.folder = folder_.path(), .partitions = 1}).value();
    engine_ = std::make_unique<saga::Engine>(saga::EngineSettings{}, saga::Catalog(), *journal_, &transport, registry_);
    api_ = std::make_unique<Api>(Settings{}, *engine_, registry_);
    api_->add_to(router_);
  }

  /// Every operation as "get /path".
  std::set<std::string> operations() const {
    std::set<std::string> all;
    for (const auto& [path, item] : document_.at("paths").items()) {
      for (const auto& [method, operation] : item.items()) {
        all.insert(method + " " + path);
      }
    }
    return all;
  }

  outrigger::testing::TemporaryFolder folder_;
  telemetry::Registry registry_;
  std::unique_ptr<journal::Journal> journal_;
  std::unique_ptr<saga::Engine> engine_;
  std::unique_ptr<Api> api_;
  http::Router router_;
  json document_ = json::parse(internal::openapi_document());
};

TEST_F(OpenApiTest, IsAnOpenApi31Document) { EXPECT_TRUE(document_.at("openapi").get<std::string>().starts_with("3.1.")); }

TEST_F(OpenApiTest, EveryRouteIsDescribedAndEveryDescribedOperationHasARoute) {
  std::set<std::string> served;
  for (const auto& [method, pattern] : router_.routes()) {
    served.insert(method_name(method) + " " + std::string(pattern));
  }
  std::set<std::string> described;
  static const std::regex kParameter(R"(\{[^}]*\})");
  for (const auto& [path, item] : document_.at("paths").items()) {
    const auto sample = std::regex_replace(path, kParameter, "x");
    for (const auto& [method, operation] : item.items()) {
      const auto match = router_.match(method == "post" ? http::Method::kPost : http::Method::kGet, sample);
      ASSERT_FALSE(match.pattern.empty()) << method << " " << path << " is described and has no route";
      described.insert(method + " " + std::string(match.pattern));
    }
  }
  EXPECT_EQ(described, served);
}

TEST_F(OpenApiTest, DescribesEveryActionOfAnOperatorAndNoOther) {
  std::set<std::string> verbs;
  for (const auto& operation : operations()) {
    if (const auto colon = operation.rfind(':'); colon != std::string::npos) {
      verbs.insert(operation.substr(colon + 1));
      EXPECT_TRUE(saga::parse_operation(operation.substr(colon + 1)).has_value()) << operation;
    }
  }
  // The message of an unknown one lists them all.
  const auto known = saga::parse_operation("?").error().message;
  const auto list = known.substr(known.rfind("one of ") + 7);
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(list, ',')) + 1, verbs.size()) << list;
}

TEST_F(OpenApiTest, EveryReferenceLeadsSomewhereAndEveryOperationHasAnIdOfItsOwn) {
  const std::function<void(const json&)> check = [&](const json& node) {
    if (node.is_object() && node.contains("$ref")) {
      EXPECT_TRUE(document_.contains(json::json_pointer(node["$ref"].get<std::string>().substr(1)))) << node["$ref"];
    }
    for (const auto& each : node) {
      if (each.is_structured()) {
        check(each);
      }
    }
  };
  check(document_);
  std::set<std::string> ids;
  for (const auto& [path, item] : document_.at("paths").items()) {
    for (const auto& [method, operation] : item.items()) {
      EXPECT_TRUE(ids.insert(operation.at("operationId").get<std::string>()).second) << path;
    }
  }
}

TEST_F(OpenApiTest, EveryPathParameterIsDeclared) {
  static const std::regex kParameter(R"(\{([^}]*)\})");
  for (const auto& [path, item] : document_.at("paths").items()) {
    std::set<std::string> in_path;
    for (auto found = std::sregex_iterator(path.begin(), path.end(), kParameter); found != std::sregex_iterator(); ++found) {
      in_path.insert((*found)[1]);
    }
    for (const auto& [method, operation] : item.items()) {
      std::set<std::string> declared;
      for (const auto& parameter : operation.value("parameters", json::array())) {
        if (parameter.value("in", "") == "path") {
          declared.insert(parameter.at("name").get<std::string>());
        }
      }
      EXPECT_EQ(declared, in_path) << method << " " << path;
    }
  }
}

TEST_F(OpenApiTest, NamesTheStatusesThatThereAre) {
  for (const auto& status : document_.at("/components/schemas/SagaStatus/enum"_json_pointer)) {
    EXPECT_TRUE(saga::parse_saga_status(status.get<std::string>()).has_value()) << status;
  }
}

}  // namespace
}  // namespace outrigger::routes

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "service/routes/internal/answers.h"

namespace outrigger::routes::internal {

inline constexpr const char* kOrder =
    R"({"order_id":"O-1","customer_id":"C-1","country":"DE","lines":[{"sku":"PADDLE","quantity":2,"unit_price_cents":8990}]})";

inline http::Request make_request(std::string body, std::string query = "",
                                  std::vector<std::pair<std::string, std::string>> headers = {{"Idempotency-Key", "k-1"}}) {
  http::Request request;
  request.method = http::Method::kPost;
  request.query = std::move(query);
  request.headers = std::move(headers);
  request.body = std::move(body);
  request.peer_address = "127.0.0.1:9";
  return request;
}

inline nlohmann::json body_of(const http::Response& response) { return nlohmann::json::parse(response.body); }

inline std::string header_of(const http::Response& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) {
      return value;
    }
  }
  return {};
}

inline saga::SagaState make_saga(std::string id, std::string order_id, std::string input = kOrder) {
  saga::SagaState saga;
  saga.id = std::move(id);
  saga.definition = std::string(kOrderDefinition);
  saga.definition_version = 1;
  saga.business_key = std::move(order_id);
  saga.input = std::move(input);
  saga.version = 3;
  return saga;
}

}  // namespace outrigger::routes::internal

#include "service/routes/internal/query.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "service/orders/order.h"
#include "service/routes/internal/answers.h"
#include "service/routes/internal/requests.h"

namespace outrigger::routes::internal {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kPage = 250;

/// What is found, each order once, up to a number.
class Found final {
 public:
  explicit Found(std::size_t most) : most_(most) {}

  /// False: it is one more than there is room for.
  [[nodiscard]] bool add(const saga::SagaState& saga) {
    if (ids_.contains(saga.id)) {
      return true;
    }
    if (ids_.size() == most_) {
      return false;
    }
    ids_.insert(saga.id);
    const auto order = orders::parse_order(saga.input);
    orders_.push_back({{"id", saga.id},
                       {"order_id", saga.business_key},
                       {"customer_id", order ? order->customer_id : ""},
                       {"status", saga::name(saga.status)},
                       {"created_at", saga::format_time(saga.created_at)}});
    return true;
  }

  [[nodiscard]] Json take() { return std::move(orders_); }

 private:
  const std::size_t most_;
  std::set<std::string> ids_;
  Json orders_ = Json::array();
};

}  // namespace

bool matches(const saga::SagaState& saga, std::string_view text) {
  if (saga.business_key == text || saga.id == text) {
    return true;
  }
  const auto order = orders::parse_order(saga.input);
  return order && (order->customer_id == text || std::ranges::contains(order->lines, text, &orders::OrderLine::sku));
}

http::Response query_answer(std::string_view text, const Settings& settings, const ListSagas& list, const GetSaga& get) {
  Found found(settings.max_query_results);
  if (saga::partition_of_id(text)) {
    if (const auto saga = get(text); saga && (*saga)->definition == kOrderDefinition) {
      static_cast<void>(found.add(**saga));
    }
  }
  const auto by_order_id =
      list({.definition = std::string(kOrderDefinition), .business_key = std::string(text), .limit = settings.max_query_results});
  if (!by_order_id) {
    return error_answer(by_order_id.error());
  }
  bool fits = true;
  for (const auto& saga : by_order_id->sagas) {
    fits = fits && (!matches(*saga, text) || found.add(*saga));
  }
  std::size_t scanned = 0;
  bool is_complete = false;
  journal::ListQuery query{.definition = std::string(kOrderDefinition)};
  while (fits && !is_complete && scanned < settings.max_query_scan) {
    query.limit = std::min(kPage, settings.max_query_scan - scanned);
    const auto page = list(query);
    if (!page) {
      return error_answer(page.error());
    }
    scanned += page->sagas.size();
    is_complete = page->next_cursor.empty();
    query.cursor = page->next_cursor;
    for (const auto& saga : page->sagas) {
      fits = fits && (!matches(*saga, text) || found.add(*saga));
    }
  }
  const Json answer{{"query", text}, {"orders", found.take()}, {"scanned", scanned}, {"complete", is_complete && fits}};
  return http::Response::json(200, answer.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace outrigger::routes::internal

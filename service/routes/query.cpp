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

http::Response query_answer(std::string_view text, const Settings& settings, const ListSagas& list, const GetSaga& get) {
  Found found(settings.max_query_results);
  if (saga::partition_of_id(text)) {
    if (const auto saga = get(text); saga && (*saga)->definition == kOrderDefinition) {
      static_cast<void>(found.add(**saga));
    }
  }
  bool is_complete = true;
  for (const auto index : {&journal::ListQuery::business_key, &journal::ListQuery::search_term}) {
    journal::ListQuery query{.definition = std::string(kOrderDefinition), .limit = settings.max_query_results};
    query.*index = text;
    const auto page = list(query);
    if (!page) {
      return error_answer(page.error());
    }
    is_complete = is_complete && page->next_cursor.empty();
    for (const auto& saga : page->sagas) {
      is_complete = found.add(*saga) && is_complete;
    }
  }
  const Json answer{{"query", text}, {"orders", found.take()}, {"complete", is_complete}};
  return http::Response::json(200, answer.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace outrigger::routes::internal

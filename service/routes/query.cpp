#include "service/routes/internal/query.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "service/orders/order.h"
#include "service/routes/internal/answers.h"
#include "service/routes/internal/requests.h"

namespace outrigger::routes::internal {
namespace {

constexpr std::size_t kPage = 250;

}  // namespace

bool matches(const saga::SagaState& saga, std::string_view text) {
  if (saga.business_key == text || saga.id == text) {
    return true;
  }
  const auto order = orders::parse_order(saga.input);
  return order && (order->customer_id == text || std::ranges::contains(order->lines, text, &orders::OrderLine::sku));
}

http::Response query_answer(std::string_view text, const Settings& settings, const ListSagas& list) {
  auto found = nlohmann::ordered_json::array();
  std::size_t scanned = 0;
  bool is_complete = false;
  journal::ListQuery query{.status = std::nullopt, .definition = std::string(kOrderDefinition), .business_key = {}, .cursor = {}, .limit = 0};
  while (!is_complete && scanned < settings.max_query_scan && found.size() < settings.max_query_results) {
    query.limit = std::min(kPage, settings.max_query_scan - scanned);
    const auto page = list(query);
    if (!page) {
      return error_answer(page.error());
    }
    scanned += page->sagas.size();
    is_complete = page->next_cursor.empty();
    query.cursor = page->next_cursor;
    for (const auto& saga : page->sagas) {
      if (!matches(*saga, text)) {
        continue;
      }
      if (found.size() == settings.max_query_results) {
        is_complete = false;
        break;
      }
      const auto order = orders::parse_order(saga->input);
      found.push_back({{"id", saga->id},
                       {"order_id", saga->business_key},
                       {"customer_id", order ? order->customer_id : ""},
                       {"status", saga::name(saga->status)},
                       {"created_at", saga::format_time(saga->created_at)}});
    }
  }
  const nlohmann::ordered_json answer{{"query", text}, {"orders", std::move(found)}, {"scanned", scanned}, {"complete", is_complete}};
  return http::Response::json(200, answer.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace outrigger::routes::internal

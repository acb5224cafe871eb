#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "slo/spec/decimal.h"
#include "slo/spec/selector.h"

namespace outrigger::slo {

/// One objective over one ratio of events.
struct Slo {
  std::string name;  ///< a DNS label; with an objective's name appended where a document holds several
  std::string display_name;
  std::string description;
  std::string service;
  std::string component;  ///< for routing alerts; the service where it is not given
  Decimal target;         ///< above 0 and below 1
  std::chrono::nanoseconds period{std::chrono::days{30}};
  std::optional<Selector> good;  ///< exactly one of good and bad
  std::optional<Selector> bad;
  Selector total;
  std::uint64_t min_bad_events = 10;  ///< in the long window, before a burn alert may fire
  std::string dashboard_url;          ///< may be empty

  /// The ratio of bad events that the target leaves: 1 - target, exact.
  [[nodiscard]] Decimal budget() const { return target.complement(); }
};

}  // namespace outrigger::slo

#include "lib/yaml/suggest.h"

#include <algorithm>
#include <cctype>
#include <format>
#include <vector>

namespace outrigger::yaml {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/// Optimal string alignment distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    cost[i][0] = i;
  }
  for (std::size_t j = 0; j <= b.size(); ++j) {
    cost[0][j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (same ? 0U : 1U)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string suggestion(std::string_view unknown, std::span<const std::string_view> known) {
  constexpr std::size_t kLongest = 64;
  if (unknown.size() <= kLongest) {
    std::string_view best;
    std::size_t best_distance = std::max<std::size_t>(1, unknown.size() / 3) + 1;
    for (const auto candidate : known) {
      if (const auto d = distance(unknown, candidate); d < best_distance) {
        best = candidate;
        best_distance = d;
      }
    }
    if (!best.empty()) {
      return std::format("did you mean '{}'?", best);
    }
  }
  std::string list;
  for (const auto name : known) {
    list += list.empty() ? "" : ", ";
    list += name;
  }
  return list.empty() ? "nothing is expected here" : "known here: " + list;
}

}  // namespace outrigger::yaml

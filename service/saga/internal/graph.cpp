#include "service/saga/internal/graph.h"

#include <algorithm>
#include <format>
#include <string_view>

#include "lib/yaml/suggest.h"

namespace outrigger::saga {
namespace {

using Nodes = std::vector<const yaml::Node*>;

bool names_are_good(const std::vector<Step>& steps, const Nodes& nodes, yaml::Problems& problems) {
  const auto before = problems.size();
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (std::ranges::find(names, steps[i].name) != names.end()) {
      problems.add(nodes[i]->find("name")->where(), std::format("step '{}' is there twice: names must differ", steps[i].name));
    }
    names.emplace_back(steps[i].name);
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (std::size_t k = 0; k < steps[i].after.size(); ++k) {
      const auto& earlier = steps[i].after[k];
      const auto where = [&] { return nodes[i]->find("after")->items[k].where(); };
      if (earlier == steps[i].name) {
        problems.add(where(), std::format("step '{}' comes after itself: remove it from its 'after'", earlier));
      } else if (std::ranges::find(names, earlier) == names.end()) {
        problems.add(where(),
                     std::format("step '{}': 'after' names the unknown step '{}'; {}", steps[i].name, earlier, yaml::suggestion(earlier, names)));
      }
    }
  }
  return problems.size() == before;
}

/// The order as places in the file; shorter than the steps when some wait for themselves.
std::vector<std::size_t> find_order(const Definition& definition) {
  const auto& steps = definition.steps;
  std::vector<std::size_t> order;
  std::vector<bool> placed(steps.size(), false);
  const auto is_placed = [&](const std::string& before) { return placed[*definition.index_of(before)]; };
  for (std::size_t i = 0; i < steps.size();) {
    if (!placed[i] && std::ranges::all_of(steps[i].after, is_placed)) {
      placed[i] = true;
      order.push_back(i);
      i = 0;  // an earlier one may have waited for this
    } else {
      ++i;
    }
  }
  return order;
}

/// Which steps come before `step`, at whatever distance. The steps are in order.
std::vector<bool> before(const Definition& definition, std::size_t step) {
  std::vector<bool> earlier(definition.steps.size(), false);
  earlier[step] = true;
  for (std::size_t i = step + 1; i-- > 0;) {
    if (earlier[i]) {
      for (const auto& name : definition.steps[i].after) {
        earlier[*definition.index_of(name)] = true;
      }
    }
  }
  earlier[step] = false;
  return earlier;
}

/// The steps are in order, the nodes too.
void check_pivot(const Definition& definition, const Nodes& nodes, yaml::Problems& problems) {
  const auto pivot = definition.pivot();
  if (!pivot) {
    return;
  }
  const auto& steps = definition.steps;
  const auto& name = steps[*pivot].name;
  const auto earlier = before(definition, *pivot);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i == *pivot || earlier[i]) {
      continue;
    }
    if (steps[i].pivot) {
      problems.add(nodes[i]->find("pivot")->where_key(),
                   std::format("pivot: '{}' is the pivot already, and a saga has one point of no return; remove one of the two", name));
    } else if (!before(definition, i)[*pivot]) {
      problems.add(nodes[i]->where(), std::format("step '{0}' could run at the same time as the pivot '{1}': say on which side of the point of no "
                                                  "return it is: add '{1}' to the 'after' of '{0}', or '{0}' to that of '{1}'",
                                                  steps[i].name, name));
    } else if (steps[i].compensate) {
      problems.add(nodes[i]->find("compensate")->where_key(),
                   std::format("compensate: step '{}' comes after the pivot '{}' and is never undone; remove the key", steps[i].name, name));
    }
  }
}

}  // namespace

void order_steps(Definition& definition, const Nodes& nodes, yaml::Problems& problems) {
  auto& steps = definition.steps;
  if (!names_are_good(steps, nodes, problems)) {
    return;
  }
  const auto order = find_order(definition);
  if (order.size() < steps.size()) {
    std::size_t waiting = 0;
    while (std::ranges::find(order, waiting) != order.end()) {
      ++waiting;
    }
    problems.add(nodes[waiting]->where(), std::format("step '{}' waits for itself through its 'after': break the cycle", steps[waiting].name));
    return;
  }
  std::vector<Step> ordered;
  Nodes ordered_nodes;
  for (const auto i : order) {
    auto step = steps[i];
    std::ranges::sort(step.after, {},
                      [&](const std::string& before) { return std::ranges::find(order, *definition.index_of(before)) - order.begin(); });
    ordered.push_back(std::move(step));
    ordered_nodes.push_back(nodes[i]);
  }
  steps = std::move(ordered);
  check_pivot(definition, ordered_nodes, problems);
}

}  // namespace outrigger::saga

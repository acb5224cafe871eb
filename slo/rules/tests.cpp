#include "slo/rules/tests.h"

#include <algorithm>
#include <cmath>
#include <format>
#include <ranges>

#include "slo/rules/burn.h"
#include "slo/rules/traffic.h"

namespace outrigger::slo {
namespace {

// As short as the windows allow: promtool evaluates every rule every minute.
constexpr int kHistory = 60;  ///< healthy minutes before an outage
constexpr int kSteady = 45;   ///< minutes of a steady ratio, which every window sees alike

/// The series that carry the events of an SLO, with the count that each of them shows.
struct Series {
  std::string text;
  Traffic::Count count;
};

std::string series_text(const std::string& metric, const std::map<std::string, std::string>& labels) {
  Selector selector{metric, {}};
  for (const auto& [label, value] : labels) {
    selector.matchers.push_back({label, Matcher::Kind::kEqual, value});
  }
  return selector.to_string();
}

Result<std::vector<Series>> series_of(const Slo& slo) {
  const auto& part = slo.bad ? *slo.bad : *slo.good;
  const auto part_count = slo.bad ? Traffic::Count::kBad : Traffic::Count::kGood;
  const bool same_metric = part.metric == slo.total.metric;
  Selector both = part;
  if (same_metric) {
    // A part of the total: its series must be seen by both selectors, and the rest of the total by one.
    std::ranges::copy(slo.total.matchers, std::back_inserter(both.matchers));
  }
  const auto part_labels = example_labels(both, nullptr);
  const auto rest_labels = example_labels(slo.total, same_metric ? &part : nullptr);
  if (!part_labels || !rest_labels) {
    return std::unexpected(part_labels ? rest_labels.error() : part_labels.error());
  }
  const auto other = part_count == Traffic::Count::kBad ? Traffic::Count::kGood : Traffic::Count::kBad;
  return std::vector<Series>{{series_text(part.metric, *part_labels), part_count},
                             {series_text(slo.total.metric, *rest_labels), same_metric ? other : Traffic::Count::kAll}};
}

/// Writes the cases of one file.
class Writer final {
 public:
  Writer(const Slo& slo, std::vector<Series> series) : slo_(slo), series_(std::move(series)) {}

  /// `first_series`: 1 leaves the series of the good or bad events out.
  void begin(std::string_view name, const Traffic* traffic, std::size_t first_series = 0) {
    out_ += std::format("  - name: {}\n    interval: 1m\n    input_series:{}\n", yaml_quoted(name), traffic == nullptr ? " []" : "");
    for (const auto& series : series_ | std::views::drop(first_series)) {
      if (traffic != nullptr) {
        out_ += std::format("      - series: {}\n        values: {}\n", yaml_quoted(series.text), yaml_quoted(traffic->counter(series.count)));
      }
    }
  }

  void begin_expressions() { out_ += "    promql_expr_test:\n"; }

  void expect(std::string_view expression, int minute, bool present) {
    out_ += std::format("      - expr: {}\n        eval_time: {}m\n        exp_samples:{}\n", yaml_quoted(expression), minute,
                        present ? "\n          - labels: '{}'\n            value: 1" : " []");
  }

  /// Every burn alert at `minute`, as far as it is clear what it must say.
  void expect_burn(const Traffic& traffic, int minute) {
    for (const auto& rate : burn_rates()) {
      const auto expected = traffic.expected(slo_, rate, minute);
      if (is_reachable(rate, slo_) && expected != Traffic::Firing::kUnclear) {
        expect(std::format("count(ALERTS{{alertname=\"SLOErrorBudgetBurn\",alertstate=\"firing\",slo=\"{}\",burn_rate=\"{}\",severity=\"{}\"}})",
                           slo_.name, rate.factor.to_string(), rate.severity),
               minute, expected == Traffic::Firing::kYes);
      }
    }
  }

  void expect_no_burn(int minute) {
    expect(std::format("count(ALERTS{{alertname=\"SLOErrorBudgetBurn\",alertstate=\"firing\",slo=\"{}\"}})", slo_.name), minute, false);
  }

  void alert(std::string_view name, int minute, const Rule* fires) {
    out_ += std::format("      - alertname: {}\n        eval_time: {}m\n        exp_alerts:{}\n", name, minute, fires == nullptr ? " []" : "");
    if (fires != nullptr) {
      const auto pairs = [&](std::string_view key, std::string_view first, const Pairs& list) {
        out_ += std::format("          {} {}:\n", first, key);
        for (const auto& [label, value] : list) {
          out_ += std::format("              {}: {}\n", label, yaml_quoted(value));
        }
      };
      pairs("exp_labels", "-", fires->labels);
      pairs("exp_annotations", " ", fires->annotations);
    }
  }

  void raw(std::string_view text) { out_ += text; }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  const Slo& slo_;
  std::vector<Series> series_;
  std::string out_;
};

/// Minutes of total outage after which every reachable burn rate fires, up to ten hours.
int outage_minutes(const Slo& slo, std::int64_t rate) {
  for (int minutes = 10; minutes < 600; ++minutes) {
    const Traffic traffic({{kHistory, rate, 0}, {minutes, 0, rate}});
    if (std::ranges::all_of(burn_rates(), [&](const auto& r) {
          return !is_reachable(r, slo) || traffic.expected(slo, r, traffic.minutes()) == Traffic::Firing::kYes;
        })) {
      return minutes;
    }
  }
  return 600;
}

void outage(Writer& writer, const Slo& slo) {
  const auto rate = std::max<std::int64_t>(1000, static_cast<std::int64_t>(slo.min_bad_events));
  const int minutes = outage_minutes(slo, rate);
  const Traffic traffic({{kHistory, rate, 0}, {minutes, 0, rate}, {400, rate, 0}});
  writer.begin("a total outage fires, and resolves after it", &traffic);
  writer.begin_expressions();
  for (const int minute :
       {kHistory - 1, kHistory + minutes, kHistory + minutes + 8, kHistory + minutes + 40, kHistory + minutes + 140, kHistory + minutes + 390}) {
    writer.expect_burn(traffic, minute);
  }
}

/// A steady ratio of `share` times the threshold of a burn rate. The traffic is large enough that the ratio is exact to some per mille.
Traffic steady(const Slo& slo, const BurnRate& rate, double share) {
  const double ratio = threshold(rate, slo).to_double() * share;
  const auto all = static_cast<std::int64_t>(std::max(1e6, std::ceil(2000 / ratio)));
  const auto bad = std::min(all, static_cast<std::int64_t>(std::llround(ratio * static_cast<double>(all))));
  return Traffic({{kSteady, all - bad, bad}});
}

void around_factor(Writer& writer, const Slo& slo, const BurnRate& rate) {
  for (const auto& [word, share] : {std::pair{"below", 0.98}, std::pair{"above", 1.02}}) {
    const auto traffic = steady(slo, rate, share);
    writer.begin(std::format("just {} a burn rate of {}", word, rate.factor.to_string()), &traffic);
    writer.begin_expressions();
    writer.expect_burn(traffic, kSteady);
  }
}

void quiet(Writer& writer, std::string_view name, const Traffic& traffic, std::initializer_list<int> minutes) {
  writer.begin(name, &traffic);
  writer.begin_expressions();
  for (const int minute : minutes) {
    writer.expect_no_burn(minute);
  }
}

void zero_traffic(Writer& writer, const Slo& slo) {
  quiet(writer, "zero traffic is no data: nothing burns and no ratio is recorded", Traffic({{60, 0, 0}}), {30, 60});
  for (const auto* recorded : {"slo:error_ratio:increase5m", "slo:error_ratio:increase1h", "slo:error_budget_remaining:ratio"}) {
    writer.expect(std::format("count({}{{slo=\"{}\"}})", recorded, slo.name), 60, false);
  }
  writer.raw("    alert_rule_test:\n");
  writer.alert("SLOIndicatorAbsent", 60, nullptr);
}

void counter_reset(Writer& writer, const Slo& slo) {
  auto before = steady(slo, burn_rates().back(), 0.5).phases().front();
  auto after = before;
  after.resets_counters = true;
  quiet(writer, "a counter reset is no burst of events", Traffic({before, after}), {kSteady + 1, kSteady + 2, kSteady + 6, 2 * kSteady});
  // A difference instead of an increase would lose what was counted before the reset, and fire nothing either.
  const auto counted = (before.good_per_minute + before.bad_per_minute) * kSteady * 9 / 10;
  writer.expect(std::format("count(slo:events_total:increase1h{{slo=\"{}\"}} > {})", slo.name, counted), kSteady + 2, true);
}

/// A counter that has no series before its first event.
void missing_part(Writer& writer, const Slo& slo) {
  const bool is_bad = slo.bad.has_value();
  const Traffic traffic({{kSteady, is_bad ? 1000 : 0, is_bad ? 0 : 1000}});
  writer.begin(is_bad ? "no bad event ever is a ratio of 0, not no data" : "no good event ever is a total outage, not no data", &traffic, 1);
  writer.begin_expressions();
  writer.expect_burn(traffic, kSteady);
  writer.expect(std::format("count(slo:error_ratio:increase5m{{slo=\"{}\"}} == {})", slo.name, is_bad ? 0 : 1), kSteady, true);
}

void few_events(Writer& writer, const Slo& slo) {
  const int bad = static_cast<int>(std::min<std::uint64_t>(slo.min_bad_events / 2, 60));
  if (bad > 0) {
    quiet(writer, "an outage of fewer bad events than the minimum fires nothing", Traffic({{120, 1, 0}, {bad, 0, 1}}), {120 + bad});
  }
}

void no_series(Writer& writer, const Slo& slo, std::string_view runbooks) {
  const auto generated = generate_rules(slo, runbooks);
  writer.begin("nothing measured is told, and is no burn", nullptr);
  writer.begin_expressions();
  writer.expect_no_burn(30);
  writer.raw("    alert_rule_test:\n");
  writer.alert("SLOIndicatorAbsent", 9, nullptr);
  for (const auto& rule : generated.groups.back().rules) {
    if (rule.alert == "SLOIndicatorAbsent") {
      writer.alert(rule.alert, 11, &rule);
    }
  }
}

}  // namespace

Result<std::string> generate_tests(const Slo& slo, std::string_view rule_file, std::string_view remark, std::string_view runbooks) {
  auto series = series_of(slo);
  if (!series) {
    return std::unexpected(series.error());
  }
  Writer writer(slo, std::move(*series));
  for (const auto line : std::views::split(remark, '\n')) {
    writer.raw(std::format("# {}\n", std::string_view(line)));
  }
  writer.raw(std::format("rule_files:\n  - {}\nevaluation_interval: 1m\ntests:\n", yaml_quoted(rule_file)));
  outage(writer, slo);
  for (const auto& rate : burn_rates()) {
    if (is_reachable(rate, slo)) {
      around_factor(writer, slo, rate);
    }
  }
  zero_traffic(writer, slo);
  counter_reset(writer, slo);
  missing_part(writer, slo);
  few_events(writer, slo);
  no_series(writer, slo, runbooks);
  return writer.take();
}

}  // namespace outrigger::slo

#include "lib/load/report.h"

#include <array>
#include <format>
#include <nlohmann/json.hpp>

#include "lib/runtime/duration.h"

namespace outrigger::load {
namespace {

struct Quantile {
  std::string_view label;
  std::string_view key;
  double value;
};
constexpr std::array kQuantiles{Quantile{"P50", "p50", 0.5}, Quantile{"P90", "p90", 0.9}, Quantile{"P99", "p99", 0.99},
                                Quantile{"P99.9", "p99_9", 0.999}};

double seconds(std::chrono::nanoseconds duration) { return std::chrono::duration<double>(duration).count(); }

nlohmann::ordered_json latency_json(const Histogram& histogram) {
  nlohmann::ordered_json json;
  json["count"] = histogram.count();
  json["mean"] = seconds(histogram.mean());
  json["min"] = seconds(histogram.minimum());
  for (const auto& q : kQuantiles) {
    json[std::string(q.key)] = seconds(histogram.quantile(q.value));
  }
  json["max"] = seconds(histogram.maximum());
  return json;
}

nlohmann::ordered_json window_json(const Window& window) {
  return {{"sent", window.sent},         {"ok", window.ok},     {"http_errors", window.http_errors}, {"transport_errors", window.transport_errors},
          {"timeouts", window.timeouts}, {"late", window.late}, {"dropped", window.dropped}};
}

}  // namespace

std::string readable(std::chrono::nanoseconds duration) {
  const auto ns = static_cast<double>(duration.count());
  if (ns < 1e3) {
    return std::format("{}ns", duration.count());
  }
  if (ns < 1e6) {
    return std::format("{:.4g}us", ns / 1e3);
  }
  return ns < 1e9 ? std::format("{:.4g}ms", ns / 1e6) : std::format("{:.4g}s", ns / 1e9);
}

namespace {

/// "100/s for 10s", "50/s to 200/s in 3 stages for 1m30s", and how they arrive.
std::string offered(const Summary& summary) {
  const auto& stages = summary.profile.stages;
  const bool is_poisson = summary.profile.arrival == Arrival::kPoisson;
  auto text = stages.size() < 2
                  ? format_rate(summary.rate)
                  : std::format("{} to {} in {} stages", format_rate(stages.front().rate), format_rate(stages.back().rate), stages.size());
  text += std::format(" for {}", readable(summary.planned));
  return is_poisson ? std::format("{}, Poisson arrival from seed {}", text, summary.profile.seed) : text;
}

std::string stages_table(const Summary& summary) {
  std::string out = std::format("\n{:<14}{:>10}{:>10}{:>10}{:>10}{:>10}{:>12}{:>12}{:>12}\n", "stage", "for", "sent", "failed", "dropped", "late",
                                "P50", "P99", "max");
  for (const auto& [stage, start, measured] : by_stage(summary)) {
    const auto& latency = measured.from_intended;
    out += std::format("  {:<12}{:>10}{:>10}{:>10}{:>10}{:>10}{:>12}{:>12}{:>12}\n", format_rate(stage.rate), readable(stage.duration), measured.sent,
                       measured.failed(), measured.dropped, measured.late, readable(latency.quantile(0.5)), readable(latency.quantile(0.99)),
                       readable(latency.maximum()));
  }
  return out;
}

nlohmann::ordered_json stages_json(const Summary& summary) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& [stage, start, measured] : by_stage(summary)) {
    auto item = window_json(measured);
    item["rate_per_second"] = stage.rate.per_second();
    item["start_seconds"] = seconds(start);
    item["planned_seconds"] = seconds(stage.duration);
    item["latency_from_intended_seconds"] = latency_json(measured.from_intended);
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace

std::string to_table(const Summary& summary, const Validity& validity) {
  const auto& all = summary.measured.all;
  std::string out = std::format("{}\n{}{}: {} requests offered, {} sent\n\n", summary.target, offered(summary),
                                summary.stopped_early ? std::format(", stopped after {}", readable(summary.elapsed)) : "", summary.offered, all.sent);
  out += std::format("{:<22}{:>14}{:>14}\n", "latency", "from intended", "from actual");
  const auto row = [&](std::string_view label, std::chrono::nanoseconds intended, std::chrono::nanoseconds actual) {
    out += std::format("  {:<20}{:>14}{:>14}\n", label, readable(intended), readable(actual));
  };
  const auto& actual = summary.measured.from_actual;
  row("mean", all.from_intended.mean(), actual.mean());
  for (const auto& q : kQuantiles) {
    row(q.label, all.from_intended.quantile(q.value), actual.quantile(q.value));
  }
  row("max", all.from_intended.maximum(), actual.maximum());

  out += std::format("\n{:<22}{:>14}\n", "outcome", "requests");
  const auto count = [&](std::string_view label, std::uint64_t n) { out += std::format("  {:<20}{:>14}\n", label, n); };
  count("ok", all.ok);
  count("HTTP errors", all.http_errors);
  count("transport errors", all.transport_errors);
  count("timeouts", all.timeouts);
  count("dropped", all.dropped);
  count("started late", all.late);
  for (const auto& [status, n] : summary.measured.statuses) {
    count(std::format("status {}", status), n);
  }
  if (summary.profile.stages.size() > 1) {
    out += stages_table(summary);
  }
  out += std::format("\nload: {} (achieved {:.2f} % of the offered rate, dropped {:.3f} %, generator CPU {:.0f} %)\n",
                     validity.valid() ? "valid" : "NOT VALID", validity.achieved_ratio * 100, validity.dropped_ratio * 100, summary.cpu_ratio * 100);
  for (const auto& reason : validity.reasons) {
    out += std::format("  {}\n", reason);
  }
  return out;
}

std::string to_json(const Summary& summary, const Validity& validity) {
  nlohmann::ordered_json json;
  json["target"] = summary.target;
  json["rate_per_second"] = summary.rate.per_second();
  json["arrival"] = summary.profile.arrival == Arrival::kPoisson ? "poisson" : "constant";
  if (summary.profile.arrival == Arrival::kPoisson) {
    json["seed"] = summary.profile.seed;
  }
  json["planned_seconds"] = seconds(summary.planned);
  json["elapsed_seconds"] = seconds(summary.elapsed);
  json["stopped_early"] = summary.stopped_early;
  json["offered"] = summary.offered;
  json["requests"] = window_json(summary.measured.all);
  for (const auto& [status, n] : summary.measured.statuses) {
    json["statuses"][std::to_string(status)] = n;
  }
  json["latency_from_intended_seconds"] = latency_json(summary.measured.all.from_intended);
  json["latency_from_actual_seconds"] = latency_json(summary.measured.from_actual);
  json["load"] = {{"valid", validity.valid()},
                  {"achieved_ratio", validity.achieved_ratio},
                  {"dropped_ratio", validity.dropped_ratio},
                  {"generator_cpu_ratio", summary.cpu_ratio},
                  {"reasons", validity.reasons}};
  if (summary.profile.stages.size() > 1) {
    json["stages"] = stages_json(summary);
  }
  json["series"] = nlohmann::ordered_json::array();
  for (const auto& window : summary.measured.series) {
    auto item = window_json(window);
    item["start_seconds"] = seconds(window.start);
    item["p50"] = seconds(window.from_intended.quantile(0.5));
    item["p99"] = seconds(window.from_intended.quantile(0.99));
    item["max"] = seconds(window.from_intended.maximum());
    json["series"].push_back(std::move(item));
  }
  return json.dump(2) + "\n";
}

std::string to_hgrm(const Histogram& histogram) {
  std::string out = std::format("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
  const auto milliseconds = [](std::chrono::nanoseconds d) { return static_cast<double>(d.count()) / 1e6; };
  const auto total = histogram.count();
  std::uint64_t seen = 0;
  for (const auto& [upper, n] : histogram.buckets()) {
    seen += n;
    const double share = static_cast<double>(seen) / static_cast<double>(total);
    out += seen == total ? std::format("{:>12.3f} {:.12f} {:>10}\n", milliseconds(upper), 1.0, seen)
                         : std::format("{:>12.3f} {:.12f} {:>10} {:>14.2f}\n", milliseconds(upper), share, seen, 1 / (1 - share));
  }
  out += std::format("#[Mean    = {:>12.3f}, StdDeviation   = {:>12.3f}]\n", milliseconds(histogram.mean()),
                     milliseconds(histogram.standard_deviation()));
  out += std::format("#[Max     = {:>12.3f}, Total count    = {:>12}]\n", milliseconds(histogram.maximum()), total);
  out += std::format("#[Buckets = {:>12}, SubBuckets     = {:>12}]\n", histogram.buckets().size(), 1 << Histogram::kSubBucketBits);
  return out;
}

}  // namespace outrigger::load

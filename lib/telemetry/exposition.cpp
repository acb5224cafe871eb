#include "lib/telemetry/exposition.h"

#include <array>
#include <charconv>
#include <cmath>
#include <vector>

namespace outrigger::telemetry {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricType;

void append_number(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
  } else {
    std::array<char, 32> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    out.append(buffer.data(), end);
  }
}

void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

void append_labels(std::string& out, const std::vector<ClientMetric::Label>& labels, std::string_view le) {
  if (labels.empty() && le.empty()) {
    return;
  }
  out += '{';
  bool first = true;
  for (const auto& label : labels) {
    if (!first) {
      out += ',';
    }
    first = false;
    out += label.name;
    out += "=\"";
    append_escaped(out, label.value, true);
    out += '"';
  }
  if (!le.empty()) {
    out += first ? "le=\"" : ",le=\"";
    out += le;
    out += '"';
  }
  out += '}';
}

void append_sample(std::string& out, std::string_view name, std::string_view suffix, const ClientMetric& metric, double value,
                   std::string_view le = {}) {
  out += name;
  out += suffix;
  append_labels(out, metric.label, le);
  out += ' ';
  append_number(out, value);
  out += '\n';
}

void append_histogram(std::string& out, std::string_view name, const ClientMetric& metric) {
  for (const auto& bucket : metric.histogram.bucket) {
    std::string bound;
    append_number(bound, bucket.upper_bound);
    // Prometheus 3 and OpenMetrics write whole bounds with a fraction: one spelling everywhere keeps series stable.
    if (bound.find_first_of(".eIN") == std::string::npos) {
      bound += ".0";
    }
    append_sample(out, name, "_bucket", metric, static_cast<double>(bucket.cumulative_count), bound);
  }
  append_sample(out, name, "_sum", metric, metric.histogram.sample_sum);
  append_sample(out, name, "_count", metric, static_cast<double>(metric.histogram.sample_count));
}

std::string_view type_name(MetricType type) {
  switch (type) {
    case MetricType::Counter: return "counter";
    case MetricType::Histogram: return "histogram";
    case MetricType::Summary: return "summary";
    case MetricType::Gauge: return "gauge";
    default: return "untyped";
  }
}

}  // namespace

ExpositionFormat negotiate(std::string_view accept_header) {
  return accept_header.contains("application/openmetrics-text") ? ExpositionFormat::kOpenMetrics : ExpositionFormat::kPrometheusText;
}

std::string_view content_type(ExpositionFormat format) {
  return format == ExpositionFormat::kOpenMetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                                  : "text/plain; version=0.0.4; charset=utf-8";
}

std::string serialize(std::span<const prometheus::MetricFamily> families, ExpositionFormat format) {
  std::string out;
  const bool open_metrics = format == ExpositionFormat::kOpenMetrics;
  for (const auto& family : families) {
    std::string_view family_name = family.name;
    // OpenMetrics names the counter family without the suffix of its sample.
    if (open_metrics && family.type == MetricType::Counter && family_name.ends_with("_total")) {
      family_name.remove_suffix(6);
    }
    out += "# HELP ";
    out += family_name;
    out += ' ';
    append_escaped(out, family.help, open_metrics);
    out += "\n# TYPE ";
    out += family_name;
    out += ' ';
    out += type_name(family.type);
    out += '\n';
    for (const auto& metric : family.metric) {
      if (family.type == MetricType::Histogram) {
        append_histogram(out, family.name, metric);
      } else {
        append_sample(out, family.name, {}, metric, family.type == MetricType::Counter ? metric.counter.value : metric.gauge.value);
      }
    }
  }
  if (open_metrics) {
    out += "# EOF\n";
  }
  return out;
}

}  // namespace outrigger::telemetry

#pragma once

#include <span>
#include <string>
#include <string_view>

#include <prometheus/metric_family.h>

namespace outrigger::telemetry {

/// The text formats of a scrape.
enum class ExpositionFormat {
  kPrometheusText,  ///< text/plain; version=0.0.4
  kOpenMetrics,     ///< application/openmetrics-text; version=1.0.0
};

/// Which format a scraper asked for in its Accept header (RFC 9110, without weighing q-values: OpenMetrics where it is named).
[[nodiscard]] ExpositionFormat negotiate(std::string_view accept_header);

[[nodiscard]] std::string_view content_type(ExpositionFormat format);

/// Serializes what a registry collected. Pure.
[[nodiscard]] std::string serialize(std::span<const prometheus::MetricFamily> families, ExpositionFormat format);

}  // namespace outrigger::telemetry

// Builds the metric families of the metrics page.
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace fairlock::http {

template <typename Number>
double Real(Number value) {
  return static_cast<double>(value);
}

// Returns a family without samples.
prometheus::MetricFamily Family(std::string_view name, prometheus::MetricType type,
                                std::string_view help);

// Returns a summary without quantiles, i.e. only a sum and a count.
prometheus::MetricFamily SummaryFamily(std::string_view name, std::string_view help,
                                       std::uint64_t count, double sum_seconds);

using Labels = std::vector<prometheus::ClientMetric::Label>;

// For a family of counters or gauges.
void AddSample(prometheus::MetricFamily& family, Labels labels, double value);

// Adds the label to every sample.
void AddLabel(std::vector<prometheus::MetricFamily>& families,
              const prometheus::ClientMetric::Label& label);

}  // namespace fairlock::http

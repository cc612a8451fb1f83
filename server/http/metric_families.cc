#include "server/http/metric_families.h"

#include <string>
#include <utility>

namespace fairlock::http {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily Family(std::string_view name, MetricType type, std::string_view help) {
  return {.name = std::string(name), .help = std::string(help), .type = type, .metric = {}};
}

MetricFamily SummaryFamily(std::string_view name, std::string_view help, std::uint64_t count,
                           double sum_seconds) {
  MetricFamily family = Family(name, MetricType::Summary, help);
  ClientMetric sample;
  sample.summary.sample_count = count;
  sample.summary.sample_sum = sum_seconds;
  family.metric.push_back(std::move(sample));
  return family;
}

void AddSample(MetricFamily& family, Labels labels, double value) {
  ClientMetric sample;
  (family.type == MetricType::Counter ? sample.counter.value : sample.gauge.value) = value;
  sample.label = std::move(labels);
  family.metric.push_back(std::move(sample));
}

void AddLabel(std::vector<MetricFamily>& families, const ClientMetric::Label& label) {
  for (MetricFamily& family : families) {
    for (ClientMetric& sample : family.metric) sample.label.push_back(label);
  }
}

}  // namespace fairlock::http

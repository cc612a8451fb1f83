// The metrics of a node of a fleet, and of its etcd.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "server/command/environment/fleet.h"

namespace fairlock::http {

// A node reports only its own lag, because Prometheus reads the metrics of every node.
void AddFleetFamilies(std::vector<prometheus::MetricFamily>& families,
                      const command::FleetReport& report);

}  // namespace fairlock::http

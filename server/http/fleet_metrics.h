// The metrics of a node of a fleet, and of its etcd.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "server/command/environment/fleet.h"

namespace fairlock::http {

// A node reports its own lag and not that of the others, because Prometheus reads every node.
void AddFleetFamilies(std::vector<prometheus::MetricFamily>& families,
                      const command::FleetReport& report);

}  // namespace fairlock::http

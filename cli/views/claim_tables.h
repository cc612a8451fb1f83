// Formats holders and places in the queue as tables.
#pragma once

#include <string>
#include <vector>

#include "cli/output/screen.h"
#include "cli/views/lock_views.h"

namespace fairlock::cli {

std::string HoldersTable(const std::vector<HolderView>& holders, const Screen& screen);
std::string PlacesTable(const std::vector<PlaceView>& places, const Screen& screen);

// "12.3s", or `if_none` if the time is unlimited.
std::string ShowTimeLeft(const std::optional<DurationMs>& left_ms, const std::string& if_none);

// "lease left 12.3s", or "unlimited lease".
std::string ShowLeaseLeft(const HolderView& holder);

// "'a' has held it for 3.2s, lease left 26.8s": the first holder that EXPLAIN names; may be empty.
std::string FirstHolderText(const protocol::Reply& explanation, const Screen& screen);

// "10.0.0.7:51234 (worker, user app)", with the parts that are known; adds "gone" if the connection
// is lost.
std::string ShowOrigin(const ClaimantView& who, const Screen& screen);

}  // namespace fairlock::cli

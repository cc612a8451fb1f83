// Holders and places as tables.
#pragma once

#include <string>
#include <vector>

#include "cli/output/screen.h"
#include "cli/views/lock_views.h"

namespace fairlock::cli {

std::string HoldersTable(const std::vector<HolderView>& holders, const Screen& screen);
std::string PlacesTable(const std::vector<PlaceView>& places, const Screen& screen);

// "12.3s", "no end" and the like.
std::string ShowTimeLeft(const std::optional<DurationMs>& left_ms, const std::string& if_none);

// "10.0.0.7:51234 (worker, user app)", with what is known; "gone" at the end of a lost connection.
std::string ShowOrigin(const ClaimantView& who, const Screen& screen);

}  // namespace fairlock::cli

// The pictures of the full-screen view, from what was asked for.
#pragma once

#include <cstddef>
#include <optional>

#include "cli/screen.h"
#include "cli/top/frame.h"
#include "cli/top/top_data.h"

namespace fairlock::cli {

struct OverviewPicture {
  const Overview& now;
  const Overview* before = nullptr;  // for what happens in a second; null: unknown
  Contention sorted_by = Contention::kWaiters;
  std::size_t selected = 0;
  std::string server_name;
};

Frame DrawOverview(const OverviewPicture& picture, const Screen& screen);

struct KeyPicture {
  const TopKey& key;
  const OneKey& found;
};

Frame DrawKey(const KeyPicture& picture, const Screen& screen);

}  // namespace fairlock::cli

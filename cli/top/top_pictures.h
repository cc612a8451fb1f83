// The pictures of the full-screen view, from what was asked for.
#pragma once

#include <cstddef>
#include <optional>

#include "cli/output/screen.h"
#include "cli/top/frame.h"
#include "cli/top/top_data.h"

namespace fairlock::cli {

struct OverviewPicture {
  const Overview& now;
  const Overview* before = nullptr;  // for what happens in a second; null: unknown
  Contention sorted_by = Contention::kWaiters;
  std::size_t selected = 0;
  std::size_t rows = 0;  // of the terminal
  std::string filter;    // as it was typed; empty: none
  std::string server_name;
};

Frame DrawOverview(const OverviewPicture& picture, const Screen& screen);

struct KeyPicture {
  const TopKey& key;
  const OneKey& found;
};

Frame DrawKey(const KeyPicture& picture, const Screen& screen);
Frame DrawPast(const TopKey& key, const KeyPast& past, const Screen& screen);
Frame DrawHelp(const Screen& screen);

// How many locks the overview has room for beside that number of labels.
std::size_t LockLines(std::size_t rows, std::size_t label_count);

}  // namespace fairlock::cli

// Builds the frames of the full-screen view from its data.
#pragma once

#include <cstddef>
#include <optional>

#include "cli/output/screen.h"
#include "cli/top/terminal_screen.h"
#include "cli/top/top_data.h"

namespace fairlock::cli {

struct OverviewView {
  const Overview& now;
  const Overview* before = nullptr;  // the previous refresh, for rates; null if there is none
  Contention sorted_by = Contention::kWaiters;
  std::size_t selected = 0;
  std::size_t rows = 0;  // the number of rows of the terminal
  std::string filter;    // the filter as typed; empty if there is none
  std::string server;    // "at 127.0.0.1:3247", or which part of a fleet
};

Frame DrawOverview(const OverviewView& picture, const Screen& screen);

struct KeyView {
  const TopKey& key;
  const OneKey& found;
};

Frame DrawKey(const KeyView& picture, const Screen& screen);
Frame DrawHistory(const TopKey& key, const KeyHistory& past, const Screen& screen);
Frame DrawHelp(const Screen& screen);

// The number of locks that the overview can show together with `label_count` labels.
std::size_t LockLines(std::size_t rows, std::size_t label_count);

}  // namespace fairlock::cli

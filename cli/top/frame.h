// The lines that the full-screen view shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/output/printable.h"

namespace fairlock::cli {

enum class Emphasis : std::uint8_t { kNone, kTitle, kHeading, kSelected, kFaint, kAlarm };

struct FrameLine {
  std::string text;  // printable
  Emphasis emphasis = Emphasis::kNone;
};

struct Frame {
  std::vector<FrameLine> lines;
  FrameLine bottom;  // the last line of the terminal

  void Add(std::string text, Emphasis emphasis = Emphasis::kNone) {
    lines.push_back({std::move(text), emphasis});
  }
  // Adds several lines of text: the first is a heading, and row `selected` (from 0, without the
  // heading) is highlighted.
  void AddTable(const std::string& text, std::size_t selected = SIZE_MAX);

  // Truncates the lines, so that none wraps.
  void CutTo(std::size_t columns, Charset charset);
};

}  // namespace fairlock::cli

// A picture of lines, for a terminal to show.
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
  FrameLine bottom;  // on the last line of the terminal

  void Add(std::string text, Emphasis emphasis = Emphasis::kNone) {
    lines.push_back({std::move(text), emphasis});
  }
  // A text of several lines, of which the first is a heading, and the one numbered `selected`
  // (from 0, without the heading) marked.
  void AddTable(const std::string& text, std::size_t selected = SIZE_MAX);

  // So that no line goes on in the next one.
  void CutTo(std::size_t columns, Charset charset);
};

}  // namespace fairlock::cli

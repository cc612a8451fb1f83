// Draws lines on the whole terminal, and reads its keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/base/clock.h"
#include "cli/output/printable.h"
#include "cli/output/screen.h"

namespace fairlock::cli {

enum class Emphasis : std::uint8_t { kNone, kTitle, kHeading, kSelected, kFaint, kAlarm };

struct FrameLine {
  std::string text;  // printable
  Emphasis emphasis = Emphasis::kNone;
};

// The lines that the full-screen view shows.
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

// Keys that are not characters.
enum class SpecialKey : std::uint8_t { kNone, kUp, kDown, kEnter, kBack, kErase };

struct Keystroke {
  SpecialKey special = SpecialKey::kNone;
  char character = '\0';  // '\0' for a special key, or for no key

  bool is_any() const { return special != SpecialKey::kNone || character != '\0'; }
};

// Takes over the terminal during its lifetime; only one may exist at a time. The only class that
// knows ncurses.
class TerminalScreen {
 public:
  explicit TerminalScreen(bool has_colours);
  ~TerminalScreen();
  TerminalScreen(const TerminalScreen&) = delete;
  TerminalScreen& operator=(const TerminalScreen&) = delete;

  std::size_t columns() const;
  std::size_t rows() const;

  // Lines that do not fit are omitted.
  void Draw(const Frame& frame);

  // Waits for a key for at most `patience_ms`; a resize of the terminal also ends the wait.
  Keystroke ReadKey(DurationMs patience_ms);
};

}  // namespace fairlock::cli

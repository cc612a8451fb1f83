// Draws on the whole terminal, and reads its keys.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cli/base/clock.h"
#include "cli/output/screen.h"
#include "cli/top/frame.h"

namespace fairlock::cli {

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

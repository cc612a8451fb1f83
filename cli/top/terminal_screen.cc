#include "cli/top/terminal_screen.h"

#include <curses.h>

#include <algorithm>
#include <string_view>

namespace fairlock::cli {

namespace {

constexpr int kEscape = 27;
constexpr int kBackspace = 8;
constexpr int kDelete = 127;
constexpr int kAlarmPair = 1;

int AttributesOf(Emphasis emphasis) {
  switch (emphasis) {
    case Emphasis::kNone:
      break;
    case Emphasis::kTitle:
    case Emphasis::kHeading:
      return static_cast<int>(A_BOLD);
    case Emphasis::kSelected:
      return static_cast<int>(A_REVERSE);
    case Emphasis::kFaint:
      return static_cast<int>(A_DIM);
    case Emphasis::kAlarm:
      return static_cast<int>(A_BOLD | COLOR_PAIR(kAlarmPair));
  }
  return static_cast<int>(A_NORMAL);
}

void DrawLine(int row, const FrameLine& line) {
  attrset(AttributesOf(line.emphasis));
  mvaddstr(row, 0, line.text.c_str());
  attrset(static_cast<int>(A_NORMAL));
}

}  // namespace

TerminalScreen::TerminalScreen(bool has_colours) {
  initscr();
  cbreak();
  noecho();
  curs_set(0);
  keypad(stdscr, TRUE);
  set_escdelay(50);
  if (!has_colours || ::has_colors() == FALSE) return;
  start_color();
  use_default_colors();
  init_pair(kAlarmPair, COLOR_RED, -1);
}

TerminalScreen::~TerminalScreen() { endwin(); }

std::size_t TerminalScreen::columns() const { return static_cast<std::size_t>(COLS); }

std::size_t TerminalScreen::rows() const { return static_cast<std::size_t>(LINES); }

void TerminalScreen::Draw(const Frame& frame) {
  erase();
  const int last = LINES - 1;
  const int shown = std::min(static_cast<int>(frame.lines.size()), last);
  for (int row = 0; row < shown; ++row) {
    DrawLine(row, frame.lines[static_cast<std::size_t>(row)]);
  }
  DrawLine(last, frame.bottom);
  refresh();
}

Keystroke TerminalScreen::ReadKey(DurationMs patience_ms) {
  timeout(static_cast<int>(std::max<DurationMs>(patience_ms, 0)));
  const int key = getch();
  switch (key) {
    case KEY_UP:
      return {.special = SpecialKey::kUp};
    case KEY_DOWN:
      return {.special = SpecialKey::kDown};
    case KEY_ENTER:
    case '\n':
    case '\r':
      return {.special = SpecialKey::kEnter};
    case KEY_BACKSPACE:
    case kBackspace:
    case kDelete:
      return {.special = SpecialKey::kErase};
    case KEY_LEFT:
    case kEscape:
      return {.special = SpecialKey::kBack};
    default:
      break;
  }
  if (key < ' ' || key > '~') return {};
  return {.special = SpecialKey::kNone, .character = static_cast<char>(key)};
}

void Frame::AddTable(const std::string& text, std::size_t selected) {
  std::string_view rest = text;
  for (std::size_t row = 0; !rest.empty(); ++row) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const Emphasis emphasis = row == 0              ? Emphasis::kHeading
                              : row - 1 == selected ? Emphasis::kSelected
                                                    : Emphasis::kNone;
    Add(std::string(rest.substr(0, end)), emphasis);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void Frame::CutTo(std::size_t columns, Charset charset) {
  for (FrameLine& line : lines) line.text = CutToWidth(line.text, columns, charset);
  bottom.text = CutToWidth(bottom.text, columns, charset);
}

}  // namespace fairlock::cli

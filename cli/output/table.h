// Lays out rows of text in columns that fit the screen.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/output/screen.h"

namespace fairlock::cli {

struct Cell {
  std::string text;  // printable
  Tint tint = Tint::kNone;
};

struct Column {
  std::string title;
  bool is_right_aligned = false;  // numbers
  bool may_shrink = false;        // true for keys, owners and notes, which are truncated on
                                  // a narrow screen
  int drop_order = 0;             // 1 is dropped first; 0 is never dropped
};

// A line never exceeds the width of the screen: shrinkable columns are narrowed, the widest first,
// and then the end of the line is cut off.
//
// On a screen with may_drop_columns, columns are dropped in their drop_order first, as long as keys
// would otherwise become too short to recognise.
//
// The rows up to the first Flush() determine the widths, so a table of any length can be printed
// page by page. Wider cells on later pages are truncated if their column is shrinkable; otherwise
// they shift the rest of the line.
class Table {
 public:
  Table(std::vector<Column> columns, const Screen& screen);

  void Add(std::vector<Cell> row);

  // Returns the lines added since the last call; the first call puts the titles before them. Empty
  // if there are no rows.
  std::string Flush();

 private:
  void Measure();
  void Shrink(std::size_t columns);
  void DropForWidth(std::size_t columns);
  std::size_t Total() const;
  std::string Line(const std::vector<Cell>& row) const;

  std::vector<Column> columns_;
  Screen screen_;
  std::vector<std::vector<Cell>> rows_;
  std::vector<std::size_t> widths_;  // empty if not measured yet
  std::vector<bool> is_dropped_;     // whether each column is dropped
};

}  // namespace fairlock::cli

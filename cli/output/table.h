// Rows of text in columns that fit the screen.
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
  bool may_shrink = false;        // keys, owners, notes: cut when the screen is too narrow
  int drop_order = 0;             // 1 is the first that is left out; 0 stays
};

// A line is never longer than the screen is wide: columns that may shrink do so, the widest first,
// and what is then still too long loses its end.
//
// On a screen that allows it, columns are left out instead, in their order, while a key would be
// cut to less than can be recognised.
//
// Widths are those of all rows up to the first Flush(), so that a table of any length can be
// printed page by page; what comes later and is wider is cut, if its column may shrink, or else
// stands out.
class Table {
 public:
  Table(std::vector<Column> columns, const Screen& screen);

  void Add(std::vector<Cell> row);

  // The lines added since the last time, with the titles in front of the first. Empty: no rows.
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
  std::vector<std::size_t> widths_;  // empty: not measured
  std::vector<bool> is_dropped_;     // of each column
};

}  // namespace fairlock::cli

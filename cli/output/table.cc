#include "cli/output/table.h"

#include <algorithm>

namespace fairlock::cli {

namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kShrunkMin = 6;
// Enough characters to tell one key or owner from another.
constexpr std::size_t kReadable = 16;

std::string Padded(const std::string& text, std::size_t text_width, std::size_t width,
                   bool is_right_aligned) {
  const std::string blanks(width > text_width ? width - text_width : 0, ' ');
  return is_right_aligned ? blanks + text : text + blanks;
}

}  // namespace

Table::Table(std::vector<Column> columns, const Screen& screen)
    : columns_(std::move(columns)), screen_(screen), is_dropped_(columns_.size(), false) {}

void Table::Add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }

void Table::Measure() {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = columns_[i].title.size();
    for (const auto& row : rows_) {
      width = std::max(width, DisplayWidth(row[i].text, screen_.charset));
    }
    widths_.push_back(width);
  }
  if (screen_.columns > 0 && screen_.may_drop_columns) DropForWidth(screen_.columns);
  if (screen_.columns > 0) Shrink(screen_.columns);
}

std::size_t Table::Total() const {
  std::size_t total = 0;
  for (std::size_t i = 0; i < widths_.size(); ++i) {
    if (!is_dropped_[i]) total += widths_[i] + (total > 0 ? kGap : 0);
  }
  return total;
}

// Drops columns until every shrinkable column is wide enough to read.
void Table::DropForWidth(std::size_t columns) {
  while (true) {
    std::size_t needed = Total();
    std::size_t next = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (is_dropped_[i]) continue;
      if (columns_[i].may_shrink) needed -= widths_[i] - std::min(widths_[i], kReadable);
      const int order = columns_[i].drop_order;
      if (order > 0 && (next == columns_.size() || order < columns_[next].drop_order)) next = i;
    }
    if (needed <= columns || next == columns_.size()) return;
    is_dropped_[next] = true;
  }
}

void Table::Shrink(std::size_t columns) {
  std::size_t total = Total();
  while (total > columns) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      if (is_dropped_[i] || !columns_[i].may_shrink || widths_[i] <= kShrunkMin) continue;
      if (widest == nullptr || widths_[i] > *widest) widest = &widths_[i];
    }
    if (widest == nullptr) return;
    --*widest;
    --total;
  }
}

std::string Table::Line(const std::vector<Cell>& row) const {
  std::string line;
  std::size_t room = screen_.columns > 0 ? screen_.columns : SIZE_MAX;
  const auto kept = std::find(is_dropped_.rbegin(), is_dropped_.rend(), false);
  const auto last = static_cast<std::size_t>(is_dropped_.rend() - kept) - 1;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (is_dropped_[i]) continue;
    const bool is_last = i == last;
    const std::size_t limit =
        columns_[i].may_shrink && screen_.columns > 0 ? std::min(widths_[i], room) : room;
    const std::string text = CutToWidth(row[i].text, limit, screen_.charset);
    const std::size_t text_width = DisplayWidth(text, screen_.charset);
    const std::string padded =
        is_last && !columns_[i].is_right_aligned
            ? text
            : Padded(text, text_width, std::min(widths_[i], room), columns_[i].is_right_aligned);
    line += screen_.Tinted(padded, row[i].tint);
    const std::size_t used = std::max(text_width, std::min(widths_[i], room)) + kGap;
    if (is_last || used >= room) break;
    line.append(kGap, ' ');
    room -= used;
  }
  // Trailing blanks would wrap on a narrow terminal, and are noise in a file.
  if (!screen_.has_colours) line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string Table::Flush() {
  if (rows_.empty()) return {};
  std::string text;
  if (widths_.empty()) {
    Measure();
    std::vector<Cell> titles;
    for (const Column& column : columns_) titles.push_back({column.title, Tint::kHeading});
    text += Line(titles) + "\n";
  }
  for (const auto& row : rows_) text += Line(row) + "\n";
  rows_.clear();
  return text;
}

}  // namespace fairlock::cli

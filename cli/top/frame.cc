#include "cli/top/frame.h"

#include <algorithm>
#include <string_view>

namespace fairlock::cli {

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

#include "cli/views/info_report.h"

#include <array>
#include <charconv>

namespace fairlock::cli {

InfoReport::InfoReport(std::string_view text) {
  std::string section;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t colon = line.find(':');
    if (line.starts_with("# ")) {
      section = line.substr(2);
    } else if (colon != std::string_view::npos) {
      by_name_[std::string(line.substr(0, colon))] = fields_.size();
      fields_.push_back(
          {section, std::string(line.substr(0, colon)), std::string(line.substr(colon + 1))});
    }
  }
}

std::string InfoReport::Text(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? "" : fields_[found->second].value;
}

std::int64_t InfoReport::Number(std::string_view name) const {
  const std::string text = Text(name);
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Result<InfoReport> FetchInfo(Client& client) {
  const Result<protocol::Reply> reply = client.Ask({"INFO"});
  if (!reply) return reply.failure();
  return InfoReport(reply->text);
}

std::string ShowBytes(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  double value = static_cast<double>(bytes);
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::fixed, unit == 0 ? 0 : 1);
  return std::string(text.data(), end.ptr) + " " + std::string(kUnits[unit]);
}

std::string ShowCount(std::int64_t count) {
  std::string digits = std::to_string(count);
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    if (digits[static_cast<std::size_t>(at) - 1] != '-')
      digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

}  // namespace fairlock::cli

#include "text/local_time.h"

#include <array>
#include <ctime>

namespace fairlock::text {

std::string LocalTime(std::int64_t unix_ms, const char* format) {
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm local{};
  localtime_r(&seconds, &local);
  std::array<char, 64> shown{};
  return {shown.data(), std::strftime(shown.data(), shown.size(), format, &local)};
}

std::string Thousandths(std::int64_t unix_ms) {
  return std::to_string(1000 + unix_ms % 1000).substr(1);
}

std::string LogTime(std::int64_t unix_ms) {
  std::string shown = LocalTime(unix_ms, "%Y-%m-%dT%H:%M:%S%z");
  shown.insert(shown.size() - 2, ":");
  return shown.insert(shown.size() - 6, "." + Thousandths(unix_ms));
}

}  // namespace fairlock::text

// Values of options as text: numbers with units, and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/engine/api/keep_rules.h"
#include "server/engine/api/label_rules.h"

namespace fairlock::server {

// "30s", "500ms", "5m", "1h", "365d", or "0"; in milliseconds. A number without a unit is refused:
// nobody could know which one was meant.
std::optional<std::int64_t> ParseDurationMs(std::string_view text);
// In the largest unit that leaves a whole number.
std::string FormatDurationMs(std::int64_t duration_ms);

// "16mb", "512kb", "1gb", "100b", "100"; kb is 1024 bytes.
std::optional<std::int64_t> ParseBytes(std::string_view text);
std::string FormatBytes(std::int64_t bytes);

// Octal, as chmod(1) takes them: "0770", "770".
std::optional<std::int64_t> ParsePermissions(std::string_view text);
std::string FormatPermissions(std::int64_t permissions);

// "order:*=orders": the pattern, and behind the last = the label.
std::optional<engine::LabelRule> ParseLabelRule(std::string_view text);

// "order:*=1s", or "1s" for all keys.
std::optional<engine::KeepRule> ParseKeepRule(std::string_view text);
inline constexpr std::int64_t kKeepRuleMsMax = 24LL * 3600 * 1000;

// Parts between commas or blanks, without empty ones.
std::vector<std::string> SplitList(std::string_view text);

}  // namespace fairlock::server

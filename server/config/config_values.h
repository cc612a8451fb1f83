// Converts option values between text and numbers with units, and judges addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/engine/api/key_rules.h"

namespace fairlock::server {

// Parses "30s", "500ms", "5m", "1h", "365d" or "0" to milliseconds. Refuses any other number
// without a unit as ambiguous.
std::optional<std::int64_t> ParseDurationMs(std::string_view text);
// Uses the largest unit that gives a whole number.
std::string FormatDurationMs(std::int64_t duration_ms);

// "16mb", "512kb", "1gb", "100b", "100"; kb is 1024 bytes.
std::optional<std::int64_t> ParseBytes(std::string_view text);
std::string FormatBytes(std::int64_t bytes);

// Octal, as for chmod(1): "0770", "770".
std::optional<std::int64_t> ParsePermissions(std::string_view text);
std::string FormatPermissions(std::int64_t permissions);

// "order:*=orders": the glob, then the label after the last =.
std::optional<engine::LabelRule> ParseLabelRule(std::string_view text);

// "order:*=1s", or "1s" for all keys.
std::optional<engine::KeepRule> ParseKeepRule(std::string_view text);
inline constexpr std::int64_t kKeepRuleMsMax = 24LL * 3600 * 1000;

// Splits at commas, spaces and tabs, dropping empty parts.
std::vector<std::string> SplitList(std::string_view text);

// Whether an entry of `bind` is a loopback address.
bool IsLoopback(std::string_view address);

// Whether a socket can be reached only from this machine, given its name: "127.0.0.1:3247",
// "[::1]:3247", "unix:/run/fairlock.sock".
bool IsLocalSocket(std::string_view name);

}  // namespace fairlock::server

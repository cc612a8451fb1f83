#include "cli/views/stats_merge.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "cli/connection/reply_fields.h"

namespace fairlock::cli {

namespace {

using protocol::Reply;
using protocol::ReplyType;

constexpr std::int64_t kMinuteMs = 60'000;

// The minutes of different servers do not begin at the same moment.
using RowKey = std::pair<std::string, std::int64_t>;

void CombineField(std::string_view name, Reply& into, const Reply& from) {
  if (from.type != ReplyType::kInteger) return;  // a label, or a percentile of nothing
  if (into.type != ReplyType::kInteger) {
    into = from;
  } else if (name == "since") {
    into.integer = std::min(into.integer, from.integer);
  } else if (name.ends_with("_ms")) {
    into.integer = std::max(into.integer, from.integer);
  } else {
    into.integer += from.integer;
  }
}

void CombineRow(Reply& into, const Reply& from) {
  for (std::size_t i = 0; i + 1 < into.elements.size(); i += 2) {
    const std::string& name = into.elements[i].text;
    const Reply* const field = FindField(from, name);
    if (field != nullptr) CombineField(name, into.elements[i + 1], *field);
  }
}

}  // namespace

Reply MergedStats(const std::vector<Reply>& replies, bool is_by_minute) {
  if (replies.size() == 1) return replies.front();
  std::map<RowKey, Reply> rows;
  std::int64_t complete_since = 0;
  for (const Reply& reply : replies) {
    complete_since = std::max(complete_since, IntegerOr(reply, "complete_since"));
    const Reply* const labels = FindField(reply, "labels");
    if (labels == nullptr) continue;
    for (const Reply& row : labels->elements) {
      const std::int64_t minute = is_by_minute ? IntegerOr(row, "since") / kMinuteMs : 0;
      const auto [at, is_new] = rows.try_emplace({TextField(row, "label"), minute}, row);
      if (!is_new) CombineRow(at->second, row);
    }
  }
  Reply merged = replies.front();
  for (std::size_t i = 0; i + 1 < merged.elements.size(); i += 2) {
    Reply& value = merged.elements[i + 1];
    if (merged.elements[i].text == "complete_since") value.integer = complete_since;
    if (merged.elements[i].text != "labels") continue;
    value.elements.clear();
    for (auto& [key, row] : rows) value.elements.push_back(std::move(row));
  }
  return merged;
}

}  // namespace fairlock::cli

#include "cli/views/lock_walk.h"

#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

constexpr std::string_view kLocksPerPage = "1000";

}  // namespace

bool LockWalk::Passes(const LockRow& row) const {
  const bool waits_long =
      !filter_.waiting_ms_min ||
      (row.waiter_count() > 0 && row.longest_wait_ms() >= *filter_.waiting_ms_min);
  const bool is_held_long = !filter_.held_ms_min || (row.holder_count() > 0 &&
                                                     row.oldest_hold_ms() >= *filter_.held_ms_min);
  return waits_long && is_held_long;
}

void LockWalk::TurnToNext() {
  while (!is_over() && (is_scanned_ || leaders_.leader(next_).failure)) {
    ++next_;
    cursor_ = std::string("0");
    pages_ = 0;
    is_scanned_ = false;
  }
}

Result<std::vector<LockRow>> LockWalk::NextPage() {
  TurnToNext();
  if (is_over()) return std::vector<LockRow>();
  partition_ = next_;
  Result<std::vector<LockRow>> page = FetchPage(*leaders_.leader(partition_).client);
  if (!page) leaders_.Fail(partition_, page.failure());
  TurnToNext();
  if (page) return page;
  if (const auto failure = leaders_.TotalFailure()) return *failure;
  return std::vector<LockRow>();
}

Result<std::vector<LockRow>> LockWalk::FetchPage(Client& client) {
  const std::string database = filter_.database ? std::to_string(*filter_.database) : "*";
  std::vector<std::string_view> words = {"LOCKS", cursor_,       "MATCH", filter_.glob,
                                         "COUNT", kLocksPerPage, "DB",    database};
  if (filter_.owner) words.insert(words.end(), {"OWNER", *filter_.owner});
  if (filter_.waiting_ms_min) words.emplace_back("WAITING");  // skips locks without a queue
  Result<protocol::Reply> reply = client.Ask(words);
  if (!reply) return reply.failure();
  if (reply->elements.size() != 2) {
    return Failure{kExitNotUnderstood,
                   client.ServerName() + " sent a reply to LOCKS in an unknown format"};
  }
  cursor_ = reply->elements[0].text;
  is_scanned_ = cursor_ == "0";
  if (!is_scanned_ && ++pages_ == filter_.pages_max) {
    is_scanned_ = true;
    is_whole_ = false;
  }
  std::vector<LockRow> rows;
  for (protocol::Reply& element : reply->elements[1].elements) {
    LockRow row(std::move(element));
    if (Passes(row)) rows.push_back(std::move(row));
  }
  return rows;
}

boost::json::object ObjectOf(const LockRow& row) {
  boost::json::object object;
  json::AddText(object, "key", row.key());
  object["db"] = row.database();
  protocol::ForEachColumn(row.reply(), [&](std::string_view name, const protocol::Reply& value) {
    json::AddReply(object, name, value);
  });
  return object;
}

}  // namespace fairlock::cli

#include "cli/run/queue_watch.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "cli/connection/server_errors.h"
#include "cli/output/duration.h"
#include "cli/output/printable.h"
#include "cli/views/lock_views.h"
#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

// Delays the first report, so that a request that is granted quickly prints nothing.
constexpr DurationMs kFirstOnTerminalMs = 300;
constexpr DurationMs kEveryOnTerminalMs = 1000;
// Delays the requests that another server has redirected.
constexpr DurationMs kAfterRedirectMs = 100;

}  // namespace

QueueWatch::QueueWatch(const Context& context, const RunOptions& options, const RunReport& report,
                       TimeMs now)
    : context_(context),
      report_(report),
      rewrites_line_(context.errors.is_terminal && !options.is_json),
      connection_(context.settings, context.login),
      keys_(options.keys),
      owner_(options.owner),
      every_ms_(rewrites_line_ ? kEveryOnTerminalMs : options.report_every_ms),
      begun_at_(now),
      send_at_(kForever),
      findings_(options.keys.size()) {
  if (rewrites_line_) {
    send_at_ = now + kFirstOnTerminalMs;
  } else if (every_ms_ > 0 && every_ms_ < kForever) {
    send_at_ = now + every_ms_;
  }
}

TimeMs QueueWatch::WakeAt() const { return std::min(send_at_, connection_.WakeAt()); }

void QueueWatch::Advance(TimeMs now) {
  connection_.Advance(now);
  while (const auto reply = connection_.Take()) {
    if (reply->type == protocol::ReplyType::kPush || sent_.empty()) continue;
    if (const auto leader = MovedTo(*reply)) {
      Follow(*leader, now);
      break;
    }
    Take(*reply);
    if (sent_.empty()) Show(now);
  }
  if (now >= send_at_) Ask(now);
}

// All keys have the same leader, because they have the same slot.
void QueueWatch::Follow(const ServerAddress& leader, TimeMs now) {
  connection_.Close();
  connection_.servers().Redirect(leader);
  sent_.clear();
  send_at_ = std::min(send_at_, now + kAfterRedirectMs);
}

void QueueWatch::Ask(TimeMs now) {
  send_at_ = now + every_ms_;
  if (connection_.state() == AsyncConnection::State::kClosed) {
    sent_.clear();
    connection_.Open(now);
  }
  if (!sent_.empty()) return;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    connection_.Send({"POSITION", keys_[i], owner_});
    sent_.push_back({Request::kPosition, i});
    connection_.Send({"LOCKINFO", keys_[i]});
    sent_.push_back({Request::kLockInfo, i});
    connection_.Send({"QUEUE", keys_[i], "COUNT", "1"});
    sent_.push_back({Request::kQueue, i});
  }
}

void QueueWatch::Take(const protocol::Reply& reply) {
  const Sent sent = sent_.front();
  sent_.pop_front();
  Finding& finding = findings_[sent.key];
  if (sent.request == Request::kPosition) {
    finding.position = reply.type == protocol::ReplyType::kInteger ? reply.integer : 0;
  } else if (sent.request == Request::kLockInfo) {
    finding.holders = reply.IsError() ? "" : HoldersText(reply);
  } else {
    finding.ahead = reply.IsError() ? "" : AheadText(reply);
  }
}

std::string QueueWatch::AheadText(const protocol::Reply& places) const {
  if (places.elements.empty()) return "";
  const PlaceView first = ReadPlace(places.elements.front());
  if (first.who.owner == owner_) return "";
  std::string text = "; " + context_.errors.Quoted(first.who.owner) + " is ahead";
  if (first.who.key_count == 1) return text;
  return text + " and waits for " + std::to_string(first.who.key_count) + " keys as one";
}

std::string QueueWatch::HoldersText(const protocol::Reply& info) const {
  const LockView lock = ReadLock(info);
  if (lock.override_limit == 0) return "; drained, or the server has just started";
  if (lock.holders.empty()) {
    if (lock.cooling_ms > 0) return "; in cooldown for " + ShowDuration(lock.cooling_ms);
    return lock.reserved_count > 0 ? "; reserved for an absent owner" : "";
  }
  const HolderView& first = lock.holders.front();
  std::string text = "; held by " + context_.errors.Quoted(first.who.owner) + " for " +
                     ShowDuration(first.held_ms);
  if (first.ttl_ms) text += ", lease left " + ShowDuration(*first.ttl_ms);
  const std::size_t more = lock.holders.size() - 1;
  if (more > 0) text += ", and by " + std::to_string(more) + (more == 1 ? " other" : " others");
  return text;
}

std::string QueueWatch::Text(TimeMs now) const {
  const auto furthest = std::ranges::max_element(findings_, {}, [](const Finding& finding) {
    return std::pair(finding.position, !finding.holders.empty());
  });
  const auto index = static_cast<std::size_t>(furthest - findings_.begin());
  std::string text = "waiting for " + context_.errors.Quoted(keys_[index]);
  if (keys_.size() > 1) text += " of " + std::to_string(keys_.size()) + " keys";
  text += " for " + ShowDuration(now - begun_at_);
  if (furthest->position > 0) text += ", place " + std::to_string(furthest->position);
  if (furthest->position == 1) text += ", next";
  return text + (furthest->holders.empty() ? furthest->ahead : furthest->holders);
}

void QueueWatch::Show(TimeMs now) {
  if (!rewrites_line_) return report_.Say("waiting", Text(now));
  const std::size_t columns = std::max<std::size_t>(context_.errors.columns, 2) - 1;
  const std::string line =
      CutToWidth("fairlockctl: " + Text(now), columns, context_.errors.charset);
  std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
  has_shown_ = true;
}

void QueueWatch::Erase() {
  if (has_shown_) std::fputs("\r\x1b[K", stderr);
  has_shown_ = false;
}

boost::json::object RunReport::ObjectOf(std::string_view event) const {
  protocol::Reply keys{.type = protocol::ReplyType::kArray};
  for (const std::string& key : options_.keys) {
    keys.elements.push_back({.type = protocol::ReplyType::kBulk, .text = key});
  }
  boost::json::object object;
  object["event"] = event;
  json::AddReply(object, "keys", keys);
  json::AddText(object, "owner", options_.owner);
  return object;
}

void RunReport::Print(const boost::json::object& object) const {
  std::string line = json::Written(object) + "\n";
  if (context_.errors.is_terminal) line = PrintableJson(line, context_.errors.charset);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void RunReport::Say(std::string_view event, const std::string& text) const {
  if (!options_.is_json) return context_.Say(text);
  boost::json::object object = ObjectOf(event);
  object["message"] = text;
  Print(object);
}

void RunReport::ReportNumber(std::string_view event, std::string_view field,
                             std::int64_t number) const {
  if (!options_.is_json) return;
  boost::json::object object = ObjectOf(event);
  object[field] = number;
  Print(object);
}

Result<int> RunReport::Conclude(Result<int> outcome) const {
  if (!options_.is_json || outcome) return outcome;
  Say("failed", outcome.failure().text);
  return outcome.failure().exit_code;
}

}  // namespace fairlock::cli

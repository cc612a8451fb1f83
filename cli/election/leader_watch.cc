#include "cli/election/leader_watch.h"

#include <algorithm>
#include <utility>

#include "cli/connection/server_errors.h"
#include "cli/views/lock_views.h"

namespace fairlock::cli {

namespace {

constexpr DurationMs kEveryMs = 1'000;
// Delays the questions to a server to which another one has redirected them.
constexpr DurationMs kAfterRedirectMs = 100;

}  // namespace

LeaderWatch::LeaderWatch(const Settings& settings, const Login& login, std::string key)
    : key_(std::move(key)),
      channel_("__lock@" + std::to_string(login.database) + "__:" + key_),
      connection_(settings, login) {}

TimeMs LeaderWatch::WakeAt() const { return std::min(ask_at_, connection_.WakeAt()); }

void LeaderWatch::Advance(TimeMs now) {
  connection_.Advance(now);
  while (const auto reply = connection_.Take()) {
    if (reply->type == protocol::ReplyType::kPush) {
      const bool is_event = !reply->elements.empty() && reply->elements[0].text == "message";
      if (is_event) ask_at_ = now;
      continue;
    }
    in_flight_ -= in_flight_ > 0 ? 1 : 0;
    if (const auto leader = MovedTo(*reply)) {
      connection_.Close();
      connection_.servers().Redirect(*leader);
      ask_at_ = now + kAfterRedirectMs;
      break;
    }
    Take(*reply, now);
  }
  if (now >= ask_at_) Ask(now);
}

// A user may be allowed to look at the key, but not to subscribe to its channel.
void LeaderWatch::Ask(TimeMs now) {
  ask_at_ = now + kEveryMs;
  if (connection_.state() == AsyncConnection::State::kClosed) {
    in_flight_ = 0;
    connection_.Open(now);
    connection_.Send({"SUBSCRIBE", channel_});
  }
  if (in_flight_ > 0) return;
  connection_.Send({"LOCKINFO", key_});
  ++in_flight_;
}

void LeaderWatch::Take(const protocol::Reply& reply, TimeMs now) {
  if (reply.IsError()) return;
  heard_at_ = now;
  const LockView lock = ReadLock(reply);
  if (lock.holders.empty()) return leader_.reset();
  leader_ = Leader{.owner = lock.holders.front().who.owner, .token = lock.holders.front().token};
}

}  // namespace fairlock::cli

#include "cli/run/line_watch.h"

#include <algorithm>
#include <cstdio>

#include "cli/duration.h"

namespace fairlock::cli {

namespace {

// Who is granted the lock at once need not read anything.
constexpr DurationMs kFirstMs = 300;
constexpr DurationMs kEveryMs = 1000;

}  // namespace

LineWatch::LineWatch(const Context& context, std::string key, std::string owner, TimeMs now)
    : context_(context),
      wire_(context.settings, context.login),
      key_(std::move(key)),
      owner_(std::move(owner)),
      begun_at_(now),
      ask_at_(context.errors.is_terminal ? now + kFirstMs : kForever) {}

TimeMs LineWatch::WakeAt() const { return std::min(ask_at_, wire_.WakeAt()); }

void LineWatch::Advance(TimeMs now) {
  wire_.Advance(now);
  while (const auto reply = wire_.Take()) {
    if (reply->type == protocol::ReplyType::kInteger) Show(reply->integer, now);
  }
  if (now < ask_at_) return;
  ask_at_ = now + kEveryMs;
  if (wire_.state() == Wire::State::kClosed) wire_.Open(now);
  wire_.Send({"POSITION", key_, owner_});
}

void LineWatch::Show(std::int64_t position, TimeMs now) {
  std::string line = "fairlockctl: waiting for " + context_.errors.Quoted(key_) + " since " +
                     ShowDuration(now - begun_at_) + ", place " + std::to_string(position);
  if (position == 1) line += ", next";
  const std::size_t columns = std::max<std::size_t>(context_.errors.columns, 2) - 1;
  std::fprintf(stderr, "\r%s\x1b[K", CutToWidth(line, columns, context_.errors.charset).c_str());
  has_shown_ = true;
}

void LineWatch::Erase() {
  if (has_shown_) std::fputs("\r\x1b[K", stderr);
  has_shown_ = false;
}

}  // namespace fairlock::cli

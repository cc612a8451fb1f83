#include "storage/replicated/log_tail.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace fairlock::storage::replicated {

namespace {

// This pause is long, because reading a damaged log again costs as much as reading a good one.
constexpr std::chrono::milliseconds kPauseAfterDamage{10'000};
constexpr std::chrono::milliseconds kPauseOfFinish{50};
// A leader that loads writes a beat several times a second. If it has stopped doing so, another
// node may lead.
constexpr int kCompactedMax = 100;

Status OfStop() { return Refused("reading was stopped"); }

}  // namespace

LogTail::LogTail(std::unique_ptr<etcd::EtcdClient> client, const PartitionKeys& keys,
                 LogTailOptions options)
    : client_(std::move(client)), keys_(keys), options_(std::move(options)) {}

void LogTail::Begin(NewSink new_sink) {
  assert(!thread_.joinable());
  copy_.emplace(keys_, std::move(new_sink));
  state_.in_sync_at = options_.now_ms();
  thread_ = std::thread([this] { Run(); });
}

void LogTail::Stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LogTail::Run() {
  std::chrono::milliseconds pause = options_.pause_min;
  while (!is_stopping_) {
    auto loaded = Load();
    NoteUnreadable(loaded.status());
    Status status = loaded.ok() ? Follow(loaded.value()) : loaded.status();
    if (loaded.ok()) pause = options_.pause_min;
    if (status.ok()) continue;
    if (AwaitStop(status.is_unreadable() ? kPauseAfterDamage : pause)) return;
    pause = std::min(2 * pause, options_.pause_max);
  }
}

void LogTail::NoteUnreadable(const Status& status) {
  const std::lock_guard lock(mutex_);
  state_.unreadable = status.is_unreadable() ? status.message() : "";
}

bool LogTail::AwaitStop(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return is_stopping_.load(); });
}

Result<etcd::RangeAnswer> LogTail::Read(const etcd::Get& get) {
  if (is_stopping_) return OfStop();
  etcd::RangeAnswer answer = client_->Range(get, options_.call_timeout);
  if (answer.outcome != etcd::Outcome::kDone) return Failed(answer.message);
  return answer;
}

Result<std::int64_t> LogTail::Load() {
  auto answer = Read({.key = keys_.beat, .range_end = {}});
  if (!answer.ok()) return answer.status();
  PinnedLog log{.revision = answer->revision};
  if (!answer->found.empty()) {
    auto beat = DecodeBeat(answer->found.front().value);
    if (!beat.ok()) return beat.status();
    log.end = beat->next_frame;
  }
  Status status = copy_->CatchUp({.read = [this](const etcd::Get& get) { return Read(get); }}, log);
  {
    const std::lock_guard lock(mutex_);
    state_.newest_end = log.end;
  }
  CountLag();
  if (!status.ok()) return status;
  return log.revision;
}

Status LogTail::Follow(std::int64_t revision) {
  {
    const std::lock_guard lock(mutex_);
    state_.has_following_ended = false;
    state_.has_begun = false;
    state_.losses = 0;
  }
  auto watch = etcd::EtcdWatch::Begin(
      options_.etcd,
      {.key = keys_.prefix, .range_end = etcd::EndOfPrefix(keys_.prefix), .revision = revision + 1},
      {.began = [this, revision](std::int64_t at) { BeginFollowing(at >= revision); },
       .events = [this](const std::vector<etcd::WatchEvent>& events) { TakeEvents(events); },
       .lost = [this](const std::string&) { LoseFollowing(); },
       .compacted = [this](std::int64_t) { EndFollowing(); }});
  if (!watch.ok()) return watch.status();
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return state_.has_following_ended || is_stopping_; });
  }
  watch.value()->Stop();
  LoseFollowing();
  return {};
}

void LogTail::TakeEvents(const std::vector<etcd::WatchEvent>& events) {
  for (const etcd::WatchEvent& event : events) {
    {
      const std::lock_guard lock(mutex_);
      if (state_.has_following_ended || is_stopping_) return;
    }
    if (!Take(event)) EndFollowing();
  }
  CountLag();
}

// Returns false if the log must be read again.
bool LogTail::Take(const etcd::WatchEvent& event) {
  const std::string& key = event.kv.key;
  const bool is_put = event.kind == etcd::WatchEvent::Kind::kPut;
  if (key == keys_.beat) return is_put && TakeBeat(event.kv);
  if (key == keys_.heading) return is_put && copy_->TakeHeading(event.kv.value).ok();
  const std::uint64_t frame = keys_.FrameNumber(key);
  if (frame == 0) return true;
  if (is_put) return copy_->TakeFrame(event.kv).ok();
  // A snapshot replaces the heading before it deletes frames, in the same transaction.
  if (copy_->IsReplaced(frame)) return true;
  // No snapshot deleted this frame, and the copy must start over.
  copy_->Forget();
  return false;
}

bool LogTail::TakeBeat(const etcd::KeyValue& found) {
  auto beat = DecodeBeat(found.value);
  if (!beat.ok()) return false;
  {
    const std::lock_guard lock(mutex_);
    state_.newest_end = beat->next_frame;
  }
  options_.on_beat({.revision = found.mod_revision, .value = found.value, .beat = beat.value()});
  return true;
}

void LogTail::CountLag() {
  const TimeMs now = options_.now_ms();
  const std::lock_guard lock(mutex_);
  state_.next_frame = std::max<std::uint64_t>(copy_->next_frame(), 1);
  state_.loads = copy_->begun();
  if (state_.next_frame == state_.newest_end) state_.in_sync_at = now;
}

// A stream that does not continue without a break may come from an etcd that was restored from a
// backup: its log may be another one, so it is read again. Members that could not be reached before
// the first stream are no break, or else a standby would never follow while the first member of its
// list is down.
void LogTail::BeginFollowing(bool continues) {
  {
    const std::lock_guard lock(mutex_);
    const bool is_first = !std::exchange(state_.has_begun, true);
    state_.is_following = continues && is_first && state_.losses < options_.etcd.endpoints.size();
    if (state_.is_following) return;
  }
  EndFollowing();
}

void LogTail::LoseFollowing() {
  const std::lock_guard lock(mutex_);
  state_.is_following = false;
  ++state_.losses;
}

void LogTail::EndFollowing() {
  {
    const std::lock_guard lock(mutex_);
    state_.has_following_ended = true;
  }
  changed_.notify_all();
}

StandbyLag LogTail::lag() const {
  const TimeMs now = options_.now_ms();
  const std::lock_guard lock(mutex_);
  StandbyLag lag{.is_following = state_.is_following, .unreadable = state_.unreadable};
  if (state_.newest_end > state_.next_frame) lag.frames = state_.newest_end - state_.next_frame;
  const bool is_in_sync = state_.is_following && lag.frames == 0;
  if (!is_in_sync) lag.ms = std::max<DurationMs>(now - state_.in_sync_at, 0);
  return lag;
}

std::uint64_t LogTail::next_frame() const {
  const std::lock_guard lock(mutex_);
  return state_.next_frame;
}

std::uint64_t LogTail::loads() const {
  const std::lock_guard lock(mutex_);
  return state_.loads;
}

// The leaders of other partitions discard etcd's history, which all partitions share. While this
// node leads and only beats, its log does not change, so the log can be read at the revision of any
// of its beats instead.
Result<LogEnd> LogTail::Finish(const PinnedLog& log,
                               const std::function<Result<std::int64_t>()>& newest_write) {
  assert(!thread_.joinable() && copy_);  // nobody else uses the copy
  std::int64_t revision = log.revision;
  const auto read = [&](etcd::Get get) -> Result<etcd::RangeAnswer> {
    for (int compacted = 0;;) {
      get.revision = revision;
      etcd::RangeAnswer answer = client_->Range(get, options_.call_timeout);
      if (answer.outcome == etcd::Outcome::kDone) return answer;
      if (answer.outcome == etcd::Outcome::kFailed) return Failed("etcd: " + answer.message);
      if (is_abandoned_) return OfStop();
      const auto newest = newest_write();
      if (!newest.ok()) return newest.status();
      const bool is_compacted = answer.outcome == etcd::Outcome::kCompacted;
      if (is_compacted && ++compacted > kCompactedMax) {
        return Status(StatusCode::kDeposed, answer.message);
      }
      if (is_compacted && newest.value() > revision) {
        revision = newest.value();
      } else {
        std::this_thread::sleep_for(kPauseOfFinish);
      }
    }
  };
  const auto may_continue = [&] { return newest_write().status(); };
  Status status = copy_->CatchUp({.read = read, .between = may_continue}, log);
  CountLag();
  if (!status.ok()) return status;
  return copy_->End();
}

}  // namespace fairlock::storage::replicated

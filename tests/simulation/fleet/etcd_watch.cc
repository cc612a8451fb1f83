#include "tests/simulation/fleet/seams/storage/etcd/etcd_watch.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "tests/simulation/fleet/etcd_network.h"
#include "tests/simulation/fleet/seams.h"

namespace fairlock::storage::etcd {

namespace {

constexpr std::chrono::milliseconds kPauseMin{100};
constexpr std::chrono::milliseconds kPauseMax{1'000};

}  // namespace

// Behaves like the real watch with a single endpoint.
class EtcdWatch::Follower {
 public:
  Follower(const EtcdOptions& options, WatchTarget target, WatchReports reports)
      : target_(std::move(target)),
        reports_(std::move(reports)),
        attempt_timeout_(options.attempt_timeout),
        next_revision_(target_.revision),
        thread_([this] { Run(); }) {}
  ~Follower() { Stop(); }

  void Stop();

 private:
  void Run();
  void FollowStream();
  void ReadAll(fleet::WatchStream& stream);
  bool AwaitEvents(const fleet::WatchStream& stream);
  void Pause();

  const WatchTarget target_;
  const WatchReports reports_;
  const std::chrono::milliseconds attempt_timeout_;
  std::int64_t next_revision_;
  int failures_ = 0;  // consecutive failures since a stream last worked
  bool is_compacted_ = false;
  bool is_stopping_ = false;
  std::mutex mutex_;
  fleet::ConditionVariable changed_;
  fleet::Thread thread_;
};

void EtcdWatch::Follower::Stop() {
  is_stopping_ = true;
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void EtcdWatch::Follower::Run() {
  while (!is_stopping_) {
    FollowStream();
    if (is_compacted_ || is_stopping_) return;
    ++failures_;
    reports_.lost("the stream has ended");
    Pause();
  }
}

void EtcdWatch::Follower::Pause() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::min(kPauseMin * (1 << std::min(failures_ - 1, 4)), kPauseMax),
                    [this] { return is_stopping_; });
}

void EtcdWatch::Follower::FollowStream() {
  const auto stream = std::make_shared<fleet::WatchStream>();
  stream->target = {.key = target_.key, .range_end = target_.range_end};
  stream->next_revision = next_revision_;
  stream->process = fleet::Time().current_process().name;
  const Answer opened = fleet::Network().OpenStream(stream, attempt_timeout_);
  if (is_stopping_) return;
  if (opened.outcome == Outcome::kCompacted) {
    is_compacted_ = true;
    reports_.compacted(opened.revision);
  }
  if (opened.outcome != Outcome::kDone) return;
  stream->on_change = [this] { changed_.notify_all(); };
  reports_.began(opened.revision);
  ReadAll(*stream);
  stream->on_change = nullptr;
}

void EtcdWatch::Follower::ReadAll(fleet::WatchStream& stream) {
  while (AwaitEvents(stream)) {
    const std::vector<WatchEvent> events = std::move(stream.received.front());
    stream.received.pop_front();
    failures_ = 0;
    next_revision_ = events.back().kv.mod_revision + 1;
    reports_.events(events);
  }
}

// Returns false if the stream has ended, is silent, or is no longer wanted.
bool EtcdWatch::Follower::AwaitEvents(const fleet::WatchStream& stream) {
  std::unique_lock lock(mutex_);
  while (true) {
    const bool has_change = changed_.wait_for(lock, kQuietTime, [&] {
      return is_stopping_ || stream.has_ended || !stream.received.empty();
    });
    if (is_stopping_) return false;
    if (has_change) return !stream.received.empty();
    lock.unlock();
    const Answer progress = fleet::Network().RequestProgress(attempt_timeout_);
    lock.lock();
    const bool is_silent = progress.outcome != Outcome::kDone || stream.is_stuck;
    if (is_silent && stream.received.empty()) return false;
    failures_ = 0;
  }
}

EtcdWatch::EtcdWatch(std::unique_ptr<Follower> follower) : follower_(std::move(follower)) {}

EtcdWatch::~EtcdWatch() = default;

void EtcdWatch::Stop() { follower_->Stop(); }

Result<std::unique_ptr<EtcdWatch>> EtcdWatch::Begin(const EtcdOptions& options, WatchTarget target,
                                                    WatchReports reports) {
  return std::unique_ptr<EtcdWatch>(
      new EtcdWatch(std::make_unique<Follower>(options, std::move(target), std::move(reports))));
}

}  // namespace fairlock::storage::etcd

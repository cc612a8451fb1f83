#include "storage/replicated/standby.h"

#include <thread>
#include <utility>

namespace fairlock::storage::replicated {

Standby::Standby(etcd::EtcdClient& client, FrameWriter& writer, StandbyOptions options)
    : client_(client),
      writer_(writer),
      options_(std::move(options)),
      leadership_(options_.leadership, options_.now_ms()),
      news_at_(options_.now_ms() - options_.trust_ms) {}

Status Standby::AwaitLeadership() {
  while (!is_stopped_) {
    const bool is_watched = TakeNews() || options_.now_ms() < news_at_ + options_.trust_ms;
    Status status = is_watched ? Status() : Look();
    if (!status.ok()) return status;
    switch (leadership_.Next(options_.now_ms())) {
      case Leadership::Action::kWriteCanary:
        status = WriteCanary();
        break;
      case Leadership::Action::kTakeOver:
        status = TakeOver();
        break;
      case Leadership::Action::kWait:
      case Leadership::Action::kBeat:
        AwaitNews();
        break;
    }
    if (!status.ok()) return status;
    if (leadership_.role() == Leadership::Role::kLeader) return {};
  }
  return Refused("the server stops");
}

Status Standby::Look() {
  const etcd::RangeAnswer answer =
      client_.Range({.key = writer_.keys().beat, .range_end = {}}, options_.call_timeout);
  if (answer.outcome != etcd::Outcome::kDone) return Judge(answer);
  SeenBeat seen;
  if (!answer.found.empty()) {
    seen.revision = answer.found.front().mod_revision;
    seen.value = answer.found.front().value;
    auto beat = DecodeBeat(seen.value);
    if (!beat.ok()) return beat.status();
    seen.beat = beat.value();
  }
  See(seen);
  return {};
}

void Standby::See(const SeenBeat& seen) {
  leadership_.SeeBeat(seen, options_.now_ms());
  const std::lock_guard lock(mutex_);
  seen_ = seen.beat;
  last_error_.clear();
}

void Standby::Hear(const SeenBeat& seen) {
  {
    const std::lock_guard lock(mutex_);
    news_.beat = seen;
    news_.is_urgent = seen.beat.state == Beat::State::kHandedOver;
    if (!news_.is_urgent) return;
  }
  news_.has_urgent.notify_one();
}

// Returns whether there was a new beat.
bool Standby::TakeNews() {
  std::optional<SeenBeat> news;
  {
    const std::lock_guard lock(mutex_);
    news.swap(news_.beat);
    news_.is_urgent = false;
  }
  if (!news || news->revision <= leadership_.seen().revision) return false;
  See(*news);
  news_at_ = options_.now_ms();
  return true;
}

void Standby::AwaitNews() {
  std::unique_lock lock(mutex_);
  news_.has_urgent.wait_for(lock, options_.look_every,
                            [this] { return news_.is_urgent || is_stopped_.load(); });
}

void Standby::Stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  news_.has_urgent.notify_one();
}

Status Standby::WriteCanary() {
  etcd::Txn txn;
  txn.then.push_back(etcd::Put{.key = options_.canary_key, .value = "canary"});
  const etcd::TxnAnswer answer = client_.Transact(txn, options_.call_timeout);
  const TimeMs now = options_.now_ms();
  if (answer.outcome == etcd::Outcome::kDone) {
    leadership_.CanaryWritten(now);
    return {};
  }
  leadership_.CanaryFailed(now);
  return Judge(answer);
}

Status Standby::TakeOver() {
  writer_.TakeOver(leadership_.seen());
  while (!is_stopped_) {
    const etcd::TxnAnswer answer = client_.Transact(writer_.txn(), options_.call_timeout);
    switch (writer_.Take(answer)) {
      case FrameWriter::Progress::kCommitted:
        leadership_.TookOver(writer_.committed(), options_.now_ms());
        return {};
      case FrameWriter::Progress::kDeposed:
        leadership_.SeeBeat(writer_.other(), options_.now_ms());
        return {};
      case FrameWriter::Progress::kFailed:
        return Failed("etcd: " + answer.message);
      case FrameWriter::Progress::kRepeat:
        std::this_thread::sleep_for(options_.look_every / 2);
    }
  }
  return Refused("the server stops");
}

// Whether to go on after a call that was not done.
Status Standby::Judge(const etcd::Answer& answer) {
  {
    const std::lock_guard lock(mutex_);
    last_error_ = answer.message;
  }
  if (answer.outcome == etcd::Outcome::kFailed) return Failed("etcd: " + answer.message);
  std::this_thread::sleep_for(options_.look_every);
  return {};
}

Beat Standby::Seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

std::string Standby::LastError() const {
  const std::lock_guard lock(mutex_);
  return last_error_;
}

}  // namespace fairlock::storage::replicated

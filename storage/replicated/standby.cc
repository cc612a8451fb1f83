#include "storage/replicated/standby.h"

#include <thread>
#include <utility>

namespace fairlock::storage::replicated {

namespace {

// Without what changes with every write of a leader.
Beat LeaderIn(Beat beat) {
  beat.sequence = 0;
  beat.next_frame = 0;
  return beat;
}

}  // namespace

Standby::Standby(etcd::EtcdClient& client, FrameWriter& writer, StandbyOptions options)
    : client_(client),
      writer_(writer),
      options_(std::move(options)),
      leadership_(options_.leadership, options_.now_ms()) {}

Status Standby::AwaitLeadership() {
  while (!is_stopped_) {
    Status status = Look();
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
        std::this_thread::sleep_for(options_.look_every);
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
  JudgeSilence(seen);
  const std::lock_guard lock(mutex_);
  last_error_.clear();
  return {};
}

void Standby::JudgeSilence(const SeenBeat& seen) {
  const TimeMs now = options_.now_ms();
  if (seen != leadership_.seen()) heard_at_ = now;
  leadership_.SeeBeat(seen, now);
  const bool is_leading = seen.exists() && seen.beat.state == Beat::State::kLeading;
  const bool is_silent = is_leading && now >= heard_at_ + options_.silent_ms;
  bool is_refused = false;
  {
    const std::lock_guard lock(mutex_);
    is_refused = refused_ == seen.beat.run;
  }
  if (is_silent && is_refused) leadership_.LeaderRefused(now);
  // A port that refused may belong to a leader that still lives.
  if (!is_silent && is_refused) LeaderRefused({});
  Report({.beat = LeaderIn(seen.beat), .is_silent = is_silent});
}

void Standby::LeaderRefused(const RunId& run) {
  const std::lock_guard lock(mutex_);
  refused_ = run;
}

void Standby::Report(const LeaderView& view) {
  if (view == reported_) return;
  reported_ = view;
  if (options_.on_leader) options_.on_leader(view);
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
        Report({.beat = LeaderIn(writer_.committed().beat), .is_this_node = true});
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

std::string Standby::LastError() const {
  const std::lock_guard lock(mutex_);
  return last_error_;
}

}  // namespace fairlock::storage::replicated

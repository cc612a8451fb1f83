#include "storage/replicated/standby.h"

#include <algorithm>
#include <cassert>
#include <thread>
#include <utility>

namespace fairlock::storage::replicated {

namespace {

// The beat without the fields that change with every write of a leader.
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
      leadership_(options_.leadership, options_.now_ms()),
      consent_(client, writer.keys(), options_.call_timeout) {
  leader_.heard_at = options_.now_ms();
  leader_.news_at = leader_.heard_at - options_.trust_ms;
}

Status Standby::AwaitLeadership() {
  assert(!leadership_.leads());
  while (!is_stopped_) {
    const bool is_watched = TakeNews() || options_.now_ms() < leader_.news_at + options_.trust_ms;
    Status status = is_watched && !awaits_acceptance_ ? Status() : Look();
    if (!status.ok()) return status;
    if (leadership_.seen().beat.state == Beat::State::kImporting) return ImportNotEnded();
    switch (leadership_.Next(options_.now_ms())) {
      case Leadership::Action::kWriteCanary:
        status = WriteCanary();
        break;
      case Leadership::Action::kTakeOver:
        status = TakeOver();
        break;
      case Leadership::Action::kWait:
        AwaitNews();
        break;
    }
    if (!status.ok()) return status;
    if (leadership_.leads()) return {};
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
  return LookWhetherAccepted();
}

void Standby::See(const SeenBeat& seen) {
  leadership_.set_rank(rank_);
  if (is_etcd_doubted_.exchange(false)) leadership_.NoteRestore(seen.beat.epoch);
  JudgeSilence(seen);
  awaits_acceptance_ = leadership_.has_gone_back();
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
  leader_.news_at = options_.now_ms();
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

Status Standby::LookWhetherAccepted() {
  if (!awaits_acceptance_) return {};
  const std::uint64_t highest = leadership_.highest().epoch;
  const etcd::Answer answer = consent_.Exchange(highest);
  if (answer.outcome != etcd::Outcome::kDone) return Judge(answer);
  if (consent_.accepted_epoch() < std::max(highest, consent_.restored_epoch())) {
    const etcd::Answer marked = consent_.Mark(highest);
    return marked.outcome == etcd::Outcome::kDone ? Status() : Judge(marked);
  }
  leadership_.AcceptRestore(options_.now_ms());
  awaits_acceptance_ = false;
  return {};
}

void Standby::JudgeSilence(const SeenBeat& seen) {
  const TimeMs now = options_.now_ms();
  if (seen != leadership_.seen()) leader_.heard_at = now;
  leadership_.SeeBeat(seen, now);
  const bool is_leading = seen.exists() && seen.beat.state == Beat::State::kLeading;
  const bool is_silent = is_leading && now >= leader_.heard_at + options_.silent_ms;
  bool is_refused = false;
  {
    const std::lock_guard lock(mutex_);
    is_refused = refused_ == seen.beat.run;
  }
  if (is_silent && is_refused) leadership_.LeaderRefused(now);
  // Forgets a refusal when the leader is heard: its port refused although it was still alive.
  if (!is_silent && is_refused) LeaderRefused({});
  Report({.beat = LeaderIn(seen.beat),
          .is_silent = is_silent,
          .awaits_acceptance = leadership_.has_gone_back(),
          .is_lost = HeardMsAgo() >= kLostMs});
}

// Call this when etcd has not answered.
void Standby::NoteLoss() {
  LeaderView view = leader_.reported;
  view.is_lost = HeardMsAgo() >= kLostMs;
  Report(view);
}

DurationMs Standby::HeardMsAgo() const { return options_.now_ms() - leader_.heard_at; }

void Standby::LeaderRefused(const RunId& run) {
  const std::lock_guard lock(mutex_);
  refused_ = run;
}

void Standby::Report(const LeaderView& view) {
  if (view == leader_.reported) return;
  leader_.reported = view;
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
  const SeenBeat& seen = leadership_.seen();
  const etcd::Answer consent = consent_.Exchange(leadership_.highest().epoch);
  if (consent.outcome != etcd::Outcome::kDone) return Judge(consent);
  if (consent_.accepted_epoch() < consent_.restored_epoch()) {
    leadership_.NoteRestore(consent_.restored_epoch());
    awaits_acceptance_ = true;
    return {};
  }
  is_restored_ = seen.exists() && consent_.accepted_epoch() >= seen.beat.epoch;
  writer_.TakeOver(seen, is_restored_ ? consent_.accepted_epoch() : 0, Beat::State::kLeading,
                   consent_.IsUnchanged());
  while (!is_stopped_) {
    const etcd::TxnAnswer answer = client_.Transact(writer_.txn(), options_.call_timeout);
    switch (writer_.Take(answer)) {
      case FrameWriter::Progress::kCommitted:
        leadership_.TookOver(writer_.committed());
        Report({.beat = LeaderIn(writer_.committed().beat), .is_this_node = true});
        return {};
      case FrameWriter::Progress::kDeposed:
        leadership_.SeeBeat(writer_.other(), options_.now_ms());
        return {};
      case FrameWriter::Progress::kFailed:
        return Failed("etcd: " + answer.message);
      case FrameWriter::Progress::kRepeat:
        NoteLoss();
        std::this_thread::sleep_for(options_.look_every / 2);
    }
  }
  return Refused("the server stops");
}

// Returns ok if this standby can continue after a call that did not succeed.
Status Standby::Judge(const etcd::Answer& answer) {
  {
    const std::lock_guard lock(mutex_);
    last_error_ = answer.message;
  }
  if (answer.outcome == etcd::Outcome::kFailed) return Failed("etcd: " + answer.message);
  NoteLoss();
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

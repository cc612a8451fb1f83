#include "storage/replicated/frame_writer.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "text/hexadecimal.h"
#include "text/number.h"

namespace fairlock::storage::replicated {

namespace {

constexpr std::size_t kNumberDigits = 16;

}  // namespace

PartitionKeys::PartitionKeys(std::string its_prefix)
    : prefix(std::move(its_prefix)),
      beat(prefix + "beat"),
      heading(prefix + "h"),
      frames(prefix + "f/"),
      accepted(prefix + "accepted"),
      restored(prefix + "restored") {}

std::string PartitionKeys::FrameKey(std::uint64_t number) const {
  return frames + text::HexOf(number, kNumberDigits);
}

std::uint64_t PartitionKeys::FrameNumber(std::string_view key) const {
  if (key.size() != frames.size() + kNumberDigits || !key.starts_with(frames)) return 0;
  return text::ParseNumber<std::uint64_t>(key.substr(frames.size()), 16).value_or(0);
}

FrameWriter::FrameWriter(PartitionKeys keys, RunId run, std::string leader, std::string address,
                         std::uint16_t tls_port)
    : keys_(std::move(keys)),
      run_(run),
      leader_(std::move(leader)),
      address_(std::move(address)),
      tls_port_(tls_port) {}

const etcd::Txn& FrameWriter::Start(const SeenBeat& guard) {
  assert(!is_in_progress_);
  is_in_progress_ = true;
  next_.value = EncodeBeat(next_.beat);
  next_.revision = 0;
  txn_ = {};
  txn_.compares.push_back({.key = keys_.beat,
                           .target = etcd::Compare::Target::kModRevision,
                           .revision = guard.revision,
                           .value = {}});
  if (guard.exists()) {
    txn_.compares.push_back({.key = keys_.beat,
                             .target = etcd::Compare::Target::kValue,
                             .revision = 0,
                             .value = guard.value});
  }
  txn_.then.push_back(etcd::Put{.key = keys_.beat, .value = next_.value});
  txn_.otherwise.push_back(etcd::Get{.key = keys_.beat, .range_end = {}});
  return txn_;
}

const etcd::Txn& FrameWriter::TakeOver(const SeenBeat& seen, std::uint64_t epoch_floor,
                                       Beat::State state, std::optional<etcd::Compare> also) {
  next_.beat = seen.beat;
  next_.beat.epoch = std::max(seen.beat.epoch, epoch_floor) + 1;
  next_.beat.run = run_;
  next_.beat.sequence = seen.beat.sequence + 1;
  next_.beat.state = state;
  next_.beat.leader = leader_;
  next_.beat.address = address_;
  next_.beat.tls_port = tls_port_;
  next_.beat.successor.clear();
  Start(seen);
  if (also) txn_.compares.push_back(std::move(*also));
  return txn_;
}

const etcd::Txn& FrameWriter::Write(const GuardedWrite& write) {
  assert(committed_.exists() && committed_.beat.state != Beat::State::kHandedOver);
  next_.beat = committed_.beat;
  ++next_.beat.sequence;
  if (write.hands_over) next_.beat.state = Beat::State::kHandedOver;
  next_.beat.successor = write.successor;
  const std::uint64_t first = committed_.beat.next_frame;
  next_.beat.next_frame = first + write.frames.size();
  Start(committed_);
  for (std::size_t i = 0; i < write.frames.size(); ++i) {
    txn_.then.push_back(etcd::Put{.key = keys_.FrameKey(first + i), .value = write.frames[i]});
  }
  if (!write.heading.empty()) {
    txn_.then.push_back(etcd::Put{.key = keys_.heading, .value = write.heading});
    txn_.then.push_back(etcd::DeleteRange{.key = keys_.FrameKey(0),
                                          .range_end = keys_.FrameKey(write.first_frame)});
  }
  return txn_;
}

FrameWriter::Progress FrameWriter::Take(const etcd::TxnAnswer& answer) {
  assert(is_in_progress_);
  switch (answer.outcome) {
    case etcd::Outcome::kDone:
      next_.revision = answer.revision;
      committed_ = next_;
      is_in_progress_ = false;
      return Progress::kCommitted;
    case etcd::Outcome::kRefused:
      break;
    case etcd::Outcome::kUnknown:
    case etcd::Outcome::kUnavailable:
    // Repeated, because the operator can make space, and an earlier attempt may have been
    // committed.
    case etcd::Outcome::kNoSpace:
      return Progress::kRepeat;
    case etcd::Outcome::kCompacted:
    case etcd::Outcome::kNoLease:
    case etcd::Outcome::kFailed:
      return Progress::kFailed;
  }
  is_in_progress_ = false;
  // The beat is that of this write, which no other run can write. So an earlier attempt was
  // committed, and its answer was lost.
  if (!answer.found.empty() && answer.found.front().value == next_.value) {
    next_.revision = answer.found.front().mod_revision;
    committed_ = next_;
    return Progress::kCommitted;
  }
  other_ = {};
  if (!answer.found.empty()) {
    other_.revision = answer.found.front().mod_revision;
    other_.value = answer.found.front().value;
    if (auto beat = DecodeBeat(other_.value); beat.ok()) other_.beat = beat.value();
  }
  return Progress::kDeposed;
}

}  // namespace fairlock::storage::replicated

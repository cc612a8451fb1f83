#include "storage/replicated/log_copy.h"

#include <cassert>
#include <utility>

namespace fairlock::storage::replicated {

Status LogCopy::CatchUp(const PageReader& pages, const PinnedLog& log) {
  auto heading = ReadHeading(pages, keys_, log.revision);
  if (!heading.ok()) return heading.status();
  if (heading->empty()) {
    Forget();
    return log.end == 1 ? Status() : Damaged("the key " + keys_.heading + " is missing");
  }
  auto continuation = Compare(pages, log, heading.value());
  if (!continuation.ok()) return continuation.status();
  if (continuation.value() == Continuation::kNone) return ReadAnew(pages, log, heading.value());
  Status status = ReadFrames(pages, keys_, log, log_->reading);
  if (status.ok() && continuation.value() == Continuation::kNewHeading) {
    status = log_->reading.ReplaceHeading(heading.value(), log_->reader);
  }
  return status.is_unreadable() ? ReadAnew(pages, log, heading.value()) : status;
}

Status LogCopy::ReadAnew(const PageReader& pages, const PinnedLog& log,
                         const std::string& heading) {
  ++begun_;
  Forget();
  log_.emplace(keys_, new_sink_());
  Status status = log_->reading.TakeHeading(heading);
  if (status.ok()) status = ReadFrames(pages, keys_, log, log_->reading);
  if (status.is_unreadable()) Forget();
  return status;
}

// How this log continues what was read.
Result<LogCopy::Continuation> LogCopy::Compare(const PageReader& pages, const PinnedLog& log,
                                               const std::string& heading) {
  if (!log_ || next_frame() > log.end) return Continuation::kNone;
  const std::uint64_t last = log_->reading.last_frame().number;
  if (log_->reading.heading_value() == heading) {
    if (last == 0) return Continuation::kSameLog;
    const auto has_last = HasLastFrame(pages, log);
    if (!has_last.ok()) return has_last.status();
    return has_last.value() ? Continuation::kSameLog : Continuation::kNone;
  }
  const auto newer = ParseHeadingValue(heading, keys_);
  if (!newer.ok()) return newer.status();
  if (!log_->reading.is_whole() || newer->decoded.generation <= log_->reading.generation()) {
    return Continuation::kNone;
  }
  if (last < newer->first_frame) {
    return IsReadUpTo(newer.value()) ? Continuation::kNewHeading : Continuation::kNone;
  }
  const auto has_last = HasLastFrame(pages, log);
  if (!has_last.ok()) return has_last.status();
  return has_last.value() ? Continuation::kNewHeading : Continuation::kNone;
}

// Whether every frame was read that the snapshot has deleted, and no other one. These frames
// cannot be compared any more, but the batch before the snapshot can.
bool LogCopy::IsReadUpTo(const StoredHeading& heading) const {
  assert(log_);
  const LogEnd& end = log_->reader.so_far();
  return next_frame() == heading.first_frame && end.next_batch == heading.decoded.first_batch &&
         end.checksum == heading.decoded.checksum_before;
}

Result<bool> LogCopy::HasLastFrame(const PageReader& pages, const PinnedLog& log) const {
  const FrameMark& last = log_->reading.last_frame();
  auto answer =
      pages.read({.key = keys_.FrameKey(last.number), .range_end = {}, .revision = log.revision});
  if (!answer.ok()) return answer.status();
  return !answer->found.empty() && MarkOf(last.number, answer->found.front()) == last;
}

Status LogCopy::TakeFrame(const etcd::KeyValue& frame) {
  if (!log_) return Damaged("no snapshot header was read");
  Status status = log_->reading.TakeFrame(frame);
  if (!status.ok()) Forget();
  return status;
}

Status LogCopy::TakeHeading(const std::string& value) {
  if (!log_) return Damaged("no snapshot header was read");
  return log_->reading.ReplaceHeading(value, log_->reader);
}

bool LogCopy::IsReplaced(std::uint64_t frame) const {
  return log_ && frame < log_->reading.first_frame();
}

Result<LogEnd> LogCopy::End() {
  if (!log_) return Damaged("no snapshot header was read");
  Status status = log_->reading.FinishSlices();
  if (!status.ok()) return status;
  return log_->reader.End();
}

}  // namespace fairlock::storage::replicated

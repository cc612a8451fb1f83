#include "storage/replicated/log_copy.h"

#include <utility>

namespace fairlock::storage::replicated {

Status LogCopy::CatchUp(const PageReader& pages, const PinnedLog& log) {
  auto heading = ReadHeading(pages, keys_, log.revision);
  if (!heading.ok()) return heading.status();
  if (heading->empty()) {
    Forget();
    return log.end == 1 ? Status() : Damaged("the key " + keys_.heading + " is missing");
  }
  auto continues = Continues(pages, log, heading.value());
  if (!continues.ok()) return continues.status();
  if (continues.value()) {
    Status status = ReadFrames(pages, keys_, log, log_->reading);
    if (status.code() != StatusCode::kDamaged) return status;
  }
  ++begun_;
  Forget();
  log_.emplace(keys_, new_sink_());
  Status status = log_->reading.TakeHeading(heading.value());
  if (status.ok()) status = ReadFrames(pages, keys_, log, log_->reading);
  if (status.code() == StatusCode::kDamaged) Forget();
  return status;
}

// Whether this log begins with what was read.
Result<bool> LogCopy::Continues(const PageReader& pages, const PinnedLog& log,
                                const std::string& heading) {
  if (!log_ || log_->reading.heading_value() != heading || next_frame() > log.end) return false;
  const FrameMark& last = log_->reading.last_frame();
  if (last.number == 0) return true;
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

Result<LogEnd> LogCopy::End() {
  if (!log_) return Damaged("no snapshot header was read");
  Status status = log_->reading.FinishSlices();
  if (!status.ok()) return status;
  return log_->reader.End();
}

}  // namespace fairlock::storage::replicated

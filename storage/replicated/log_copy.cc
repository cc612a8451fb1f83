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
  const etcd::KeyValue& last = log_->reading.last_frame();
  if (last.key.empty()) return true;
  auto answer = pages.read({.key = last.key, .range_end = {}, .revision = log.revision});
  if (!answer.ok()) return answer.status();
  if (answer->found.empty()) return false;
  const etcd::KeyValue& found = answer->found.front();
  return found.mod_revision == last.mod_revision && found.value == last.value;
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

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
  const bool continues =
      log_ && log_->reading.heading_value() == heading.value() && next_frame() <= log.end;
  if (continues) {
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

Status LogCopy::TakeFrame(std::string_view key, std::string_view value) {
  if (!log_) return Damaged("no snapshot header was read");
  Status status = log_->reading.TakeFrame(key, value);
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

#include "protocol/reply_scanner.h"

#include <algorithm>
#include <utility>

#include "protocol/reply_element.h"

namespace fairlock::protocol {
namespace {

using ElementStatus = ReplyElement::Status;

}  // namespace

ReplyScanner::ReplyScanner(const ReplyLimits& limits) : limits_(limits) {
  limits_.depth_max = std::min(limits_.depth_max, kDepthMax);
  missing_[0] = 1;
}

ReplyStatus ReplyScanner::Scan(std::string_view input, std::size_t& consumed) {
  consumed = 0;
  if (input.size() < needed_bytes_) return ReplyStatus::kNeedMore;
  while (depth_ != 0 || missing_[0] != 0) {
    const ReplyElement element = ReadReplyElement(input, settled_bytes_, limits_.bytes_max);
    if (element.status == ElementStatus::kInvalid) return Fail(element.error);
    if (element.status == ElementStatus::kPartial) {
      needed_bytes_ = element.needed_bytes;
      return ReplyStatus::kNeedMore;
    }
    if (!element.is_attribute) {
      if (depth_ == 0) head_bytes_ = settled_bytes_;
      --missing_[depth_];
    }
    settled_bytes_ = element.end;
    if (element.children != 0 && !Descend(element.children)) return Fail("too deep reply");
    while (depth_ != 0 && missing_[depth_] == 0) --depth_;
  }
  missing_[0] = 1;
  needed_bytes_ = 0;
  consumed = std::exchange(settled_bytes_, 0);
  return ReplyStatus::kReply;
}

bool ReplyScanner::Descend(std::uint64_t elements) {
  if (depth_ == limits_.depth_max) return false;
  missing_[++depth_] = elements;
  return true;
}

ReplyStatus ReplyScanner::Fail(std::string_view error) {
  error_ = error;
  return ReplyStatus::kError;
}

SkippedReply SkipReply(std::string_view input) {
  const ReplyLimits limits;
  SkippedReply reply;
  ReplyElement head = ReadReplyElement(input, 0, limits.bytes_max);
  if (head.status == ElementStatus::kPartial) return reply;
  reply.consumed = head.end;
  reply.status = head.status == ElementStatus::kWhole ? ReplyStatus::kReply : ReplyStatus::kError;
  const bool more_follows = head.children != 0 || head.is_attribute;
  if (reply.status == ReplyStatus::kReply && more_follows) {
    ReplyScanner scanner(limits);
    reply.status = scanner.Scan(input, reply.consumed);
    if (reply.status == ReplyStatus::kReply) {
      head = ReadReplyElement(input, scanner.head_bytes(), limits.bytes_max);
    }
  }
  reply.type = head.type;
  reply.integer = head.integer;
  reply.text = head.text;
  return reply;
}

}  // namespace fairlock::protocol

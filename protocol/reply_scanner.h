// Finds where a reply ends, without building it.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/reply.h"

namespace fairlock::protocol {

enum class ReplyStatus : std::uint8_t { kReply, kNeedMore, kError };

struct ReplyLimits {
  // The whole reply. A length or a count beyond it is an error as soon as it is claimed.
  std::size_t bytes_max = std::size_t{64} * 1024 * 1024;
  // Arrays in arrays; at most ReplyScanner::kDepthMax.
  std::size_t depth_max = 32;
};

// A value with a few bytes for each level of nesting; it continues where it stopped. The contract
// of the input is that of RequestParser: after kNeedMore the same bytes (they may have moved) and
// more.
class ReplyScanner {
 public:
  static constexpr std::size_t kDepthMax = 32;

  explicit ReplyScanner(const ReplyLimits& limits = {});

  // With kReply `consumed` is the length of the reply, and the scanner is ready for the next one.
  // With kError it must not be used any more.
  ReplyStatus Scan(std::string_view input, std::size_t& consumed);

  // After kReply: where the reply itself began, behind its attributes.
  std::size_t head_bytes() const { return head_bytes_; }

  // With kError: what is wrong with the reply. Static text.
  std::string_view error() const { return error_; }

 private:
  ReplyStatus Fail(std::string_view error);
  bool Descend(std::uint64_t elements);

  ReplyLimits limits_;
  std::string_view error_;
  std::size_t needed_bytes_ = 0;
  std::size_t settled_bytes_ = 0;  // behind the last whole element
  std::size_t head_bytes_ = 0;
  std::size_t depth_ = 0;
  std::array<std::uint64_t, kDepthMax + 1> missing_{};  // elements, by level; level 0 is the reply
};

// What a load generator asks about a reply.
struct SkippedReply {
  ReplyStatus status = ReplyStatus::kNeedMore;
  ReplyType type = ReplyType::kNull;
  std::size_t consumed = 0;
  std::int64_t integer = 0;    // kInteger, kBoolean
  std::string_view text = {};  // of a reply that is not an aggregate; a view into the input
};

// The reply at the front of the input, in time proportional to its length and without allocation.
// Remembers nothing: after kNeedMore it begins anew.
SkippedReply SkipReply(std::string_view input);

}  // namespace fairlock::protocol

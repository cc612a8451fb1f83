// Finds the end of a reply without building it.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/reply.h"

namespace fairlock::protocol {

enum class ReplyStatus : std::uint8_t { kReply, kNeedMore, kError };

struct ReplyLimits {
  // For the whole reply. A length or count that exceeds it is an error as soon as it is announced.
  std::size_t bytes_max = std::size_t{64} * 1024 * 1024;
  // The maximum nesting depth of arrays; must not exceed ReplyScanner::kDepthMax.
  std::size_t depth_max = 32;
};

// Small enough to copy: a few bytes per nesting level. Each call continues where the previous one
// stopped. The contract for the input is the same as that of RequestParser: after kNeedMore the
// caller must pass the same bytes again (at any address), followed by more.
class ReplyScanner {
 public:
  static constexpr std::size_t kDepthMax = 32;

  explicit ReplyScanner(const ReplyLimits& limits = {});

  // On kReply, `consumed` is the length of the reply, and the scanner is ready for the next one.
  // After kError the scanner must not be used.
  ReplyStatus Scan(std::string_view input, std::size_t& consumed);

  // The offset of the reply itself, after its attributes. Valid after kReply.
  std::size_t head_bytes() const { return head_bytes_; }

  // What is wrong with the reply, after kError. A static string.
  std::string_view error() const { return error_; }

 private:
  ReplyStatus Fail(std::string_view error);
  bool Descend(std::uint64_t elements);

  ReplyLimits limits_;
  std::string_view error_;
  std::size_t needed_bytes_ = 0;
  std::size_t settled_bytes_ = 0;  // end of the last complete element
  std::size_t head_bytes_ = 0;
  std::size_t depth_ = 0;
  // How many elements are still missing at each nesting level; level 0 is the reply itself.
  std::array<std::uint64_t, kDepthMax + 1> missing_{};
};

// The facts about a reply that a load generator needs.
struct SkippedReply {
  ReplyStatus status = ReplyStatus::kNeedMore;
  ReplyType type = ReplyType::kNull;
  std::size_t consumed = 0;
  std::int64_t integer = 0;    // kInteger, kBoolean
  std::string_view text = {};  // as in Reply, if it is not an aggregate; a view into the input
};

// Scans the reply at the front of the input without allocation, in time proportional to its length.
// Keeps no state: after kNeedMore it starts over.
SkippedReply SkipReply(std::string_view input);

}  // namespace fairlock::protocol

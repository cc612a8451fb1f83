// Whatever arrives, and however it is split, the reply parser gives the same result, and so does
// skipping replies.

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "protocol/reply_parser.h"

namespace {

using namespace fairlock::protocol;  // NOLINT(google-build-using-namespace)

struct Outcome {
  ReplyStatus status = ReplyStatus::kNeedMore;
  Reply reply = {};
  std::size_t consumed = 0;
};

Outcome ParseInPieces(std::string_view bytes, std::size_t piece_bytes) {
  ReplyParser parser;
  Outcome outcome;
  std::size_t size = 0;
  while (outcome.status == ReplyStatus::kNeedMore && size < bytes.size()) {
    size = std::min(size + piece_bytes, bytes.size());
    const std::vector<char> moved(bytes.begin(), bytes.begin() + size);
    outcome.status = parser.Parse({moved.data(), size}, outcome.reply, outcome.consumed);
  }
  return outcome;
}

}  // namespace

// The first byte chooses the size of the pieces.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = ParseInPieces(bytes, bytes.size());
  const Outcome pieces = ParseInPieces(bytes, 1 + data[0] % 16);
  assert(whole.status == pieces.status);
  assert(whole.consumed == pieces.consumed && whole.consumed <= bytes.size());
  const SkippedReply skipped = SkipReply(bytes);
  assert(whole.status == skipped.status);
  if (whole.status == ReplyStatus::kReply) {
    assert(whole.consumed == skipped.consumed);
    assert(whole.reply.type == skipped.type && whole.reply.text == skipped.text);
  }
  return 0;
}

// The parser's heap allocations: none when a length is merely announced, and none once the parser's
// argument list has grown to its size.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>

#include "protocol/reply_parser.h"
#include "protocol/request_parser.h"
#include "protocol/request_writer.h"
#include "tests/unit/protocol/malformed_frames.h"

namespace {

std::size_t allocated_bytes = 0;

}  // namespace

void* operator new(std::size_t size) {
  allocated_bytes += size;
  if (void* memory = std::malloc(size != 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace fairlock::protocol {
namespace {

std::size_t BytesAllocatedFor(std::string_view bytes, Arguments& arguments,
                              const RequestLimits& limits = kDefaultLimits) {
  RequestParser parser;
  const std::size_t before = allocated_bytes;
  parser.Parse(bytes, limits, arguments);
  return allocated_bytes - before;
}

TEST(Allocation, IsNoneForARequestOnceTheListHasGrown) {
  std::string request;
  AppendRequest(request, {"LOCK", "order:42", "worker-1", "PX", "30000", "NEW"});
  const std::string line = "LOCK \"order 42\" 'worker 1' PX 30000 NEW\r\n";
  Arguments arguments;
  BytesAllocatedFor(request, arguments);
  BytesAllocatedFor(line, arguments);
  EXPECT_EQ(BytesAllocatedFor(request, arguments), 0u);
  EXPECT_EQ(BytesAllocatedFor(line, arguments), 0u);
}

TEST(Allocation, IsNoneForAClaim) {
  for (const std::string_view claim :
       {"*16384\r\n", "*1\r\n$524288\r\n", "*2147483647\r\n", "*1\r\n$9223372036854775807\r\n"}) {
    Arguments arguments;
    EXPECT_EQ(BytesAllocatedFor(claim, arguments), 0u) << claim;
  }
}

// A malformed frame makes the shared list grow only in proportion to what was sent: 16 bytes per
// argument, whose shortest form is a letter and a space. The count includes the smaller lists that
// were replaced as the list grew, and the scratch buffer, which is as long as the line.
TEST(Allocation, IsBoundedForMalformedFrames) {
  for (const MalformedFrame& frame : MalformedFrames()) {
    Arguments arguments;
    const RequestLimits& limits = frame.before_auth ? kBeforeAuth : kDefaultLimits;
    const std::size_t allocated = BytesAllocatedFor(frame.bytes, arguments, limits);
    EXPECT_LE(allocated, (4 * 16 / 2 + 1) * frame.bytes.size() + 64) << frame.name;
  }
}

TEST(Allocation, IsNoneForAClaimOfAReply) {
  for (const std::string_view claim : {"*1000000\r\n", "%1000000\r\n", "$60000000\r\n", "~9\r\n"}) {
    ReplyParser parser;
    Reply reply;
    std::size_t consumed = 0;
    const std::size_t before = allocated_bytes;
    EXPECT_EQ(parser.Parse(claim, reply, consumed), ReplyStatus::kNeedMore) << claim;
    EXPECT_EQ(allocated_bytes, before) << claim;
  }
}

TEST(Allocation, IsNoneForSkippingAReply) {
  const std::string_view reply = "*3\r\n:1\r\n$3\r\nkey\r\n%1\r\n+a\r\n_\r\n";
  const std::size_t before = allocated_bytes;
  EXPECT_EQ(SkipReply(reply).consumed, reply.size());
  EXPECT_EQ(allocated_bytes, before);
}

}  // namespace
}  // namespace fairlock::protocol

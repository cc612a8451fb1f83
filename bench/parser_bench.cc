// The cost of parsing a request and of writing or skipping a reply.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "protocol/reply_parser.h"
#include "protocol/reply_writer.h"
#include "protocol/request_parser.h"
#include "protocol/request_writer.h"

namespace {

using namespace fairlock::protocol;  // NOLINT(google-build-using-namespace)

constexpr std::string_view kOwner = "worker-1:4711:0123456789abcdef01";  // 32 bytes

std::string LockRequest() {
  std::string bytes;
  AppendRequest(bytes, {"LOCK", "lock:1234567890", kOwner, "PX", "30000", "NEW"});
  return bytes;
}

std::string Pipeline(std::size_t requests) {
  std::string bytes;
  for (std::size_t i = 0; i < requests; ++i) {
    const std::string key = "lock:" + std::to_string(i * 7919 % 100'000);
    AppendRequest(bytes, {"LOCK", key, kOwner, "PX", "30000", "NEW"});
    AppendRequest(bytes, {"UNLOCK", key, kOwner});
  }
  return bytes;
}

void ParseAll(benchmark::State& state, const std::string& bytes, std::size_t requests) {
  RequestParser parser;
  Arguments arguments;
  for (auto _ : state) {
    std::string_view rest = bytes;
    while (!rest.empty()) {
      const ParseResult result = parser.Parse(rest, kDefaultLimits, arguments);
      if (result.status != ParseStatus::kRequest) return state.SkipWithError("not a request");
      benchmark::DoNotOptimize(arguments.begin());
      rest.remove_prefix(result.consumed);
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(requests));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

void LockOfSixArguments(benchmark::State& state) { ParseAll(state, LockRequest(), 1); }
BENCHMARK(LockOfSixArguments);

// Alternating LOCK and UNLOCK with keys of different lengths: the reported time is that of 64
// pairs.
void PipelineOf128(benchmark::State& state) { ParseAll(state, Pipeline(64), 128); }
BENCHMARK(PipelineOf128);

void Ping(benchmark::State& state) { ParseAll(state, "*1\r\n$4\r\nPING\r\n", 1); }
BENCHMARK(Ping);

void InlineLock(benchmark::State& state) {
  ParseAll(state, "LOCK lock:1234567890 worker-1 PX 30000 NEW\r\n", 1);
}
BENCHMARK(InlineLock);

// The reported time is that of the whole request, however it arrived.
void LockByteByByte(benchmark::State& state) {
  const std::string bytes = LockRequest();
  RequestParser parser;
  Arguments arguments;
  for (auto _ : state) {
    for (std::size_t size = 1; size <= bytes.size(); ++size) {
      const std::string_view input = std::string_view(bytes).substr(0, size);
      benchmark::DoNotOptimize(parser.Parse(input, kDefaultLimits, arguments));
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK(LockByteByByte);

// 16,384 arguments in packets of 1,000 bytes: the time per byte must not grow with the request.
void LargeRequestInPackets(benchmark::State& state) {
  const std::string argument(static_cast<std::size_t>(state.range(0)), 'x');
  std::string bytes = "*16384\r\n";
  for (int i = 0; i < 16'384; ++i) {
    bytes += "$" + std::to_string(argument.size()) + "\r\n" + argument + "\r\n";
  }
  RequestParser parser;
  Arguments arguments;
  constexpr std::size_t kPacketBytes = 1000;
  for (auto _ : state) {
    for (std::size_t size = kPacketBytes; size < bytes.size() + kPacketBytes;
         size += kPacketBytes) {
      const std::string_view input = std::string_view(bytes).substr(0, size);
      benchmark::DoNotOptimize(parser.Parse(input, kDefaultLimits, arguments));
    }
    if (arguments.size() != 16'384) return state.SkipWithError("not a request");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK(LargeRequestInPackets)->Arg(1)->Arg(32);

void WriteToken(benchmark::State& state) {
  std::string out;
  std::int64_t token = 123'456'789'012'345;
  for (auto _ : state) {
    out.clear();
    ReplyWriter(out, RespVersion::kResp2).Integer(++token);
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(WriteToken);

void WriteBulk(benchmark::State& state) {
  std::string out;
  for (auto _ : state) {
    out.clear();
    ReplyWriter(out, RespVersion::kResp2).Bulk(kOwner);
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(WriteBulk);

void SkipToken(benchmark::State& state) {
  std::string_view reply = ":123456789012345\r\n";
  for (auto _ : state) {
    benchmark::DoNotOptimize(reply);
    benchmark::DoNotOptimize(SkipReply(reply));
  }
}
BENCHMARK(SkipToken);

}  // namespace

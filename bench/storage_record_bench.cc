// The cost of encoding and decoding rows, and of sealing a record of them.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "storage/records/record.h"
#include "storage/records/rows.h"

namespace {

using namespace fairlock::storage;  // NOLINT(google-build-using-namespace)

constexpr std::size_t kRows = 1024;

std::vector<std::string> Keys() {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < kRows; ++i) keys.push_back("lock:" + std::to_string(i * 7919));
  return keys;
}

fairlock::rows::Hold Hold(std::string_view key, std::uint64_t token) {
  fairlock::rows::Hold row;
  row.id = {.db = 0, .token = token, .key = key};
  row.claim.owner = "worker-1:4711:0123456789abcdef01";
  row.claim.lease_ms = 30'000;
  return row;
}

void Encode(benchmark::State& state, fairlock::rows::Hold row) {
  const std::vector<std::string> keys = Keys();
  RecordWriter record;
  for (auto _ : state) {
    record.Clear();
    for (std::size_t i = 0; i < kRows; ++i) {
      row.id.key = keys[i];
      row.id.token = (1ULL << 47) + i;
      PutRow(record, row);
    }
    benchmark::DoNotOptimize(record.BeginChange(0));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}

void EncodePlainHold(benchmark::State& state) { Encode(state, Hold("", 0)); }
BENCHMARK(EncodePlainHold);

void EncodeHoldWithOptions(benchmark::State& state) {
  fairlock::rows::Hold row = Hold("", 0);
  row.claim.mode.limit = 3;
  row.claim.mode.is_limit_given = true;
  row.claim.label = "until_executed";
  row.claim.meta = "{\"queue\":\"default\",\"worker\":\"InvoiceJob\",\"args\":[4711]}";
  Encode(state, row);
}
BENCHMARK(EncodeHoldWithOptions);

void EncodeDeletion(benchmark::State& state) {
  const std::vector<std::string> keys = Keys();
  RecordWriter record;
  for (auto _ : state) {
    record.Clear();
    for (std::size_t i = 0; i < kRows; ++i) {
      DeleteHold(record, {.db = 0, .token = (1ULL << 47) + i, .key = keys[i]});
    }
    benchmark::DoNotOptimize(record.BeginChange(0));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}
BENCHMARK(EncodeDeletion);

// The reported time is that of one record with `range` plain holds, without encoding them.
void Seal(benchmark::State& state) {
  const std::vector<std::string> keys = Keys();
  const auto rows = static_cast<std::size_t>(state.range(0));
  RecordWriter record;
  for (std::size_t i = 0; i < rows; ++i) PutRow(record, Hold(keys[i % kRows], i));
  const char* const end = record.BeginChange(kRecordSealBytes);
  std::uint64_t previous = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(record.Seal(RecordKind::kBatch, 1, previous));
    previous = record.checksum();
    record.EndChange(end);
  }
}
BENCHMARK(Seal)->Arg(1)->Arg(16)->Arg(1024);

void DecodePlainHold(benchmark::State& state) {
  const std::vector<std::string> keys = Keys();
  RecordWriter record;
  for (std::size_t i = 0; i < kRows; ++i) PutRow(record, Hold(keys[i], i));
  const std::string bytes(record.Seal(RecordKind::kBatch, 1, 0));
  fairlock::rows::Hold row;
  for (auto _ : state) {
    auto reader = RecordReader::Open(bytes, RecordKind::kBatch, 1, 0);
    Change change;
    while (reader->Next(change)) {
      if (!DecodeRow(change.key, change.value, row)) return state.SkipWithError("not a row");
    }
    benchmark::DoNotOptimize(row);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}
BENCHMARK(DecodePlainHold);

}  // namespace

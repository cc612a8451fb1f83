// The hash table of locks: the cost of looking up, and of growing by one bucket at a time.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/engine/containers/linear_hash.h"

namespace {

// Has its own cache line, as a lock has.
struct alignas(64) Item {
  std::uint64_t hash = 0;
};

struct HashOfItem {
  std::uint64_t operator()(const Item& item) const { return item.hash; }
};

using Hash = fairlock::engine::LinearHash<Item, HashOfItem>;

std::vector<Item> MakeItems(std::int64_t count) {
  std::vector<Item> items(static_cast<std::size_t>(count));
  std::uint64_t hash = 0;
  for (Item& item : items) {
    hash += 0x9e3779b97f4a7c15;  // splitmix64
    std::uint64_t mixed = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    item.hash = mixed ^ (mixed >> 31);
  }
  return items;
}

void Find(benchmark::State& state) {
  std::vector<Item> items = MakeItems(state.range(0));
  Hash table(HashOfItem{});
  for (Item& item : items) table.Insert(item.hash, item);
  std::size_t at = 0;
  for (auto _ : state) {
    const std::uint64_t hash = items[at].hash;
    benchmark::DoNotOptimize(table.Find(hash, [&](const Item& item) { return item.hash == hash; }));
    if (++at == items.size()) at = 0;
  }
}
BENCHMARK(Find)->Arg(1000)->Arg(100'000)->Arg(1'000'000);

// Grows a table from empty to the size in the argument.
void InsertGrowing(benchmark::State& state) {
  std::vector<Item> items = MakeItems(state.range(0));
  for (auto _ : state) {
    Hash table(HashOfItem{});
    for (Item& item : items) table.Insert(item.hash, item);
    benchmark::DoNotOptimize(table.size());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(InsertGrowing)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void InsertAndErase(benchmark::State& state) {
  std::vector<Item> items = MakeItems(state.range(0));
  Hash table(HashOfItem{});
  for (Item& item : items) table.Insert(item.hash, item);
  std::size_t at = 0;
  for (auto _ : state) {
    table.Erase(items[at].hash, items[at]);
    table.Insert(items[at].hash, items[at]);
    if (++at == items.size()) at = 0;
  }
}
BENCHMARK(InsertAndErase)->Arg(1000)->Arg(100'000)->Arg(1'000'000);

}  // namespace

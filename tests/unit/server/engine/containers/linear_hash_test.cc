#include "server/engine/containers/linear_hash.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <unordered_map>
#include <vector>

namespace fairlock::engine {
namespace {

struct Entry {
  std::uint64_t hash;
  int id;
};

struct HashOfEntry {
  std::uint64_t operator()(const Entry& entry) const { return entry.hash; }
};

using Table = LinearHash<Entry, HashOfEntry>;

std::vector<std::unique_ptr<Entry>> MakeEntries(int count, std::uint64_t seed,
                                                std::uint64_t hash_mask = ~0ULL) {
  std::mt19937_64 random(seed);
  std::vector<std::unique_ptr<Entry>> entries;
  for (int id = 0; id < count; ++id) {
    entries.push_back(std::make_unique<Entry>(Entry{random() & hash_mask, id}));
  }
  return entries;
}

Entry* Find(const Table& table, const Entry& entry) {
  return table.Find(entry.hash, [&](const Entry& other) { return other.id == entry.id; });
}

TEST(LinearHash, FindsWhatIsThereWhileItGrowsAndShrinks) {
  Table table{HashOfEntry{}};
  const auto entries = MakeEntries(20'000, 1);
  for (const auto& entry : entries) table.Insert(entry->hash, *entry);
  EXPECT_EQ(table.size(), entries.size());
  for (const auto& entry : entries) ASSERT_EQ(Find(table, *entry), entry.get());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    table.Erase(entries[i]->hash, *entries[i]);
    ASSERT_EQ(Find(table, *entries[i]), nullptr);
    if (i + 1 < entries.size()) {
      ASSERT_EQ(Find(table, *entries.back()), entries.back().get());
    }
  }
  EXPECT_EQ(table.size(), 0U);
}

TEST(LinearHash, HoldsEntriesThatAllHaveOneHash) {
  Table table{HashOfEntry{}};
  const auto entries = MakeEntries(500, 2, 0);
  for (const auto& entry : entries) table.Insert(entry->hash, *entry);
  for (const auto& entry : entries) ASSERT_EQ(Find(table, *entry), entry.get());
  for (const auto& entry : entries) table.Erase(entry->hash, *entry);
  EXPECT_EQ(table.size(), 0U);
}

// A scan visits every entry that is never removed, however many others are added and removed
// between its steps.
TEST(LinearHash, ScanMeetsAllThatStayWhileTheTableChangesItsSize) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Table table{HashOfEntry{}};
    const auto staying = MakeEntries(300, seed);
    const auto passing = MakeEntries(6000, seed + 1000);
    for (const auto& entry : staying) table.Insert(entry->hash, *entry);
    std::mt19937_64 random(seed);
    std::size_t inserted = seed % 2 == 0 ? passing.size() : 0;
    for (std::size_t i = 0; i < inserted; ++i) table.Insert(passing[i]->hash, *passing[i]);
    std::set<const Entry*> met;
    std::uint64_t cursor = 0;
    int steps = 0;
    do {
      cursor = table.ScanGroup(cursor, [&](const Entry& entry) { met.insert(&entry); });
      const std::size_t change = random() % 400;
      for (std::size_t i = 0; i < change; ++i) {
        if (seed % 2 == 0 && inserted > 0) {
          --inserted;
          table.Erase(passing[inserted]->hash, *passing[inserted]);
        } else if (seed % 2 == 1 && inserted < passing.size()) {
          table.Insert(passing[inserted]->hash, *passing[inserted]);
          ++inserted;
        }
      }
    } while (cursor != 0 && ++steps < 100'000);
    EXPECT_EQ(cursor, 0U);
    for (const auto& entry : staying) ASSERT_TRUE(met.contains(entry.get())) << "seed " << seed;
  }
}

}  // namespace
}  // namespace fairlock::engine

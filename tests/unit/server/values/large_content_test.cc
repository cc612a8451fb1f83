// Values with thousands of elements: random changes compared with simple models, and walks that
// see every element that is there from beginning to end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/values/hash.h"
#include "server/values/list.h"
#include "server/values/set.h"
#include "server/values/sorted_set.h"

namespace fairlock::values {
namespace {

// Random changes make the value grow to a size, and shrink again.
class LargeContent : public testing::TestWithParam<int> {
 protected:
  static constexpr int kSteps = 12'000;
  static constexpr int kSizeMax = 3'000;

  std::string Name() { return "m" + std::to_string(random_() % kSizeMax); }
  bool Grows(int step) { return random_() % 10 < (step < kSteps / 2 ? 9U : 2U); }

  std::mt19937 random_{static_cast<unsigned>(GetParam())};
};

template <typename Content>
std::set<std::string> NamesOfWalk(const Content& content) {
  std::set<std::string> names;
  std::uint64_t cursor = 0;
  do {
    cursor = content.VisitFrom(cursor, 7, [&](const rows::Element& element) {
      names.emplace(element.type == rows::ValueType::kList ? element.text : element.name);
    });
  } while (cursor != 0);
  return names;
}

TEST_P(LargeContent, HashesEqualAMap) {
  Hash hash;
  std::map<std::string, std::string> expected;
  for (int step = 0; step < kSteps; ++step) {
    const std::string name = Name();
    if (Grows(step)) {
      EXPECT_EQ(hash.Set(name, std::to_string(step)), !expected.contains(name));
      expected[name] = std::to_string(step);
    } else {
      EXPECT_EQ(hash.Erase(name), expected.erase(name) == 1);
    }
    ASSERT_EQ(hash.size(), expected.size());
  }
  std::size_t bytes = 0;
  for (const auto& [name, value] : expected) {
    bytes += name.size() + value.size() + kElementBytes;
    ASSERT_NE(hash.Find(name), nullptr);
    EXPECT_EQ(*hash.Find(name), value);
  }
  EXPECT_EQ(hash.bytes(), bytes);
  EXPECT_EQ(NamesOfWalk(hash).size(), expected.size());
}

TEST_P(LargeContent, SetsEqualASet) {
  Set set;
  std::set<std::string> expected;
  for (int step = 0; step < kSteps; ++step) {
    const std::string name = GetParam() % 2 == 0 ? Name() : std::to_string(random_() % kSizeMax);
    if (Grows(step)) {
      EXPECT_EQ(set.Add(name), expected.insert(name).second);
    } else {
      EXPECT_EQ(set.Erase(name), expected.erase(name) == 1);
    }
    ASSERT_EQ(set.size(), expected.size());
  }
  EXPECT_EQ(NamesOfWalk(set), expected);
}

TEST_P(LargeContent, SortedSetsEqualAnOrderedSet) {
  SortedSet set;
  std::map<std::string, double> scores;
  std::set<std::pair<double, std::string>> expected;
  // Half of the seeds begin with a restored set, in one case an empty one.
  for (int i = 0; i < (GetParam() % 2) * (GetParam() - 1) * 700; ++i) {
    const auto score = static_cast<double>(random_() % 50);
    const auto [added, is_new] = scores.emplace(Name(), score);
    if (!is_new) continue;
    set.Restore({.type = rows::ValueType::kSortedSet, .name = added->first, .score = score});
    expected.emplace(score, added->first);
  }
  if (GetParam() % 2 == 1) set.LogElements();
  for (int step = 0; step < kSteps; ++step) {
    const std::string name = Name();
    const auto present = scores.find(name);
    if (Grows(step)) {
      const auto score = static_cast<double>(random_() % 50);
      EXPECT_EQ(set.Set(name, score), present == scores.end());
      if (present != scores.end()) expected.erase({present->second, name});
      scores[name] = score;
      expected.emplace(score, name);
    } else {
      EXPECT_EQ(set.Erase(name), present != scores.end());
      if (present == scores.end()) continue;
      expected.erase({present->second, name});
      scores.erase(present);
    }
    if (step % 500 != 0) continue;
    std::vector<std::pair<double, std::string>> members;
    for (const auto& member : set.members()) members.emplace_back(member.score, member.name);
    ASSERT_TRUE(std::ranges::equal(members, expected));
    for (std::size_t rank = 0; rank < members.size(); rank += 97) {
      EXPECT_EQ(set.At(rank)->name, members[rank].second);
      EXPECT_EQ(set.RankOf(members[rank].second), rank);
    }
    const auto below = set.CountWhile([](const auto& member) { return member.score < 25; });
    EXPECT_EQ(below, std::ranges::count_if(members, [](auto& each) { return each.first < 25; }));
    auto backwards = set.members().end();
    for (std::size_t left = members.size(); left > 0; --left) {
      ASSERT_EQ((--backwards)->name, members[left - 1].second);
    }
  }
  const std::size_t size = set.size();
  set.EraseRanks(3, size - 2);
  EXPECT_EQ(set.size(), 5U);
  EXPECT_EQ(set.members().front().name, expected.begin()->second);
  EXPECT_EQ(set.members().back().name, expected.rbegin()->second);
}

TEST_P(LargeContent, ListsEqualAVector) {
  List list;
  std::vector<std::string> expected;
  for (int step = 0; step < kSteps; ++step) {
    const bool is_left = random_() % 2 == 0;
    const std::string text = std::to_string(random_() % 40);
    const auto end = is_left ? ListEnd::kLeft : ListEnd::kRight;
    if (Grows(step) && random_() % 4 == 0) {
      const std::size_t at = random_() % (expected.size() + 1);
      list.Insert(at, text);
      expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(at), text);
    } else if (Grows(step)) {
      list.Push(end, text);
      expected.insert(is_left ? expected.begin() : expected.end(), text);
    } else if (random_() % 100 == 0) {
      const auto count = static_cast<std::int64_t>(random_() % 9) - 4;
      std::size_t left = count == 0 ? expected.size() : static_cast<std::size_t>(std::abs(count));
      std::size_t erased = 0;
      if (count < 0) std::ranges::reverse(expected);
      std::erase_if(expected, [&](const std::string& each) {
        if (each != text || left == 0) return false;
        --left;
        ++erased;
        return true;
      });
      if (count < 0) std::ranges::reverse(expected);
      EXPECT_EQ(list.EraseEqual(text, count), erased);
    } else if (!expected.empty() && random_() % 4 == 0) {
      const std::size_t at = random_() % expected.size();
      list.Replace(at, text);
      expected[at] = text;
    } else if (!expected.empty()) {
      EXPECT_EQ(list.Pop(end), is_left ? expected.front() : expected.back());
      expected.erase(is_left ? expected.begin() : expected.end() - 1);
    }
    ASSERT_EQ(list.size(), expected.size());
  }
  EXPECT_TRUE(std::ranges::equal(list.elements(), expected));
  std::size_t bytes = 0;
  for (const std::string& each : expected) bytes += each.size() + kElementBytes;
  EXPECT_EQ(list.bytes(), bytes);
}

// However often elements are inserted at one place, what is stored is the list, and few other
// elements are written.
TEST_P(LargeContent, InsertionsInAListWriteFewElements) {
  constexpr std::size_t kInsertions = 4'000;
  constexpr std::size_t kWritesMax = 40;  // for each insertion, on average
  List list;
  std::vector<std::string> expected;
  std::map<std::int64_t, std::string> stored;
  std::size_t writes = 0;
  const auto store = [&] {
    list.TakeChanged(
        [&](const rows::Element& row) {
          stored[row.place] = row.text;
          ++writes;
        },
        [&](const rows::Element& row) {
          stored.erase(row.place);
          ++writes;
        });
  };
  list.LogElements();
  for (int i = 0; i < 200; ++i) {
    list.Push(ListEnd::kRight, "old");
    expected.emplace_back("old");
  }
  store();
  writes = 0;
  for (std::size_t i = 0; i < kInsertions; ++i) {
    const std::array<std::size_t, 4> places = {100, expected.size() / 2, 100 + i,
                                               random_() % expected.size()};
    const std::size_t at = places[static_cast<std::size_t>(GetParam()) % places.size()];
    list.Insert(at, std::to_string(i));
    expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(at), std::to_string(i));
    if (i % 3 == 0) store();
  }
  store();
  EXPECT_LE(writes, kWritesMax * kInsertions);
  EXPECT_TRUE(std::ranges::equal(list.elements(), expected));
  std::vector<std::string> in_order;
  for (const auto& [place, text] : stored) in_order.push_back(text);
  EXPECT_EQ(in_order, expected);
}

// A walk by cursors, with changes between its pages, misses nothing that stays.
template <typename Content, typename Add, typename Erase>
void ExpectAWalkMissesNothing(std::mt19937& random, Content& content, Add add, Erase erase) {
  std::set<std::string> staying;
  for (int i = 0; i < 1500; ++i) add("stays" + std::to_string(i));
  for (int i = 0; i < 1500; ++i) staying.insert("stays" + std::to_string(i));
  std::set<std::string> seen;
  std::uint64_t cursor = 0;
  int next = 0;
  do {
    cursor = content.VisitFrom(cursor, 1 + random() % 20, [&](const rows::Element& element) {
      seen.emplace(element.type == rows::ValueType::kList ? element.text : element.name);
    });
    for (auto i = random() % 30; i > 0; --i) {
      if (random() % 2 == 0) {
        add("passes" + std::to_string(next++));
      } else {
        erase("passes" + std::to_string(random() % static_cast<std::size_t>(next + 1)));
      }
    }
  } while (cursor != 0);
  EXPECT_TRUE(std::ranges::includes(seen, staying));
}

TEST_P(LargeContent, WalksMissNothing) {
  Hash hash;
  ExpectAWalkMissesNothing(
      random_, hash, [&](const std::string& name) { hash.Set(name, "v"); },
      [&](const std::string& name) { hash.Erase(name); });
  Set set;
  ExpectAWalkMissesNothing(
      random_, set, [&](const std::string& name) { set.Add(name); },
      [&](const std::string& name) { set.Erase(name); });
  SortedSet sorted;
  ExpectAWalkMissesNothing(
      random_, sorted,
      [&](const std::string& name) { sorted.Set(name, static_cast<double>(random_() % 9)); },
      [&](const std::string& name) { sorted.Erase(name); });
  List list;
  ExpectAWalkMissesNothing(
      random_, list,
      [&](const std::string& text) {
        list.Push(random_() % 2 == 0 ? ListEnd::kLeft : ListEnd::kRight, text);
      },
      [&](const std::string& text) { list.EraseEqual(text, 0); });
}

INSTANTIATE_TEST_SUITE_P(Seeds, LargeContent, testing::Range(0, 4));

TEST(LargeContentAlone, IsFreedInSteps) {
  SortedSet set;
  for (int i = 0; i < 10'000; ++i) set.Set(std::to_string(i), i);
  EXPECT_EQ(set.FreeSome(4'000), 4'000U);
  EXPECT_EQ(set.size(), 6'000U);
  EXPECT_EQ(set.FreeSome(40'000), 6'000U);
}

}  // namespace
}  // namespace fairlock::values

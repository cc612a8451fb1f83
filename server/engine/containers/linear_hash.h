// A hash set of pointers that grows and shrinks by one bucket at a time.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <memory>
#include <vector>

#include "server/engine/containers/hash_bucket.h"

namespace fairlock::engine {

// Linear hashing (W. Litwin, "Linear Hashing: a New Tool for File and Table Addressing", 1980): no
// insertion ever moves more than the entries of one bucket, so no request pays for a table that
// grows. A bucket is one cache line of seven slots, each a pointer and 16 bits of its hash, so that
// a search touches an entry only if it is most likely the right one. A full bucket has a chain of
// overflow buckets.
//
// Does not own its entries. `HashOf` returns the hash with which an entry was inserted. Find,
// Insert and Erase are O(1) on average.
template <typename Entry, typename HashOf>
class LinearHash {
 public:
  explicit LinearHash(HashOf hash_of) : hash_of_(std::move(hash_of)) {
    segments_.push_back(std::make_unique<Segment>());
  }
  LinearHash(const LinearHash&) = delete;
  LinearHash& operator=(const LinearHash&) = delete;
  ~LinearHash() {
    for (std::size_t i = 0; i < buckets_; ++i) FreeOverflow(BucketAt(i));
  }

  std::size_t size() const { return size_; }

  // The entry with that hash for which `matches(entry)` is true, or null.
  template <typename Matches>
  [[gnu::always_inline]] Entry* Find(std::uint64_t hash, Matches&& matches) const {
    const std::uint64_t tag = Bucket::TagOf(hash);
    for (const Bucket* bucket = &BucketAt(IndexOf(hash)); bucket != nullptr;
         bucket = bucket->next) {
      for (std::uint32_t found = bucket->SlotsWith(tag); found != 0; found &= found - 1) {
        Entry* entry = PointerOf(FirstOf(found, bucket->slots));
        if (matches(*entry)) return entry;
      }
    }
    return nullptr;
  }

  void Insert(std::uint64_t hash, Entry& entry) {
    Put(BucketAt(IndexOf(hash)), Bucket::TagOf(hash) | reinterpret_cast<std::uintptr_t>(&entry));
    ++size_;
    if (size_ * 2 > buckets_ * kEntriesPerTwoBucketsMax) Split();
  }

  // Makes room for that many entries, so that inserting them does not move any entry.
  void Reserve(std::size_t entries) {
    while (entries * 2 > buckets_ * kEntriesPerTwoBucketsMax) Split();
  }

  // REQUIRES: the entry is there, with that hash.
  void Erase(std::uint64_t hash, const Entry& entry) {
    Remove(BucketAt(IndexOf(hash)), Bucket::TagOf(hash) | reinterpret_cast<std::uintptr_t>(&entry));
    --size_;
    if (buckets_ > kBucketsMin && size_ * 2 < buckets_ * kEntriesPerTwoBucketsMin) Merge();
  }

  void PrefetchBucket(std::uint64_t hash) const { __builtin_prefetch(&BucketAt(IndexOf(hash))); }

  // Loads the entry that most likely has that hash into the cache. Call this when its bucket is
  // already in the cache.
  void PrefetchEntry(std::uint64_t hash) const {
    const Bucket& bucket = BucketAt(IndexOf(hash));
    const std::uint32_t found = bucket.SlotsWith(Bucket::TagOf(hash));
    if (found == 0) return;
    const auto* entry = reinterpret_cast<const char*>(PointerOf(FirstOf(found, bucket.slots)));
    __builtin_prefetch(entry);
    __builtin_prefetch(entry + 64);
  }

  // Visits all entries of one group of buckets and returns the cursor of the next group, 0 after
  // the last group. Entries that are present from the first call to the last are visited at least
  // once: the cursor counts from the highest bit of the group's number downwards, so that buckets
  // that are split or merged in between stay on the same side of it.
  template <typename Visit>
  std::uint64_t ScanGroup(std::uint64_t cursor, Visit&& visit) const {
    const std::uint64_t mask = level_mask_;
    const std::uint64_t index = cursor & mask;
    VisitBucket(index, visit);
    if (index < split_) VisitBucket(index + mask + 1, visit);
    return NextCursor(cursor, mask);
  }

 private:
  using Bucket = HashBucket;
  static constexpr std::size_t kBucketsPerSegment = 512;
  static constexpr std::size_t kBucketsMin = 16;
  static constexpr std::size_t kEntriesPerTwoBucketsMax = 11;
  static constexpr std::size_t kEntriesPerTwoBucketsMin = 4;

  using Segment = std::array<Bucket, kBucketsPerSegment>;

  static Entry* PointerOf(std::uint64_t slot) {
    return reinterpret_cast<Entry*>(slot & ~Bucket::kTagMask);
  }
  template <typename Slots>
  static auto& FirstOf(std::uint32_t found, Slots& slots) {
    return slots[static_cast<std::size_t>(std::countr_zero(found))];
  }
  static std::uint64_t Reverse(std::uint64_t bits) {
    bits = ((bits >> 1) & 0x5555555555555555) | ((bits & 0x5555555555555555) << 1);
    bits = ((bits >> 2) & 0x3333333333333333) | ((bits & 0x3333333333333333) << 2);
    bits = ((bits >> 4) & 0x0f0f0f0f0f0f0f0f) | ((bits & 0x0f0f0f0f0f0f0f0f) << 4);
    return __builtin_bswap64(bits);
  }
  static std::uint64_t NextCursor(std::uint64_t cursor, std::uint64_t mask) {
    return Reverse(Reverse(cursor | ~mask) + 1);
  }

  std::size_t IndexOf(std::uint64_t hash) const {
    const std::uint64_t index = hash & level_mask_;
    return index < split_ ? hash & (level_mask_ * 2 + 1) : index;
  }
  Bucket& BucketAt(std::size_t index) const {
    return (*segments_[index / kBucketsPerSegment])[index % kBucketsPerSegment];
  }

  static void Put(Bucket& bucket, std::uint64_t value) {
    Bucket* last = &bucket;
    for (Bucket* at = &bucket; at != nullptr; at = at->next) {
      if (const std::uint32_t free = at->FreeSlots(); free != 0) {
        FirstOf(free, at->slots) = value;
        return;
      }
      last = at;
    }
    last->next = new Bucket;
    last->next->slots[0] = value;
  }

  static void Remove(Bucket& bucket, std::uint64_t value) {
    Bucket* previous = nullptr;
    for (Bucket* at = &bucket; at != nullptr; previous = at, at = at->next) {
      for (std::uint32_t found = at->SlotsWith(value); found != 0; found &= found - 1) {
        std::uint64_t& slot = FirstOf(found, at->slots);
        if (slot != value) continue;
        slot = 0;
        if (previous != nullptr) FreeIfEmpty(*previous);
        return;
      }
    }
    assert(false);  // the entry is not there
  }

  static void FreeIfEmpty(Bucket& previous) {
    Bucket* bucket = previous.next;
    if (!bucket->empty()) return;
    previous.next = bucket->next;
    delete bucket;
  }

  static void FreeOverflow(Bucket& bucket) {
    while (bucket.next != nullptr) {
      Bucket* next = bucket.next;
      bucket.next = next->next;
      delete next;
    }
  }

  template <typename Visit>
  void VisitBucket(std::size_t index, Visit&& visit) const {
    for (const Bucket* bucket = &BucketAt(index); bucket != nullptr; bucket = bucket->next) {
      for (const std::uint64_t slot : bucket->slots) {
        if (slot != 0) visit(*PointerOf(slot));
      }
    }
  }

  // Empties a bucket and moves its entries to the buckets to which they now belong.
  void Redistribute(Bucket& bucket) {
    Bucket* overflow = bucket.next;
    const auto slots = bucket.slots;
    bucket = {};
    for (const std::uint64_t slot : slots) PutAnew(slot);
    while (overflow != nullptr) {
      for (const std::uint64_t slot : overflow->slots) PutAnew(slot);
      Bucket* next = overflow->next;
      delete overflow;
      overflow = next;
    }
  }
  void PutAnew(std::uint64_t slot) {
    if (slot != 0) Put(BucketAt(IndexOf(hash_of_(*PointerOf(slot)))), slot);
  }

  void Split() {
    if (buckets_ % kBucketsPerSegment == 0) segments_.push_back(std::make_unique<Segment>());
    const std::size_t from = split_++;
    ++buckets_;
    if (split_ > level_mask_) {
      level_mask_ = level_mask_ * 2 + 1;
      split_ = 0;
    }
    Redistribute(BucketAt(from));
  }

  void Merge() {
    if (split_ == 0) {
      level_mask_ /= 2;
      split_ = level_mask_ + 1;
    }
    --split_;
    --buckets_;
    Redistribute(BucketAt(buckets_));
    if (buckets_ % kBucketsPerSegment == 0) segments_.pop_back();
  }

  HashOf hash_of_;
  std::vector<std::unique_ptr<Segment>> segments_;
  std::size_t buckets_ = kBucketsMin;  // level_mask_ + 1 + split_
  std::uint64_t level_mask_ = kBucketsMin - 1;
  std::uint64_t split_ = 0;  // buckets before this one have already been split
  std::size_t size_ = 0;
};

}  // namespace fairlock::engine

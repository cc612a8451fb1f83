// A ring buffer for records of different lengths, which overwrites the oldest ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace fairlock::record {

// Each record refers to the previous record, and to the previous record of its chain. The caller
// chooses the chain by its number. Memory is touched only when it is first written.
//
// Invariants (CheckInvariants):
//
// 1. Starting at oldest(), each record is followed directly by the next. The last one is newest(),
//    and there are count() records.
// 2. Together they take at most `bytes`, and none wraps around the end of the buffer.
// 3. Before() goes back through the same records; BeforeInChain() goes to an older record or to
//    kNone.
// 4. The positions of marks increase. The first mark is at oldest(); the last may be at the
//    position of the next record.
//
// For use by the loop thread only. Append is O(1). Space is freed for many records at a time, by
// dropping everything older than a mark. This does not read the dropped records, which are no
// longer in any cache.
class RecordRing {
 public:
  // Increases with every record and is never reused.
  using Position = std::uint64_t;
  static constexpr Position kNone = 0;
  static constexpr std::size_t kRecordBytesMax = 20 * 1024;
  static constexpr std::size_t kBytesMin = 128 * 1024;

  // REQUIRES: bytes from kBytesMin to 2 GiB; chains a power of 2.
  RecordRing(std::size_t bytes, std::size_t chains);

  // Adds a record to the chain that the number maps to. Returns the address at which the caller
  // must write all `bytes` bytes. REQUIRES: bytes is at most kRecordBytesMax, and MakeRoom was
  // called before.
  char* Append(std::size_t bytes, std::uint64_t chain) {
    const std::size_t size = (sizeof(Link) + bytes + kUnit - 1) & ~(kUnit - 1);
    auto* link = reinterpret_cast<Link*>(lap_address_ + end_);
    // The memory to be written next was last used one lap ago, so it is no longer in any cache.
    __builtin_prefetch(reinterpret_cast<char*>(link) + kAhead, 0, 0);
    __builtin_prefetch(reinterpret_cast<char*>(link) + kAhead + 64, 0, 0);
    Position& newest_of_chain = chains_[chain & chain_mask_];
    link->size = static_cast<std::uint16_t>(size / kUnit);
    link->back = newest_size_;
    link->chain_back =
        Has(newest_of_chain) ? static_cast<std::uint32_t>(end_ - newest_of_chain) : 0;
    newest_of_chain = end_;
    newest_size_ = link->size;
    end_ += size;
    ++appended_;
    return reinterpret_cast<char*>(link + 1);
  }
  void Prefetch(std::uint64_t chain) const { __builtin_prefetch(&chains_[chain & chain_mask_]); }
  // Makes space for one record of any size. Separate from Append because it may invalidate earlier
  // positions: the caller must call it before it looks up positions.
  void MakeRoom() {
    if (end_ > room_end_) DropSome();
  }

  // Whether the record at a position returned by Append still exists.
  bool Has(Position position) const { return position >= oldest_; }
  bool empty() const { return oldest_ == end_; }
  // kNone if there is no record.
  Position newest() const { return empty() ? kNone : end_ - newest_size_ * kUnit; }
  Position oldest() const { return empty() ? kNone : oldest_; }
  Position NewestOf(std::uint64_t chain) const {
    const Position newest = chains_[chain & chain_mask_];
    return Has(newest) ? newest : kNone;
  }
  // Both REQUIRE Has(position).
  Position Before(Position position) const {
    return position == oldest_ ? kNone : position - LinkAt(position).back * kUnit;
  }
  Position BeforeInChain(Position position) const {
    const std::uint32_t distance = LinkAt(position).chain_back;
    return distance != 0 && Has(position - distance) ? position - distance : kNone;
  }
  char* At(Position position) { return reinterpret_cast<char*>(&LinkAt(position) + 1); }
  const char* At(Position position) const {
    return reinterpret_cast<const char*>(&LinkAt(position) + 1);
  }

  // Finds the newest record for which `is_after(position)` is false, and returns that record or one
  // a few steps newer. `is_after` must be false for all older records and true for all newer ones.
  // O(log marks).
  template <typename IsAfter>
  Position NewestNotAfter(IsAfter&& is_after) const {
    std::uint64_t low = first_mark_;
    std::uint64_t high = mark_count_;
    while (low < high) {
      const std::uint64_t middle = (low + high) / 2;
      const Position mark = MarkAt(middle).position;
      if (mark == end_ || is_after(mark)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    const bool is_last = low == mark_count_ || MarkAt(low).position == end_;
    return is_last ? newest() : Before(MarkAt(low).position);
  }

  std::size_t count() const { return appended_ - MarkAt(first_mark_).appended; }
  // Whether any record has been dropped.
  bool has_dropped() const { return oldest_ != capacity_; }
  std::size_t used_bytes() const { return end_ - oldest_; }
  // The total memory used.
  std::size_t memory_bytes() const {
    return capacity_ + chains_.size() * sizeof(Position) + marks_.size() * sizeof(Mark);
  }

  // Asserts the invariants above. O(records).
  void CheckInvariants() const;

 private:
  static constexpr std::size_t kUnit = 8;
  static constexpr std::size_t kMarkBytes = 16 * 1024;
  static constexpr std::size_t kAhead = 1024;
  static constexpr std::size_t kLargest = sizeof(std::uint64_t) + kRecordBytesMax;

  struct Link {
    std::uint16_t size;  // distance to the next record, in units
    std::uint16_t back;  // distance to the previous record, in units
    // Distance to the previous record of the chain, in bytes; 0 if there is none.
    std::uint32_t chain_back;
  };

  struct Mark {
    Position position;
    std::uint64_t appended;  // number of records before it
  };

  void DropSome();
  void StartLap();
  void DropToNextMark() { oldest_ = MarkAt(++first_mark_).position; }
  void SetMark();
  const Mark& MarkAt(std::uint64_t index) const { return marks_[index % marks_.size()]; }

  Link& LinkAt(Position position) {
    return *reinterpret_cast<Link*>(buffer_.get() + OffsetOf(position));
  }
  const Link& LinkAt(Position position) const {
    return *reinterpret_cast<const Link*>(buffer_.get() + OffsetOf(position));
  }
  // A position is the number of bytes written before it; one lap is the whole buffer.
  std::size_t OffsetOf(Position position) const {
    return position >= lap_ ? position - lap_ : position + capacity_ - lap_;
  }

  const std::size_t capacity_;
  const std::uint64_t chain_mask_;
  const std::unique_ptr<char[]> buffer_;
  Position lap_;                // the position at which the buffer begins in this lap; never kNone
  std::uintptr_t lap_address_;  // the address of a record of this lap minus its position
  Position end_;
  Position room_end_;  // a record may start before this position without further checks
  Position oldest_;
  std::uint16_t newest_size_ = 0;  // in units
  std::uint64_t appended_ = 0;     // number of records ever appended
  std::vector<Position> chains_;   // the newest record of each chain
  std::vector<Mark> marks_;        // the positions at which space was made, in order
  std::uint64_t first_mark_ = 0;   // number of the first remaining mark
  std::uint64_t mark_count_ = 0;   // number of marks ever set
};

}  // namespace fairlock::record

// Records of different lengths in one flat buffer that overwrites its oldest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace fairlock::record {

// Each record knows the one before it, and the one before it in its own chain, of which the caller
// says the number. Memory is touched only as far as it was ever written.
//
// Invariants (CheckInvariants):
//  1. From oldest() each record is followed by the next, the last is newest(), and there are
//     count().
//  2. They take at most `bytes` together, and none is torn apart by the end of the buffer.
//  3. Before() goes the same way back; BeforeInChain() goes to an older record or to none.
//  4. Marks are records in their order, the first is oldest(), the last perhaps the next record.
//
// Loop-confined. Append is O(1); room is made for many records at a time, by dropping all that are
// older than a mark: what gives way is not read, for it was last touched a lap ago.
class RecordRing {
 public:
  // Rises with every record and is never used again.
  using Position = std::uint64_t;
  static constexpr Position kNone = 0;
  static constexpr std::size_t kRecordBytesMax = 20 * 1024;
  static constexpr std::size_t kBytesMin = 128 * 1024;

  // REQUIRES: bytes from kBytesMin to 2 GiB, chains a power of 2.
  RecordRing(std::size_t bytes, std::size_t chains);

  // Where the caller is to write the `bytes` of a new record, all of them, in the chain that the
  // number falls into. REQUIRES: at most kRecordBytesMax, and MakeRoom before.
  char* Append(std::size_t bytes, std::uint64_t chain) {
    const std::size_t size = (sizeof(Link) + bytes + kUnit - 1) & ~(kUnit - 1);
    auto* link = reinterpret_cast<Link*>(lap_address_ + end_);
    // What is written next was last touched a lap ago and is in no cache.
    __builtin_prefetch(reinterpret_cast<char*>(link) + kAhead, 0, 0);
    __builtin_prefetch(reinterpret_cast<char*>(link) + kAhead + 64, 0, 0);
    Position& newest_of_chain = chains_[chain & chain_mask_];
    link->size = static_cast<std::uint16_t>(size / kUnit);
    link->behind = newest_size_;
    link->chain_behind =
        Has(newest_of_chain) ? static_cast<std::uint32_t>(end_ - newest_of_chain) : 0;
    newest_of_chain = end_;
    newest_size_ = link->size;
    end_ += size;
    ++appended_;
    return reinterpret_cast<char*>(link + 1);
  }
  void Prefetch(std::uint64_t chain) const { __builtin_prefetch(&chains_[chain & chain_mask_]); }
  // Room for one record of any size. Apart, so that the caller can do it where it has nothing else
  // to remember. What was found before may be gone.
  void MakeRoom() {
    if (end_ > room_end_) DropSome();
  }

  // Whether the record of a position that Append gave is still there.
  bool Has(Position position) const { return position >= oldest_; }
  bool empty() const { return oldest_ == end_; }
  // kNone: there is none.
  Position newest() const { return empty() ? kNone : end_ - newest_size_ * kUnit; }
  Position oldest() const { return empty() ? kNone : oldest_; }
  Position NewestOf(std::uint64_t chain) const {
    const Position newest = chains_[chain & chain_mask_];
    return Has(newest) ? newest : kNone;
  }
  // These REQUIRE: Has(position).
  Position Before(Position position) const {
    return position == oldest_ ? kNone : position - LinkAt(position).behind * kUnit;
  }
  Position BeforeInChain(Position position) const {
    const std::uint32_t distance = LinkAt(position).chain_behind;
    return distance != 0 && Has(position - distance) ? position - distance : kNone;
  }
  char* At(Position position) { return reinterpret_cast<char*>(&LinkAt(position) + 1); }
  const char* At(Position position) const {
    return reinterpret_cast<const char*>(&LinkAt(position) + 1);
  }

  // A record from which going back soon meets the newest for which `is_after(position)` is false;
  // it must be false for the older and true for the newer ones. O(log marks).
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
  // Whether any record had to give way yet.
  bool has_dropped() const { return oldest_ != capacity_; }
  std::size_t used_bytes() const { return end_ - oldest_; }
  // All that it takes.
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
    std::uint16_t size;          // to the next record, in units
    std::uint16_t behind;        // to the record before, in units
    std::uint32_t chain_behind;  // to the one before in the chain, in bytes; 0: none
  };

  struct Mark {
    Position position;
    std::uint64_t appended;  // records, before it
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
  // A position is how many bytes were written before it, and a lap is the whole buffer.
  std::size_t OffsetOf(Position position) const {
    return position >= lap_ ? position - lap_ : position + capacity_ - lap_;
  }

  const std::size_t capacity_;
  const std::uint64_t chain_mask_;
  const std::unique_ptr<char[]> buffer_;
  Position lap_;                // at the beginning of the buffer; never kNone
  std::uintptr_t lap_address_;  // the address of a record of this lap less its position
  Position end_;
  Position room_end_;  // one more record may begin up to there without more ado
  Position oldest_;
  std::uint16_t newest_size_ = 0;  // in units
  std::uint64_t appended_ = 0;     // records, ever
  std::vector<Position> chains_;   // the newest record of each
  std::vector<Mark> marks_;        // where room was made, in turn
  std::uint64_t first_mark_ = 0;   // of those that are still there
  std::uint64_t mark_count_ = 0;   // of all that there ever were
};

}  // namespace fairlock::record

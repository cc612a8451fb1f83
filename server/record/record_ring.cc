#include "server/record/record_ring.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace fairlock::record {

RecordRing::RecordRing(std::size_t bytes, std::size_t chains)
    : capacity_(bytes / kUnit * kUnit),
      chain_mask_(chains - 1),
      buffer_(std::make_unique_for_overwrite<char[]>(capacity_)),
      lap_(capacity_),
      lap_address_(reinterpret_cast<std::uintptr_t>(buffer_.get()) - lap_),
      end_(lap_),
      room_end_(lap_),
      oldest_(lap_),
      chains_(chains, kNone),
      // Consecutive marks are at least kMarkBytes apart.
      marks_(2 * (capacity_ / kMarkBytes + 2)) {
  assert(bytes >= kBytesMin && bytes <= INT32_MAX && std::has_single_bit(chains));
  SetMark();
  room_end_ += kMarkBytes;
}

void RecordRing::DropSome() {
  if (end_ + kLargest > lap_ + capacity_) StartLap();
  room_end_ = std::min(lap_ + capacity_ - kLargest, end_ + kMarkBytes);
  SetMark();
  while (oldest_ + capacity_ < room_end_ + kLargest) DropToNextMark();
}

void RecordRing::SetMark() {
  marks_[mark_count_ % marks_.size()] = {end_, appended_};
  ++mark_count_;
}

// Makes the next record start at the beginning of the buffer. The unused end of the buffer becomes
// part of the record before it.
void RecordRing::StartLap() {
  // Drops records that would be more than one lap old, because their offsets could no longer be
  // computed.
  while (oldest_ < lap_) DropToNextMark();
  const Position start = lap_ + capacity_;
  Link& last = LinkAt(newest());
  newest_size_ = static_cast<std::uint16_t>(last.size + (start - end_) / kUnit);
  last.size = newest_size_;
  end_ = lap_ = start;
  lap_address_ = reinterpret_cast<std::uintptr_t>(buffer_.get()) - lap_;
}

void RecordRing::CheckInvariants() const {
  assert(end_ - oldest_ <= capacity_);  // 2
  Position before = kNone;
  std::size_t found = 0;
  std::uint64_t mark = first_mark_;
  assert(MarkAt(mark).position == oldest_);  // 4
  for (Position position = oldest_; position != end_;) {
    const Link& link = LinkAt(position);
    const Position next = position + link.size * kUnit;
    assert(link.size > 0 && next <= end_);                        // 1
    assert(OffsetOf(position) + link.size * kUnit <= capacity_);  // 2
    assert(Before(position) == before);                           // 3
    assert(BeforeInChain(position) < position);                   // 3
    if (mark < mark_count_ && MarkAt(mark).position == position) ++mark;
    before = position;
    position = next;
    ++found;
  }
  assert(before == newest() && found == count());  // 1
  if (mark < mark_count_ && MarkAt(mark).position == end_) ++mark;
  assert(mark == mark_count_);  // 4
}

}  // namespace fairlock::record

// A set of event kinds.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "server/engine/api/event.h"

namespace fairlock::record {

class EventKinds {
 public:
  constexpr EventKinds(std::initializer_list<engine::EventKind> kinds) {
    for (const engine::EventKind kind : kinds) bits_ |= BitOf(kind);
  }

  static constexpr EventKinds All() {
    EventKinds kinds({});
    kinds.bits_ = ~std::uint32_t{0};
    return kinds;
  }

  friend constexpr EventKinds operator|(EventKinds one, EventKinds other) {
    one.bits_ |= other.bits_;
    return one;
  }

  constexpr void Add(engine::EventKind kind) { bits_ |= BitOf(kind); }
  constexpr bool Has(engine::EventKind kind) const { return (bits_ & BitOf(kind)) != 0; }

 private:
  static constexpr std::uint32_t BitOf(engine::EventKind kind) {
    return std::uint32_t{1} << static_cast<unsigned>(kind);
  }

  std::uint32_t bits_ = 0;
};

}  // namespace fairlock::record

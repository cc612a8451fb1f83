// The tables of the fields of holders, places, locks and overrides, in the order of their replies.
// The replies, and their description for the HTTP API, are made from these tables.
#pragma once

#include <string_view>
#include <vector>

#include "protocol/field.h"
#include "server/command/environment/clock.h"
#include "server/engine/api/inspection.h"
#include "server/engine/api/requests.h"

namespace fairlock::command {

std::string_view ModeName(const engine::Mode& mode);

// What a reply shows, and what is needed to show engine times as Unix times.
template <typename Information>
struct ShownInfo {
  using Info = Information;

  std::int64_t UnixMs(engine::TimeMs at) const { return unix_time.MsOf(at, now); }

  const Info& info;
  const UnixTime& unix_time;
  engine::TimeMs now;
};
using ShownHolder = ShownInfo<engine::HolderInfo>;
using ShownPlace = ShownInfo<engine::PlaceInfo>;
using ShownOverride = ShownInfo<engine::LimitOverride>;

// What LOCKINFO shows if the key has a small value. Each field is written only if it is not empty.
struct ShownValue {
  std::string_view type = {};     // as TYPE names it
  std::string_view library = {};  // of the lock that it is, or of a free lock with waiters
};
struct ShownLock : ShownInfo<engine::LockInfo> {
  const ShownValue& value;
};

// In all tables, a member that is read by its pointer is one of `info`. A text that is empty is
// shown as nil if its field may be null, and left out if its field may be missing.
struct ClientFields : protocol::FieldTable {
  template <typename Visit>
  static constexpr void ForEach(Visit&& visit) {
    visit(Field{"address", kText, "Of the client", kMayBeNull},
          [](const auto& claim) -> std::string_view { return claim.info.client->address; });
    visit(Field{"name", kText, "Of the client", kMayBeNull},
          [](const auto& claim) -> std::string_view { return claim.info.client->name; });
    visit(Field{"user", kText, "", kMayBeNull},
          [](const auto& claim) -> std::string_view { return claim.info.client->user; });
    visit(Field{"connected", kInteger, "1: that connection is still open", kMayBeNull},
          [](const auto& claim) { return claim.info.client->is_connected; });
  }
};

struct HolderFields : protocol::FieldTable {
  template <typename Visit>
  static constexpr void ForEach(Visit&& visit) {
    using Info = engine::HolderInfo;
    visit(Field{"owner", kText}, &Info::owner);
    visit(Field{"token", kInteger, "The fencing token of the grant"}, &Info::token);
    visit(Field{"meta", kText, "", kMayBeNull}, &Info::meta);
    visit(Field{"label", kText, "", kMayBeNull}, &Info::label);
    visit(Field{"since", kInteger, "Unix time in milliseconds"},
          [](const ShownHolder& hold) { return hold.UnixMs(hold.info.since); });
    visit(Field{"held_ms", kInteger}, &Info::held_ms);
    visit(Field{"ttl_ms", kInteger, "Time left on the lease; null: it never expires", kMayBeNull},
          &Info::ttl_ms);
    visit(Field{"limit", kInteger}, [](const ShownHolder& hold) { return hold.info.mode.limit; });
    ClientFields::ForEach(visit);
    visit(Field{"mode", kText, "exclusive or shared"},
          [](const ShownHolder& hold) { return ModeName(hold.info.mode); });
    visit(Field{"session", kInteger, "1: it ends with its connection", kMayBeNull},
          [](const ShownHolder& hold) -> std::string_view {
            if (!hold.info.has_session) return {};
            return hold.info.is_session_open ? "open" : "lost";
          });
    visit(Field{"keys", kInteger, "Number of keys of the MLOCK that it came from"},
          &Info::key_count);
    visit(Field{"channel", kText, "Of NOTIFY", kMayBeNull}, &Info::channel);
    visit(Field{"leaving", kInteger, "1: BREAK with GRACE ends it by force when ttl_ms are over"},
          &Info::is_leaving);
  }
};

struct PlaceFields : protocol::FieldTable {
  template <typename Visit>
  static constexpr void ForEach(Visit&& visit) {
    using Info = engine::PlaceInfo;
    visit(Field{"position", kInteger, "1: the next"}, &Info::position);
    visit(Field{"owner", kText}, &Info::owner);
    visit(Field{"meta", kText, "", kMayBeNull}, &Info::meta);
    visit(Field{"label", kText, "", kMayBeNull}, &Info::label);
    visit(Field{"since", kInteger, "Unix time in milliseconds"},
          [](const ShownPlace& place) { return place.UnixMs(place.info.since); });
    visit(Field{"waited_ms", kInteger}, &Info::waited_ms);
    visit(Field{"wait_left_ms", kInteger, "Time until it gives up; null: never", kMayBeNull},
          &Info::wait_left_ms);
    visit(Field{"limit", kInteger}, [](const ShownPlace& place) { return place.info.mode.limit; });
    ClientFields::ForEach(visit);
    visit(Field{"mode", kText, "exclusive or shared"},
          [](const ShownPlace& place) { return ModeName(place.info.mode); });
    visit(Field{"state", kText, "Such as waiting, absent or reserved"},
          [](const ShownPlace& place) -> std::string_view {
            if (place.info.is_waiting) return "waiting";
            return place.info.is_reserved ? "reserved" : "absent";
          });
    visit(Field{"keep_ms", kInteger, "How long the place is kept without a request", kMayBeNull},
          &Info::keep_left_ms);
    visit(Field{"keys", kInteger, "Of its MLOCK"}, &Info::key_count);
    visit(Field{"channel", kText, "Of NOTIFY", kMayBeNull}, &Info::channel);
  }
};

inline constexpr auto kHolderFields = protocol::FieldsOf<HolderFields>();
inline constexpr protocol::Schema kHolderSchema = {"Holder", kHolderFields};
inline constexpr auto kPlaceFields = protocol::FieldsOf<PlaceFields>();
inline constexpr protocol::Schema kPlaceSchema = {"Place", kPlaceFields};

struct LockInfoFields : protocol::FieldTable {
  template <typename Visit>
  static constexpr void ForEach(Visit&& visit) {
    using Info = engine::LockInfo;
    visit(Field{"limit", kInteger}, &Info::limit);
    visit(Field{"mode", kText,
                "exclusive, shared, free, or value: a small value that is no known lock"},
          [](const ShownLock& lock) -> std::string_view {
            if (lock.info.holder_count > 0) return ModeName({lock.info.limit, lock.info.is_shared});
            return lock.value.type.empty() ? "free" : "value";
          });
    visit(
        Field{"holders", kObjects, "The first 100, the oldest first", false, false, &kHolderSchema},
        &Info::holders);
    visit(Field{"waiters", kInteger}, &Info::waiter_count);
    visit(Field{"acquired", kInteger},
          [](const ShownLock& lock) { return lock.info.counters.acquired; });
    visit(Field{"granted_after_wait", kInteger},
          [](const ShownLock& lock) { return lock.info.counters.granted_after_wait; });
    visit(Field{"denied", kInteger},
          [](const ShownLock& lock) { return lock.info.counters.denied; });
    visit(Field{"expired", kInteger},
          [](const ShownLock& lock) { return lock.info.counters.expired; });
    visit(Field{"hold_mean_ms", kInteger, "Mean duration of the most recent holds", kMayBeNull},
          [](const ShownLock& lock) { return lock.info.counters.hold_mean_ms; });
    visit(Field{"wait_mean_ms", kInteger, "Mean duration of the most recent waits", kMayBeNull},
          [](const ShownLock& lock) { return lock.info.counters.wait_mean_ms; });
    visit(Field{"reserved", kInteger, "Slots reserved for owners whose turn has come"},
          &Info::reserved_count);
    visit(Field{"cooling_ms", kInteger, "Time until the cooldown of the last slot ends"},
          &Info::cooling_ms);
    visit(Field{"override", kInteger, "The LIMIT that an operator has set; 0: drained", kMayBeNull},
          &Info::limit_override);
    visit(Field{"type", kText, "Of a key that has a small value: hash, list, zset or set", false,
                kMayBeMissing},
          [](const ShownLock& lock) { return lock.value.type; });
    visit(Field{"library", kText, "Of a lock that is a small value: the library", false,
                kMayBeMissing},
          [](const ShownLock& lock) { return lock.value.library; });
  }
};

struct OverrideFields : protocol::FieldTable {
  template <typename Visit>
  static constexpr void ForEach(Visit&& visit) {
    using Info = engine::LimitOverride;
    visit(Field{"pattern", kText}, &Info::pattern);
    visit(Field{"db", kInteger}, &Info::db);
    visit(Field{"limit", kInteger, "0: drained"}, &Info::limit);
    visit(Field{"reason", kText, "", kMayBeNull}, &Info::reason);
    visit(Field{"user", kText, "Who set it", kMayBeNull},
          [](const ShownOverride& row) { return std::optional<std::string_view>(row.info.user); });
    visit(Field{"address", kText, "From where", kMayBeNull}, [](const ShownOverride& row) {
      return std::optional<std::string_view>(row.info.address);
    });
    visit(Field{"since", kInteger, "Unix time in milliseconds"},
          [](const ShownOverride& row) { return row.UnixMs(row.info.since); });
    visit(Field{"left_ms", kInteger, "null: until it is deleted", kMayBeNull},
          [](const ShownOverride& row) {
            const bool has_end = row.info.end < engine::kNever;
            return has_end ? std::optional(row.info.end - row.now) : std::nullopt;
          });
  }
};

inline constexpr auto kLockInfoFields = protocol::FieldsOf<LockInfoFields>();
inline constexpr auto kOverrideFields = protocol::FieldsOf<OverrideFields>();

}  // namespace fairlock::command

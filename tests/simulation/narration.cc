#include "tests/simulation/narration.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace fairlock::simulation {
namespace {

// Shows the fourth owner as "w3". A name that is not in the list is shown only by its length,
// because it may contain any bytes.
std::string NumberOf(const std::vector<std::string>& texts, std::string_view text, char letter) {
  if (text.empty()) return std::string(1, letter) + "-";
  const auto found = std::ranges::find(texts, text);
  if (found == texts.end()) return "unknown text of " + std::to_string(text.size()) + " bytes";
  return letter + std::to_string(found - texts.begin());
}

std::string NumberOf(int index, char letter) {
  return letter + (index == kAbsent ? "-" : std::to_string(index));
}

std::string LockOptions(const Call& call) {
  std::string text;
  if (call.limit) text += " LIMIT " + std::to_string(*call.limit);
  if (call.is_shared) text += " SHARED";
  if (call.keep_ms > 0) text += " KEEP " + std::to_string(call.keep_ms);
  if (call.session_grace_ms) text += " SESSION GRACE " + std::to_string(*call.session_grace_ms);
  if (call.min_hold_ms > 0) text += " MINHOLD " + std::to_string(call.min_hold_ms);
  if (call.waiters_max) text += " MAXWAITERS " + std::to_string(*call.waiters_max);
  if (call.waiters_max && call.replaces_newest) text += " REPLACE";
  if (call.only_new) text += " NEW";
  if (call.channel != kAbsent) text += " NOTIFY n" + std::to_string(call.channel);
  if (call.meta != kAbsent) text += " META m" + std::to_string(call.meta);
  if (call.label != kAbsent) text += " LABEL l" + std::to_string(call.label);
  return text;
}

std::string WaitOption(const Call& call, const char* name) {
  if (call.wait_ms == 0) return "";
  if (call.wait_ms == engine::kForever) return std::string(name) + "FOREVER";
  return name + std::to_string(call.wait_ms);
}

std::string RedisArguments(const Call& call) {
  std::string text;
  for (int key : call.named()) text += " k" + std::to_string(key);
  if (call.operation == Operation::kSet || call.operation == Operation::kMsetNx) {
    text += " w" + std::to_string(call.owner);
    if (call.only_new) text += " NX";
    if (call.only_held) text += " XX";
    if (call.is_rename) text += " as INCR";
    if (call.written_end == engine::WrittenEnd::kKept) text += " KEEPTTL";
  }
  if (call.lease_ms) text += " PX " + std::to_string(*call.lease_ms);
  constexpr std::array kConditions = {"", " NX", " XX", " GT", " LT"};
  if (call.operation == Operation::kExpire) {
    text += kConditions[static_cast<std::size_t>(call.condition)];
  }
  return text;
}

std::string ArgumentsOf(const Call& call) {
  if (IsRedis(call.operation)) return RedisArguments(call);
  std::string text;
  if (!call.keys.empty()) text += " " + std::to_string(call.keys.size());
  if (call.key != kAbsent) {
    for (int key : call.named()) text += " k" + std::to_string(key);
  }
  if (call.operation == Operation::kWait) return text + WaitOption(call, " TIMEOUT ");
  if (call.operation == Operation::kCheck) return text + " " + std::to_string(*call.token);
  if (call.operation == Operation::kCountHolders || call.operation == Operation::kInspect) {
    return text;
  }
  if (call.operation == Operation::kQueue) {
    return text + " START " + std::to_string(call.start) + " COUNT " + std::to_string(call.count);
  }
  if (call.owner != kAbsent) text += " w" + std::to_string(call.owner);
  if (call.operation == Operation::kTransfer) text += " to w" + std::to_string(call.new_owner);
  const bool is_renew = call.operation == Operation::kRenew || call.operation == Operation::kMrenew;
  const bool has_lease = call.operation == Operation::kLock || call.is_mlock() || is_renew ||
                         call.operation == Operation::kTransfer;
  if (has_lease && call.lease_ms) text += " PX " + std::to_string(*call.lease_ms);
  if (call.operation == Operation::kLock || call.is_mlock()) {
    return text + WaitOption(call, " WAIT ") + LockOptions(call);
  }
  const bool is_unlock =
      call.operation == Operation::kUnlock || call.operation == Operation::kMunlock;
  if (call.token && (has_lease || is_unlock)) {
    text += " TOKEN " + std::to_string(*call.token);
  }
  if (is_renew && call.only_lengthens) text += " GT";
  if (call.grace_ms > 0) text += " GRACE " + std::to_string(call.grace_ms);
  return text;
}

}  // namespace

std::string Narrate(const Call& call, TimeMs now) {
  std::string text = "at " + std::to_string(now) + ": ";
  const std::string name = NameOf(call.operation);
  switch (call.operation) {
    case Operation::kSleep:
      return text + name;
    case Operation::kAdvance:
      return text + name + " by " + std::to_string(call.steps_max) +
             (call.until_done ? " until done" : " once");
    case Operation::kUnblock:
    case Operation::kDisconnect:
      return text + name + " c" + std::to_string(call.connection);
    case Operation::kSubscribe:
    case Operation::kUnsubscribe:
      return text + name + " n" + std::to_string(call.channel);
    case Operation::kSetDefaultLease:
    case Operation::kSetReconnectGrace:
      return text + name + " " + std::to_string(*call.lease_ms);
    case Operation::kSetShortage:
    case Operation::kSetNoRoom:
      return text + name + (call.is_short ? " short" : " not short");
    case Operation::kSetLimit:
      return text + name + " p" + std::to_string(call.pattern) + " " + std::to_string(*call.limit) +
             (call.lease_ms ? " for " + std::to_string(*call.lease_ms) : "");
    case Operation::kBeginStep:
      return text + name + " of " + std::to_string(call.count);
    case Operation::kDropLimit:
      return text + name + " p" + std::to_string(call.pattern);
    default:
      return text + "c" + std::to_string(call.connection) + " " + name + ArgumentsOf(call);
  }
}

namespace {

std::string KeepWords(const Setting& setting) {
  std::string text;
  for (int key = 0; key < static_cast<int>(setting.keys.size()); ++key) {
    const DurationMs keep_ms = setting.KeepOf(key);
    if (keep_ms > 0) text += " k" + std::to_string(key) + " " + std::to_string(keep_ms);
  }
  return text;
}

}  // namespace

std::string Narrate(const Setting& setting) {
  return "seed " + std::to_string(setting.seed) + ": " + std::to_string(setting.connections) +
         " connections, " + std::to_string(setting.keys.size()) + " keys, " +
         std::to_string(setting.owners.size()) + " owners, from " + std::to_string(setting.start) +
         ", first token " + std::to_string(setting.engine.first_token) + ", default lease " +
         std::to_string(setting.engine.default_lease_ms) + ", reconnect grace " +
         std::to_string(setting.engine.reconnect_grace_ms) +
         (setting.engine.locks_max != ~0ULL
              ? ", at most " + std::to_string(setting.engine.locks_max) + " locks"
              : "") +
         (setting.engine.places_max != ~0ULL
              ? ", at most " + std::to_string(setting.engine.places_max) + " places"
              : "") +
         (setting.engine.places_per_key_max != ~0ULL
              ? ", at most " + std::to_string(setting.engine.places_per_key_max) + " places a key"
              : "") +
         (setting.engine.claims_per_client_max != ~0ULL
              ? ", at most " + std::to_string(setting.engine.claims_per_client_max) + " a client"
              : "") +
         (setting.keep_choices.empty() ? "" : ", values keep places" + KeepWords(setting)) +
         (setting.is_lagging ? ", Advance lags" : "");
}

namespace {

// Describes modes in the engine and in the model in the same words, so that differences are easy to
// see.
std::string ModeWords(const engine::Mode& mode) {
  return mode.is_shared ? " shared" : " limit " + std::to_string(mode.limit);
}

std::string HoldWords(const std::string& owner, Token token, const engine::Mode& mode, TimeMs since,
                      DurationMs ttl_ms, DurationMs lease_ms) {
  return owner + " token " + std::to_string(token) + ModeWords(mode) + " since " +
         std::to_string(since) + " ttl " + std::to_string(ttl_ms) + " lease " +
         std::to_string(lease_ms);
}

std::string SessionWords(bool has_session, bool is_open) {
  return has_session ? (is_open ? " session" : " session in grace") : "";
}

std::string PlaceWords(const std::string& owner, const engine::Mode& mode, TimeMs since,
                       bool is_waiting, bool is_reserved, DurationMs left_ms,
                       std::size_t key_count) {
  return owner + ModeWords(mode) + " since " + std::to_string(since) +
         (key_count > 1 ? " with " + std::to_string(key_count) + " keys" : "") +
         (is_waiting ? " waiting" : " absent") + (is_reserved ? " reserved" : "") + " left " +
         std::to_string(left_ms);
}

std::string TextWords(const std::string& meta, const std::string& label,
                      const std::string& client) {
  return " meta " + meta + " label " + label + " client " + (client.empty() ? "c-" : client);
}

}  // namespace

std::string Narrate(const Setting& setting, const engine::HolderInfo& info) {
  return HoldWords(NumberOf(setting.owners, info.owner, 'w'), info.token, info.mode, info.since,
                   info.ttl_ms.value_or(engine::kNever), info.lease_ms) +
         SessionWords(info.has_session, info.is_session_open) +
         TextWords(NumberOf(setting.metas, info.meta, 'm'),
                   NumberOf(setting.labels, info.label, 'l'), info.client->address);
}

std::string Narrate(const Setting& setting, const engine::PlaceInfo& info) {
  const auto& left_ms = info.is_waiting ? info.wait_left_ms : info.keep_left_ms;
  return PlaceWords(NumberOf(setting.owners, info.owner, 'w'), info.mode, info.since,
                    info.is_waiting, info.is_reserved, left_ms.value_or(engine::kNever),
                    info.key_count) +
         TextWords(NumberOf(setting.metas, info.meta, 'm'),
                   NumberOf(setting.labels, info.label, 'l'), info.client->address);
}

std::string Narrate(const ModelHold& hold, TimeMs now) {
  const TimeMs end = hold.end();
  const DurationMs ttl_ms = end == engine::kNever ? engine::kNever : end - now;
  return HoldWords(NumberOf(hold.owner, 'w'), hold.token, hold.mode, hold.since, ttl_ms,
                   hold.lease_ms) +
         SessionWords(hold.session_grace_ms.has_value(), hold.session_connection != kAbsent) +
         TextWords(NumberOf(hold.meta, 'm'), NumberOf(hold.label, 'l'), NumberOf(hold.client, 'c'));
}

std::string Narrate(const ModelPlace& place, TimeMs now) {
  const DurationMs left_ms = place.end == engine::kNever ? engine::kNever : place.end - now;
  return PlaceWords(NumberOf(place.owner, 'w'), place.mode, place.since,
                    place.state == PlaceState::kWaiting, place.is_reserved, left_ms,
                    place.keys.size()) +
         TextWords(NumberOf(place.meta, 'm'), NumberOf(place.label, 'l'),
                   NumberOf(place.connection, 'c'));
}

std::string Narrate(const engine::EngineCounts& counts) {
  std::string text;
  for (std::uint64_t count :
       {counts.locks, counts.holds, counts.places, counts.watchers, counts.cooldowns,
        counts.granted, counts.granted_after_wait, counts.denied, counts.released, counts.expired,
        counts.disconnected, counts.broken, counts.timed_out, counts.newest_token}) {
    text += " " + std::to_string(count);
  }
  return text;
}

}  // namespace fairlock::simulation

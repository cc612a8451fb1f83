// The commands for sets, as in Redis.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/command/handlers/command_costs.h"
#include "server/command/handlers/command_families.h"
#include "server/command/handlers/redis_arguments.h"
#include "server/command/handlers/value_access.h"
#include "server/command/table/refusals.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;

Opened<values::Set> OpenSet(Invocation& call) { return OpenValue<values::Set>(call, 1); }

void SAdd(Invocation& call) {
  Opened<values::Set> opened = OpenSet(call);
  if (opened.is_refused) return;
  const auto members = call.arguments.views().subspan(2);
  Growth growth;
  for (const std::string_view member : members) growth.Add(member.size());
  std::size_t added = 0;
  values::Value* value = GrowValue(
      call, opened, growth, [&](values::Set& set) { added = set.AddAll(members); },
      [&](const values::Set& set) { return SizeWith(set, members); });
  if (value == nullptr) return;
  if (added > 0) call.server.values.NoticeChange(*value, "sadd", kSetEvents);
  call.reply.Integer(static_cast<std::int64_t>(added));
}

void SRem(Invocation& call) {
  const Opened<values::Set> opened = OpenSet(call);
  if (opened.is_refused) return;
  std::size_t erased = 0;
  if (opened.value != nullptr) {
    erased = opened.content().EraseAll(call.arguments.views().subspan(2));
  }
  if (erased > 0) call.server.values.NoticeChange(*opened.value, "srem", kSetEvents);
  call.reply.Integer(static_cast<std::int64_t>(erased));
}

void SIsMember(Invocation& call) {
  const Opened<values::Set> opened = OpenSet(call);
  if (opened.is_refused) return;
  const bool is_member = opened.value != nullptr && opened.content().Has(call.arguments[2]);
  call.reply.Integer(is_member ? 1 : 0);
}

void SMIsMember(Invocation& call) {
  const Opened<values::Set> opened = OpenSet(call);
  if (opened.is_refused) return;
  const auto members = call.arguments.views().subspan(2);
  call.reply.ArrayHeader(members.size());
  for (const std::string_view member : members) {
    call.reply.Integer(opened.value != nullptr && opened.content().Has(member) ? 1 : 0);
  }
}

void SCard(Invocation& call) {
  const Opened<values::Set> opened = OpenSet(call);
  if (opened.is_refused) return;
  const std::size_t size = opened.value == nullptr ? 0 : opened.content().size();
  call.reply.Integer(static_cast<std::int64_t>(size));
}

void SMembers(Invocation& call) {
  const Opened<values::Set> opened = OpenSet(call);
  if (opened.is_refused) return;
  if (opened.value == nullptr) return call.reply.SetHeader(0);
  if (RefusesElements(call, opened.content().size(), opened.content().bytes())) return;
  call.reply.SetHeader(opened.content().size());
  for (const std::string& member : opened.content().members()) call.reply.Bulk(member);
}

// Numbers that look random, derived from the clock.
class Dice {
 public:
  explicit Dice(const Invocation& call) : state_(call.server.environment.clock.MonotonicNs()) {}

  std::size_t Below(std::size_t count) {
    state_ += 0x9e37'79b9'7f4a'7c15;  // SplitMix64
    std::uint64_t bits = state_;
    bits = (bits ^ (bits >> 30)) * 0xbf58'476d'1ce4'e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d0'49bb'1331'11eb;
    return (bits ^ (bits >> 31)) % count;
  }

 private:
  std::uint64_t state_;
};

void PopSome(Invocation& call) {
  const auto count = ReadCount(call, call.arguments[2]);
  if (!count) return;
  const Opened<values::Set> opened = OpenSet(call);
  if (opened.is_refused) return;
  if (opened.value == nullptr || *count == 0) return call.reply.SetHeader(0);
  values::Set& set = opened.content();
  const std::size_t popped =
      std::min<std::uint64_t>(static_cast<std::uint64_t>(*count), set.size());
  if (RefusesElements(call, popped, LikelyBytes(set, popped)) || RefusesErasure(call, popped))
    return;
  call.reply.SetHeader(popped);
  const bool is_all = popped == set.size();
  Dice dice(call);
  for (std::size_t i = 0; i < popped; ++i) {
    call.reply.Bulk(set.EraseAt(is_all ? 0 : dice.Below(set.size())));
  }
  call.server.values.NoticeChange(*opened.value, "spop", kSetEvents);
}

void SPop(Invocation& call) {
  if (call.arguments.size() > 3) return RefuseSyntax(call.reply);
  if (call.arguments.size() == 3) return PopSome(call);
  const Opened<values::Set> opened = OpenSet(call);
  if (opened.is_refused) return;
  if (opened.value == nullptr) return call.reply.Null();
  values::Set& set = opened.content();
  call.reply.Bulk(set.EraseAt(Dice(call).Below(set.size())));
  call.server.values.NoticeChange(*opened.value, "spop", kSetEvents);
}

// Returns nullopt after sending an error.
std::optional<std::int64_t> ReadSignedCount(Invocation& call, std::string_view text) {
  const auto count = ReadRedisInteger(call, text);
  if (!count || *count != std::numeric_limits<std::int64_t>::min()) return count;
  call.reply.Error(ErrorCode::kErr,
                   "value is out of range, value must between -9223372036854775807 and "
                   "9223372036854775807");
  return std::nullopt;
}

// Shows different members, or with a negative count any members.
void ShowSome(Invocation& call) {
  const auto count = ReadSignedCount(call, call.arguments[2]);
  if (!count) return;
  const Opened<values::Set> opened = OpenSet(call);
  if (opened.is_refused || RefusesCost(call)) return;
  if (opened.value == nullptr) return call.reply.ArrayHeader(0);
  const values::Set::Members members = opened.content().members();
  Dice dice(call);
  if (*count < 0) {
    call.reply.ArrayHeader(static_cast<std::size_t>(-*count));
    for (std::int64_t i = 0; i < -*count; ++i) call.reply.Bulk(members[dice.Below(members.size())]);
    return;
  }
  const std::size_t shown =
      std::min<std::uint64_t>(static_cast<std::uint64_t>(*count), members.size());
  // A shuffle of all positions, of which only those are noted that have been exchanged.
  std::unordered_map<std::size_t, std::size_t> exchanged;
  const auto member_at = [&](std::size_t place) {
    const auto found = exchanged.find(place);
    return found == exchanged.end() ? place : found->second;
  };
  call.reply.ArrayHeader(shown);
  for (std::size_t i = 0; i < shown; ++i) {
    const std::size_t place = i + dice.Below(members.size() - i);
    call.reply.Bulk(members[member_at(place)]);
    exchanged[place] = member_at(i);
  }
}

void SRandMember(Invocation& call) {
  if (call.arguments.size() > 3) return RefuseSyntax(call.reply);
  if (call.arguments.size() == 3) return ShowSome(call);
  const Opened<values::Set> opened = OpenSet(call);
  if (opened.is_refused) return;
  if (opened.value == nullptr) return call.reply.Null();
  const values::Set::Members members = opened.content().members();
  call.reply.Bulk(members[Dice(call).Below(members.size())]);
}

void SScan(Invocation& call) {
  if (!ReadCursor(call, call.arguments[2])) return;
  const Opened<values::Set> opened = OpenSet(call);
  if (opened.is_refused) return;
  if (opened.value == nullptr) return BeginElementPage(call, 0);
  const auto scan = ReadElementScan(call);
  if (!scan) return;
  const values::Set& set = opened.content();
  std::vector<std::string_view> found;
  const std::uint64_t next = VisitPage(
      call, set.members(), set, *scan,
      [](const std::string& member) -> std::string_view { return member; },
      [&](const std::string& member) {
        found.emplace_back(member);
        return member.size();
      });
  BeginElementPage(call, found.size(), next);
  for (const std::string_view member : found) call.reply.Bulk(member);
}

constexpr std::uint32_t kReadsMember = kReadOnly | kFast;

constexpr auto kSetCommands = std::to_array<CommandSpec>({
    {"SADD", SAdd, -3, kWrite | kTakesLock | kFast, With(kFirstKey, KeyEffect::kAddElements), "set",
     "key member [member ...]",
     "Adds members to a set, which is created if the key is free; replies with the number of new "
     "members",
     "O(members added)"},
    {"SREM", SRem, -3, kWrite | kFast, With(kFirstKey, KeyEffect::kDeleteElements), "set",
     "key member [member ...]",
     "Removes members, and the set with its last one; replies with the number removed",
     "O(members named)"},
    {"SISMEMBER", SIsMember, 3, kReadsMember, With(kFirstKey, KeyEffect::kTest), "set",
     "key member", "Whether the set has the member: 1 or 0", "O(1)"},
    {"SMISMEMBER", SMIsMember, -3, kReadsMember, kFirstKey, "set", "key member [member ...]",
     "SISMEMBER for each member", "O(members named)"},
    {"SMEMBERS", SMembers, 2, kReadOnly, kFirstKey, "set", "key", "All members", "O(members)"},
    {"SCARD", SCard, 2, kReadsMember, With(kFirstKey, KeyEffect::kTest), "set", "key",
     "The number of members", "O(1)"},
    {"SPOP", SPop, -2, kWrite | kFast, With(kFirstKey, KeyEffect::kAccessDelete), "set",
     "key [count]",
     "Removes a random member, or up to count of them, and replies with it; nil if there is none",
     "O(count)"},
    {"SRANDMEMBER", SRandMember, -2, kReadOnly, kFirstKey, "set", "key [count]",
     "A random member, or up to count different ones, or with -count that many, which may be the "
     "same ones",
     "O(count)"},
    {"SSCAN", SScan, -3, kReadOnly, kFirstKey, "set", "key cursor [MATCH glob] [COUNT count]",
     "A page of the members that match; all of them if there are few", "O(count)"},
});

}  // namespace

std::span<const CommandSpec> SetCommands() { return kSetCommands; }

}  // namespace fairlock::command

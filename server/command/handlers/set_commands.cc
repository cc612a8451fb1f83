// The commands for sets, as in Redis.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/command/handlers/command_costs.h"
#include "server/command/handlers/command_families.h"
#include "server/command/handlers/redis_arguments.h"
#include "server/command/handlers/value_access.h"
#include "server/command/table/glob_walk.h"
#include "server/command/table/refusals.h"
#include "server/values/names.h"

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
  values::Value* value =
      GrowValue(call, opened, growth, [&](values::Set& set) { added = set.AddAll(members); });
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
  const auto asked = call.arguments.views().subspan(2);
  const values::Names names(asked);
  std::vector<bool> is_there(names.size() + 1);  // the last one is no name's
  if (opened.value != nullptr) {
    for (const std::string& member : opened.content().members()) {
      is_there[names.IndexOf(member)] = true;
    }
  }
  call.reply.ArrayHeader(asked.size());
  for (const std::string_view member : asked) {
    call.reply.Integer(is_there[names.IndexOf(member)] ? 1 : 0);
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
  const auto& members = opened.content().members();
  Dice dice(call);
  if (*count < 0) {
    call.reply.ArrayHeader(static_cast<std::size_t>(-*count));
    for (std::int64_t i = 0; i < -*count; ++i) call.reply.Bulk(members[dice.Below(members.size())]);
    return;
  }
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t shown =
      std::min<std::uint64_t>(static_cast<std::uint64_t>(*count), members.size());
  call.reply.ArrayHeader(shown);
  for (std::size_t i = 0; i < shown; ++i) {
    std::swap(order[i], order[i + dice.Below(order.size() - i)]);
    call.reply.Bulk(members[order[i]]);
  }
}

void SRandMember(Invocation& call) {
  if (call.arguments.size() > 3) return RefuseSyntax(call.reply);
  if (call.arguments.size() == 3) return ShowSome(call);
  const Opened<values::Set> opened = OpenSet(call);
  if (opened.is_refused) return;
  if (opened.value == nullptr) return call.reply.Null();
  const auto& members = opened.content().members();
  call.reply.Bulk(members[Dice(call).Below(members.size())]);
}

void SScan(Invocation& call) {
  if (!ReadCursor(call, call.arguments[2])) return;
  const Opened<values::Set> opened = OpenSet(call);
  if (opened.is_refused) return;
  if (opened.value == nullptr) return BeginElementPage(call, 0);
  const auto glob = ReadElementScan(call);
  if (!glob) return;
  GlobWalk walk(call.server.work, GlobWalk::kPageWorkMax);
  std::vector<std::string_view> found;
  for (const std::string& member : opened.content().members()) {
    if (glob->Matches(member, walk.compared())) found.emplace_back(member);
  }
  BeginElementPage(call, found.size());
  for (const std::string_view member : found) call.reply.Bulk(member);
}

constexpr std::uint32_t kReadsMember = kReadOnly | kFast;

constexpr auto kSetCommands = std::to_array<CommandSpec>({
    {"SADD", SAdd, -3, kWrite | kTakesLock | kFast, With(kFirstKey, KeyEffect::kAddElements), "set",
     "key member [member ...]",
     "Adds members to a set, which is created if the key is free; replies with the number of new "
     "members",
     "O(members)"},
    {"SREM", SRem, -3, kWrite | kFast, With(kFirstKey, KeyEffect::kDeleteElements), "set",
     "key member [member ...]",
     "Removes members, and the set with its last one; replies with the number removed",
     "O(members)"},
    {"SISMEMBER", SIsMember, 3, kReadsMember, With(kFirstKey, KeyEffect::kTest), "set",
     "key member", "Whether the set has the member: 1 or 0", "O(members)"},
    {"SMISMEMBER", SMIsMember, -3, kReadsMember, kFirstKey, "set", "key member [member ...]",
     "SISMEMBER for each member", "O(members)"},
    {"SMEMBERS", SMembers, 2, kReadOnly, kFirstKey, "set", "key", "All members", "O(members)"},
    {"SCARD", SCard, 2, kReadsMember, With(kFirstKey, KeyEffect::kTest), "set", "key",
     "The number of members", "O(1)"},
    {"SPOP", SPop, -2, kWrite | kFast, With(kFirstKey, KeyEffect::kAccessDelete), "set",
     "key [count]",
     "Removes a random member, or up to count of them, and replies with it; nil if there is none",
     "O(members)"},
    {"SRANDMEMBER", SRandMember, -2, kReadOnly, kFirstKey, "set", "key [count]",
     "A random member, or up to count different ones, or with -count that many, which may be the "
     "same ones",
     "O(members)"},
    {"SSCAN", SScan, -3, kReadOnly, kFirstKey, "set", "key cursor [MATCH glob] [COUNT count]",
     "All members that match, in one page", "O(members)"},
});

}  // namespace

std::span<const CommandSpec> SetCommands() { return kSetCommands; }

}  // namespace fairlock::command

// The commands for sets, as in Redis.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "server/command/handlers/command_families.h"
#include "server/command/handlers/redis_arguments.h"
#include "server/command/handlers/value_access.h"
#include "server/command/table/glob_walk.h"
#include "server/command/table/refusals.h"

namespace fairlock::command {

namespace {

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
    {"SMEMBERS", SMembers, 2, kReadOnly, kFirstKey, "set", "key", "All members", "O(members)"},
    {"SCARD", SCard, 2, kReadsMember, With(kFirstKey, KeyEffect::kTest), "set", "key",
     "The number of members", "O(1)"},
    {"SPOP", SPop, -2, kWrite | kFast, With(kFirstKey, KeyEffect::kAccessDelete), "set",
     "key [count]",
     "Removes a random member, or up to count of them, and replies with it; nil if there is none",
     "O(members)"},
    {"SSCAN", SScan, -3, kReadOnly, kFirstKey, "set", "key cursor [MATCH glob] [COUNT count]",
     "All members that match, in one page", "O(members)"},
});

}  // namespace

std::span<const CommandSpec> SetCommands() { return kSetCommands; }

}  // namespace fairlock::command

#include "server/script/budget.h"

#include <algorithm>
#include <lua.hpp>

#include "server/script/raise.h"
#include "server/script/sandbox.h"

namespace fairlock::script {

namespace {

// If that many instructions take longer than this, their number is reduced; if they take less than
// a tenth of this, it is increased.
constexpr std::uint64_t kCountNsMax = 1'000'000;
// The clock is read each time library functions have charged this many steps.
constexpr std::uint64_t kStepsPerLook = 50'000;

}  // namespace

void Budget::Begin(lua_State* lua, const ScriptLimits& limits, Host& host, std::uint64_t used_ns) {
  host_ = &host;
  used_up_ = UsedUp::kNot;
  steps_ = 0;
  steps_at_look_ = 0;
  steps_max_ = limits.steps_max;
  const std::uint64_t time_max_ns = limits.time_max_ms * 1'000'000;
  time_max_ns_ = time_max_ns - std::min(used_ns, time_max_ns);
  taken_bytes_ = memory_.taken_bytes();
  begun_ns_ = host.NowNs();
  looked_ns_ = begun_ns_;
  hook_.count = 0;
  SetCount(lua, hook_.count_max);
}

void Budget::ForgetBlocks() { hook_ = Hook{}; }

void Budget::Charge(lua_State* lua, std::uint64_t steps) {
  steps_ += steps;
  if (steps_ > steps_max_) Stop(lua, UsedUp::kSteps);
  if (steps_ - steps_at_look_ >= kStepsPerLook) AdaptCount(lua, WatchTime(lua));
  RaiseIfUsedUp(lua);
}

void Budget::ChargeReply(lua_State* lua, std::uint64_t bytes) {
  steps_ += bytes / kBytesPerStep;
  if (steps_ > steps_max_) Stop(lua, UsedUp::kSteps);
  WatchTime(lua);
  RaiseIfUsedUp(lua);
}

void Budget::NoticeBlock(lua_State* lua, std::size_t bytes) {
  if (bytes <= hook_.largest_block_bytes) return;
  hook_.largest_block_bytes = bytes;
  hook_.count_max = static_cast<int>(std::max<std::size_t>(kBlockBytesPerHook / bytes, 1));
  if (hook_.count > hook_.count_max) SetCount(lua, hook_.count_max);
}

void Budget::OnCount(lua_State* lua, lua_Debug* /*activation*/) {
  Sandbox::Of(lua).budget().NoticeCount(lua);
}

void Budget::NoticeCount(lua_State* lua) {
  const std::uint64_t taken_bytes = memory_.taken_bytes() - taken_bytes_;
  taken_bytes_ += taken_bytes;
  steps_ += static_cast<std::uint64_t>(hook_.count) + taken_bytes / kBytesPerStep;
  if (steps_ > steps_max_) Stop(lua, UsedUp::kSteps);
  AdaptCount(lua, WatchTime(lua));
  RaiseIfUsedUp(lua);
}

std::uint64_t Budget::WatchTime(lua_State* lua) {
  steps_at_look_ = steps_;
  const std::uint64_t now_ns = host_->NowNs();
  const std::uint64_t elapsed_ns = now_ns - looked_ns_;
  looked_ns_ = now_ns;
  if (now_ns - begun_ns_ > time_max_ns_) Stop(lua, UsedUp::kTime);
  return elapsed_ns;
}

void Budget::AdaptCount(lua_State* lua, std::uint64_t elapsed_ns) {
  if (used_up_ != UsedUp::kNot) return;
  if (elapsed_ns > kCountNsMax) {
    SetCount(lua, std::max(1, hook_.count / 10));
  } else if (elapsed_ns < kCountNsMax / 10) {
    SetCount(lua, std::min(hook_.count_max, hook_.count * 2));
  }
}

void Budget::SetCount(lua_State* lua, int count) {
  if (count == hook_.count) return;
  hook_.count = count;
  lua_sethook(lua, OnCount, LUA_MASKCOUNT, count);
}

void Budget::Stop(lua_State* lua, UsedUp reason) {
  if (used_up_ != UsedUp::kNot) return;
  used_up_ = reason;
  SetCount(lua, 1);
}

void Budget::RaiseIfUsedUp(lua_State* lua) const {
  if (used_up_ != UsedUp::kNot) RaiseText(lua, "script stopped");
}

}  // namespace fairlock::script

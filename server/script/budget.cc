#include "server/script/budget.h"

#include <algorithm>
#include <lua.hpp>

#include "server/script/raise.h"
#include "server/script/sandbox.h"

namespace fairlock::script {

namespace {

constexpr int kCountMax = 1'000;
// A count should take no longer than this, and may be longer if it takes a tenth of it.
constexpr std::uint64_t kCountNsMax = 1'000'000;
// So often does what functions charge lead to a look at the time.
constexpr std::uint64_t kStepsPerLook = 50'000;

}  // namespace

void Budget::Begin(lua_State* lua, const ScriptLimits& limits, Host& host) {
  host_ = &host;
  used_up_ = UsedUp::kNot;
  steps_ = 0;
  steps_at_look_ = 0;
  steps_max_ = limits.steps_max;
  time_max_ns_ = limits.time_max_ms * 1'000'000;
  taken_bytes_ = memory_.taken_bytes();
  begun_ns_ = 0;
  count_ = 0;
  SetCount(lua, kCountMax);
}

void Budget::Charge(lua_State* lua, std::uint64_t steps) {
  steps_ += steps;
  if (steps_ > steps_max_) Stop(lua, UsedUp::kSteps);
  if (steps_ - steps_at_look_ >= kStepsPerLook) WatchTime(lua);
  if (used_up_ != UsedUp::kNot) RaiseText(lua, "script stopped");
}

void Budget::OnCount(lua_State* lua, lua_Debug* /*activation*/) {
  Sandbox::Of(lua).budget().NoticeCount(lua);
}

void Budget::NoticeCount(lua_State* lua) {
  const std::uint64_t taken_bytes = memory_.taken_bytes() - taken_bytes_;
  taken_bytes_ += taken_bytes;
  steps_ += static_cast<std::uint64_t>(count_) + taken_bytes / kBytesPerStep;
  if (steps_ > steps_max_) Stop(lua, UsedUp::kSteps);
  WatchTime(lua);
  if (used_up_ != UsedUp::kNot) RaiseText(lua, "script stopped");
}

void Budget::WatchTime(lua_State* lua) {
  if (used_up_ != UsedUp::kNot) return;
  steps_at_look_ = steps_;
  const std::uint64_t now_ns = host_->NowNs();
  if (begun_ns_ == 0) {
    begun_ns_ = now_ns;
  } else if (now_ns - looked_ns_ > kCountNsMax) {
    SetCount(lua, std::max(1, count_ / 10));
  } else if (now_ns - looked_ns_ < kCountNsMax / 10) {
    SetCount(lua, std::min(kCountMax, count_ * 2));
  }
  looked_ns_ = now_ns;
  if (now_ns - begun_ns_ > time_max_ns_) Stop(lua, UsedUp::kTime);
}

void Budget::SetCount(lua_State* lua, int count) {
  if (count == count_) return;
  count_ = count;
  lua_sethook(lua, OnCount, LUA_MASKCOUNT, count);
}

void Budget::Stop(lua_State* lua, UsedUp reason) {
  if (used_up_ != UsedUp::kNot) return;
  used_up_ = reason;
  SetCount(lua, 1);
}

}  // namespace fairlock::script

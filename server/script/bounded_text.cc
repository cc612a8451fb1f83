#include "server/script/bounded_text.h"

#include <lua.hpp>
#include <utility>

#include "server/script/raise.h"
#include "server/script/sandbox.h"

namespace fairlock::script {

namespace {

constexpr std::size_t kBytesPerCharge = 1024;

}  // namespace

BoundedText::BoundedText(lua_State* lua)
    : lua_(lua), bytes_max_(Sandbox::Of(lua).limits().memory_bytes_max) {}

void BoundedText::Reserve(std::size_t bytes) {
  if (bytes > bytes_max_ - text_.size()) Raise(lua_, "not enough memory");
  bytes_not_charged_ += bytes;
  if (bytes_not_charged_ < kBytesPerCharge) return;
  Sandbox::Of(lua_).budget().ChargeBytes(lua_, std::exchange(bytes_not_charged_, 0));
}

void BoundedText::Push() const { lua_pushlstring(lua_, text_.data(), text_.size()); }

}  // namespace fairlock::script

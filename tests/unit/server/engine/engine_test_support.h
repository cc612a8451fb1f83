// An engine with a few connections, one key and a virtual clock, for unit tests of the rules.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "server/engine/lock_engine.h"

namespace fairlock::engine {

inline constexpr std::size_t kAllSteps = 1U << 30;

class LockEngineTest : public testing::Test {
 protected:
  ~LockEngineTest() override {
    for (auto& connection : connections_) engine_.sessions().Detach(*connection, {now_, effects_});
    engine_.CheckInvariants();
  }

  Attachment& Connect() {
    connections_.push_back(
        std::make_unique<Attachment>(engine_.clients().Connect("test", "default")));
    return *connections_.back();
  }

  // Returns a request for the only key of these tests.
  static LockRequest Request(std::string_view owner, DurationMs lease_ms = 5000) {
    LockRequest request;
    request.key = {0, "key"};
    request.owner = owner;
    request.lease_ms = lease_ms;
    return request;
  }

  LockResult Ask(const LockRequest& request, Attachment& from) {
    const LockResult result = engine_.Lock(request, from, {now_, effects_});
    engine_.CheckInvariants();
    return result;
  }

  LockResult Ask(std::string_view owner, Attachment& from, DurationMs lease_ms,
                 DurationMs wait_ms = 0, std::optional<std::uint32_t> limit = std::nullopt) {
    LockRequest request = Request(owner, lease_ms);
    request.wait_ms = wait_ms;
    request.limit = limit;
    return Ask(request, from);
  }

  void Disconnect(Attachment& attachment) {
    engine_.sessions().Detach(attachment, {now_, effects_});
    engine_.CheckInvariants();
  }

  std::optional<std::uint64_t> PositionOf(std::string_view owner) {
    return engine_.inspection().Position({0, "key"}, owner, {now_, effects_});
  }

  bool Unlock(std::string_view owner) {
    const bool was_held = engine_.Unlock({{0, "key"}, owner, std::nullopt}, {now_, effects_});
    engine_.CheckInvariants();
    return was_held;
  }

  void AdvanceTo(TimeMs now) {
    now_ = now;
    EXPECT_FALSE(engine_.Advance(kAllSteps, {now_, effects_}));
    engine_.CheckInvariants();
  }

  std::vector<Resolution> Taken() { return std::exchange(effects_.resolutions, {}); }

  LockEngine engine_{EngineOptions{.reconnect_grace_ms = 0, .first_token = 100}};
  Effects effects_;
  TimeMs now_ = 1000;
  std::vector<std::unique_ptr<Attachment>> connections_;
};

}  // namespace fairlock::engine

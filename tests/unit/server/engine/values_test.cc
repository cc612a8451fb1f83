// Queue places kept for values that request a lock with SET NX: their limits, and what is
// persisted.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/engine/lock_engine.h"
#include "tests/unit/server/engine/engine_test_support.h"

namespace fairlock::engine {
namespace {

class ValuePlacesTest : public LockEngineTest, public EventSink {
 protected:
  ValuePlacesTest() {
    engine_.options().keep_rules.Set({{"off:*", 0}, {"long:*", 120'000}, {"*", 1000}});
    engine_.set_event_sink(this);
    Set("key", "holder");
  }
  ~ValuePlacesTest() override { engine_.set_event_sink(nullptr); }

  void Take(const Event& event) override { told_.push_back(event.kind); }

  // Requests the lock as SET NX does.
  WriteStatus Set(std::string_view key, std::string_view value) {
    const WriteRequest request{.key = {0, key}, .value = value, .only_new = true};
    const WriteStatus status = locks_.Write(request, from_, {now_, effects_}).status;
    engine_.CheckInvariants();
    return status;
  }

  std::size_t CountPlaces() const { return engine_.counts().places; }

  RedisView& locks_ = engine_.redis();
  Attachment& from_ = Connect();
  std::vector<EventKind> told_;
};

TEST_F(ValuePlacesTest, AreToldOfWhenTheyCount) {
  told_.clear();
  EXPECT_EQ(Set("key", "a"), WriteStatus::kDenied);
  EXPECT_EQ(Set("key", "a"), WriteStatus::kDenied);
  EXPECT_EQ(Set("key", "a"), WriteStatus::kDenied);
  EXPECT_EQ(told_, (std::vector{EventKind::kDenied, EventKind::kDenied, EventKind::kQueued,
                                EventKind::kDenied}));
}

TEST_F(ValuePlacesTest, OfOneDenialEndUntold) {
  Set("key", "a");
  told_.clear();
  AdvanceTo(now_ + 1001);
  EXPECT_EQ(CountPlaces(), 0U);
  EXPECT_TRUE(told_.empty());
}

TEST_F(ValuePlacesTest, GoByTheFirstRuleThatMatchesAndEndWithMaxKeep) {
  Set("off:1", "holder");
  Set("long:1", "holder");
  Set("off:1", "a");
  EXPECT_EQ(CountPlaces(), 0U);
  Set("long:1", "a");
  EXPECT_EQ(CountPlaces(), 1U);
  AdvanceTo(now_ + 60'000);
  EXPECT_EQ(CountPlaces(), 1U);
  AdvanceTo(now_ + 1);
  EXPECT_EQ(CountPlaces(), 0U);
}

TEST_F(ValuePlacesTest, AreWrittenDownOnceTheyCount) {
  ChangeLog changes;
  engine_.set_change_log(&changes);
  Set("key", "a");
  EXPECT_TRUE(changes.places.empty());
  Set("key", "a");
  ASSERT_EQ(changes.places.size(), 1U);
  const auto kept = engine_.snapshots().FindPlaceRow(changes.places.front(), "a");
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->keep_ms, 1000);
  EXPECT_TRUE(kept->claim.is_redis_way);
  changes.Clear(engine_.next_token());
  Set("key", "a");
  EXPECT_TRUE(changes.empty());
  engine_.set_change_log(nullptr);
}

TEST_F(ValuePlacesTest, PeekSeesALockAsLookDoesButEndsNothing) {
  locks_.Write({.key = {0, "number"}, .value = "7", .end = WrittenEnd::kAfter, .lease_ms = 10},
               from_, {now_, effects_});
  const KeyLook look = locks_.Peek({0, "number"}, now_);
  EXPECT_TRUE(look.exists && look.is_held && look.is_redis_way);
  EXPECT_EQ(look.owner, "7");
  EXPECT_EQ(look.ttl_ms, 10);
  EXPECT_FALSE(locks_.Peek({1, "number"}, now_).exists);
  now_ += 100;
  EXPECT_TRUE(locks_.Peek({0, "number"}, now_).exists);
  EXPECT_FALSE(locks_.Look({0, "number"}, {now_, effects_}).exists);
  EXPECT_FALSE(locks_.Peek({0, "number"}, now_).exists);
}

TEST(ValuePlaces, LeaveHalfOfThePlacesToThoseWhoWait) {
  EngineOptions options{.places_max = 8};
  options.keep_rules.Set({{"*", 1000}});
  LockEngine engine(options);
  RedisView& locks = engine.redis();
  Attachment from(engine.clients().Connect("test", "default"));
  Effects effects;
  for (int i = 0; i < 20; ++i) {
    const std::string value = "v" + std::to_string(i);
    locks.Write({.key = {0, "key"}, .value = value, .only_new = true}, from, {0, effects});
  }
  EXPECT_EQ(engine.counts().places, 4U);
  LockRequest request;
  request.key = {0, "key"};
  request.owner = "waits";
  request.wait_ms = 1000;
  EXPECT_EQ(engine.Lock(request, from, {0, effects}).status, LockStatus::kQueued);
  engine.sessions().Detach(from, {0, effects});
}

}  // namespace
}  // namespace fairlock::engine

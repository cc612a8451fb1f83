#include <string>

#include "server/engine/api/event.h"
#include "tests/unit/server/engine/engine_test_support.h"

namespace fairlock::engine {
namespace {

class NotedKinds final : public EventSink {
 public:
  NotedKinds(std::string& noted, char name) : noted_(noted), name_(name) {}

  void Take(const Event& event) override {
    noted_ += name_;
    noted_ += event.kind == EventKind::kGranted ? '+' : '-';
  }

 private:
  std::string& noted_;
  const char name_;
};

using EventFanTest = LockEngineTest;

TEST_F(EventFanTest, TellsEachListenerInTheOrderOfTheirComing) {
  std::string noted;
  NotedKinds first(noted, 'a');
  NotedKinds second(noted, 'b');
  EventFan fan;
  fan.Add(first);
  fan.Add(second);
  engine_.set_event_sink(&fan);
  Ask("owner", Connect(), 5000);
  Unlock("owner");
  EXPECT_EQ(noted, "a+b+a-b-");
  engine_.set_event_sink(nullptr);
}

TEST_F(EventFanTest, TellsNothingMoreToOneThatIsRemoved) {
  std::string noted;
  NotedKinds first(noted, 'a');
  NotedKinds second(noted, 'b');
  EventFan fan;
  fan.Add(first);
  fan.Add(second);
  engine_.set_event_sink(&fan);
  Ask("owner", Connect(), 5000);
  fan.Remove(first);
  Unlock("owner");
  EXPECT_EQ(noted, "a+b+b-");
  engine_.set_event_sink(nullptr);
}

TEST_F(EventFanTest, IsNoDetourForOneListenerAndNothingForNone) {
  std::string noted;
  NotedKinds first(noted, 'a');
  NotedKinds second(noted, 'b');
  EventFan fan;
  EXPECT_EQ(fan.entrance(), nullptr);
  fan.Add(first);
  EXPECT_EQ(fan.entrance(), &first);
  fan.Add(second);
  EXPECT_EQ(fan.entrance(), &fan);
  fan.Remove(first);
  EXPECT_EQ(fan.entrance(), &second);
}

TEST_F(EventFanTest, ADeniedOrQueuedRequestNamesTheOldestHolderWithItsToken) {
  struct Noted final : EventSink {
    void Take(const Event& event) override {
      if (event.reason == DenialReason::kNone) return;
      others += std::string(event.other) + ":" + std::to_string(event.other_token) + " ";
    }
    std::string others;
  } noted;
  const Token token = Ask("holder", Connect(), 5000).token;
  engine_.set_event_sink(&noted);
  Ask("denied", Connect(), 5000);
  Ask("queued", Connect(), 5000, 1000);
  engine_.set_event_sink(nullptr);
  const std::string holder = "holder:" + std::to_string(token) + " ";
  EXPECT_EQ(noted.others, holder + holder);
}

}  // namespace
}  // namespace fairlock::engine

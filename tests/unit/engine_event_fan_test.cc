#include <string>

#include "server/engine/event_fan.h"
#include "tests/unit/engine_test_support.h"

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
  fan.Remove(second);
  EXPECT_TRUE(fan.empty());
  engine_.set_event_sink(nullptr);
}

}  // namespace
}  // namespace fairlock::engine

#include "server/config/live_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fairlock::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LiveSettingsTest : public testing::Test {
 protected:
  std::vector<std::string> Find(std::string_view glob) const {
    std::vector<std::string> found;
    for (const command::Setting& setting : settings_.FindSettings(engine::Glob(glob))) {
      found.push_back(setting.name + "=" + setting.value);
    }
    return found;
  }

  std::string refusal_;
  std::vector<std::int64_t> applied_;  // the value of max_clients at each call of the callback
  command::ServerFacts facts_;
  LiveSettings settings_{facts_, DefaultConfig(), [this](const Config& config) {
                           applied_.push_back(config.max_clients);
                           return refusal_;
                         }};
};

TEST_F(LiveSettingsTest, FindsSettingsUnderBothOfTheirNames) {
  EXPECT_THAT(Find("max*clients"), ElementsAre("max_clients=10000", "maxclients=10000",
                                               "max_unauthenticated_clients=0"));
  EXPECT_THAT(Find("port"), ElementsAre("port=3247"));
  EXPECT_THAT(Find("tcp?keepalive"), ElementsAre("tcp_keepalive=5m", "tcp-keepalive=300"));
  EXPECT_THAT(Find("unknown"), IsEmpty());
  EXPECT_THAT(Find(""), IsEmpty());
}

TEST_F(LiveSettingsTest, ChangesWhatMayChange) {
  EXPECT_EQ(settings_.ChangeSetting("max_clients", "50"), "");
  EXPECT_EQ(settings_.ChangeSetting("maxclients", "60"), "");
  EXPECT_THAT(applied_, ElementsAre(50, 60));
  EXPECT_THAT(Find("max_clients"), ElementsAre("max_clients=60"));
  EXPECT_EQ(facts_.connections_max, 60U);
}

TEST_F(LiveSettingsTest, KeepsTheOldValueWhenTheNewOneIsWrongOrRefused) {
  EXPECT_THAT(settings_.ChangeSetting("max_clients", "none"),
              HasSubstr("must be a number from 1 to 1000000, got 'none'"));
  EXPECT_THAT(settings_.ChangeSetting("port", "1"), HasSubstr("immutable"));
  EXPECT_THAT(settings_.ChangeSetting("unknown", "1"), HasSubstr("no such option"));
  EXPECT_THAT(settings_.ChangeSetting("", "1"), HasSubstr("no such option"));
  EXPECT_THAT(applied_, IsEmpty());
  refusal_ = "no room";
  EXPECT_EQ(settings_.ChangeSetting("max_clients", "50"), "no room");
  EXPECT_THAT(Find("max_clients"), ElementsAre("max_clients=10000"));
  EXPECT_EQ(facts_.connections_max, 10'000U);
}

TEST_F(LiveSettingsTest, RefusesLettersOfEventsInTheWordsOfRedis) {
  EXPECT_EQ(settings_.ChangeSetting("notify-keyspace-events", "KEA?"),
            "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.");
  EXPECT_EQ(settings_.ChangeSetting("notify-keyspace-events", "gKE"), "");
  EXPECT_THAT(Find("notify*"),
              ElementsAre("notify_keyspace_events=gKE", "notify-keyspace-events=gKE"));
}

}  // namespace
}  // namespace fairlock::server

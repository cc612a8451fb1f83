#include "cli/views/fleet_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlock::cli {
namespace {

using protocol::Reply;
using protocol::ReplyType;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Reply Text(std::string_view text) {
  Reply reply;
  if (text.empty()) return reply;
  reply.type = ReplyType::kBulk;
  reply.text = text;
  return reply;
}

Reply Number(std::int64_t number) {
  Reply reply;
  reply.type = ReplyType::kInteger;
  reply.integer = number;
  return reply;
}

Reply Map(std::initializer_list<std::pair<std::string_view, Reply>> fields) {
  Reply reply;
  reply.type = ReplyType::kMap;
  for (const auto& [name, value] : fields) {
    reply.elements.push_back(Text(name));
    reply.elements.push_back(value);
  }
  return reply;
}

Reply List(std::vector<Reply> elements) {
  Reply reply;
  reply.type = ReplyType::kArray;
  reply.elements = std::move(elements);
  return reply;
}

Reply Node(std::string_view name, std::string_view role, bool is_in_sync) {
  return Map({{"name", Text(name)},
              {"address", Text("10.0.0.1:3247")},
              {"version", Text("0.1.0")},
              {"role", Text(role)},
              {"in_sync", Number(is_in_sync ? 1 : 0)},
              {"frames_behind", Number(is_in_sync ? 0 : 1234)},
              {"started_at", Number(1'700'000'000'000)}});
}

Reply Member(std::string_view error, std::string_view version) {
  return Map({{"endpoint", Text("e1:2379")},
              {"error", Text(error)},
              {"version", Text(version)},
              {"leader", Number(1)},
              {"size_bytes", Number(1'073'741'824)},
              {"size_in_use_bytes", Number(1536)}});
}

struct Seen {
  std::string_view leader = "n0";
  std::string_view error = "";
  bool awaits_acceptance = false;
  bool is_unsure = false;
  bool is_short = false;
  bool has_no_space = false;
  std::vector<Reply> nodes = {Node("n0", "leader", true), Node("n1", "standby", true)};
  std::vector<Reply> members = {Member("", "3.5.28")};
};

Reply StatusOf(const Seen& seen) {
  return Map({{"fleet", Text("main")},
              {"node", Text("n1")},
              {"role", Text("standby")},
              {"epoch", Number(7)},
              {"leader", Text(seen.leader)},
              {"leader_address", Text("10.0.0.1:3247")},
              {"leader_since", Number(1'700'000'000'000)},
              {"awaits_acceptance", Number(seen.awaits_acceptance ? 1 : 0)},
              {"unsure", Number(seen.is_unsure ? 1 : 0)},
              {"age_ms", Number(40)},
              {"error", Text(seen.error)},
              {"quota_bytes", Number(2'147'483'648)},
              {"short_of_quota", Number(seen.is_short ? 1 : 0)},
              {"no_space", Number(seen.has_no_space ? 1 : 0)},
              {"nodes", List(seen.nodes)},
              {"etcd", List(seen.members)}});
}

Screen Pipe() {
  Screen screen;
  screen.charset = Charset::kUtf8;
  return screen;
}

std::string TextOf(const Seen& seen) {
  return FleetText(StatusOf(seen), 1'700'000'003'000, Pipe());
}

TEST(IsOldEtcd, KnowsTheFirstGoodOneOfEachMinorVersion) {
  for (const std::string_view version :
       {"3.4.42", "3.5.28", "3.5.100", "3.6.9", "3.7.0", "4.0.0"}) {
    EXPECT_FALSE(IsOldEtcd(version)) << version;
  }
  for (const std::string_view version :
       {"3.4.41", "3.5.27", "3.6.8", "3.3.99", "2.9.9", "", "3.5", "x.y.z"}) {
    EXPECT_TRUE(IsOldEtcd(version)) << version;
  }
}

TEST(FleetText, ShowsTheLeaderTheNodesAndEtcd) {
  const std::string text = TextOf({});
  EXPECT_THAT(text, AllOf(HasSubstr("main, as node n1 (standby) saw it 40ms ago"),
                          HasSubstr("n0 at 10.0.0.1:3247 since "), HasSubstr("(3s), epoch 7"),
                          HasSubstr("n1    standby  in sync      3s  0.1.0"),
                          HasSubstr("e1:2379  3.5.28   yes     1.0 GB  1.5 KB    50.0 %")));
  EXPECT_THAT(text, Not(HasSubstr("warning")));
}

TEST(FleetText, ShowsWhatAStandbyLacks) {
  EXPECT_THAT(TextOf({.nodes = {Node("n0", "leader", true), Node("n1", "standby", false)}}),
              HasSubstr("1,234 frames"));
}

TEST(FleetText, IsSafeToPrint) {
  const std::string text = TextOf({.leader = "\x1b[2J", .error = "\x1b[2J"});
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(FleetWarnings, AreNoneForAHealthyFleet) {
  EXPECT_THAT(FleetWarnings(StatusOf({})), IsEmpty());
}

TEST(FleetWarnings, NameEachTrouble) {
  EXPECT_THAT(FleetWarnings(StatusOf({.leader = ""})), ElementsAre("nobody leads"));
  EXPECT_THAT(FleetWarnings(StatusOf({.awaits_acceptance = true})),
              ElementsAre(HasSubstr("accept-restore")));
  EXPECT_THAT(FleetWarnings(StatusOf({.is_unsure = true})),
              ElementsAre(HasSubstr("no confirmation")));
  EXPECT_THAT(FleetWarnings(StatusOf({.error = "timeout"})),
              ElementsAre(HasSubstr("could not be updated: timeout")));
  EXPECT_THAT(FleetWarnings(StatusOf({.is_short = true})),
              ElementsAre(HasSubstr("almost reached its quota")));
  EXPECT_THAT(FleetWarnings(StatusOf({.is_short = true, .has_no_space = true})),
              ElementsAre(HasSubstr("NOSPACE")));
  EXPECT_THAT(FleetWarnings(StatusOf({.nodes = {Node("n0", "leader", true)}})),
              ElementsAre(HasSubstr("there is no standby")));
  EXPECT_THAT(FleetWarnings(
                  StatusOf({.nodes = {Node("n0", "leader", true), Node("n1", "standby", false)}})),
              ElementsAre(HasSubstr("no standby has the whole log")));
  EXPECT_THAT(FleetWarnings(StatusOf({.members = {Member("", "3.4.23")}})),
              ElementsAre(HasSubstr("e1:2379 has version 3.4.23")));
  EXPECT_THAT(FleetWarnings(StatusOf({.members = {Member("deadline exceeded", "")}})),
              ElementsAre("the etcd member e1:2379 does not answer: deadline exceeded"));
}

}  // namespace
}  // namespace fairlock::cli

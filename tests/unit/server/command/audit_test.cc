// Each audited command leaves exactly one line, however it is called and whatever comes of it.
#include "server/command/execution/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/request_writer.h"
#include "server/command/table/command_docs.h"
#include "server/command/table/text.h"
#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr std::string_view kUsers =
    "user default off\n"
    "user root on >pw ~* +@all\n"
    "user guest on >pw ~* -@all +eval +@transaction +lock\n";

struct AuditedCase {
  std::string_view command;  // as in the command table
  std::string_view request;
  std::string_view wrong;  // a request that fails
};

// Every audited command must be here.
constexpr auto kAuditedCases = std::to_array<AuditedCase>({
    {"ACL|LOAD", "ACL LOAD", "ACL LOAD now"},
    {"BACKUP", "BACKUP", "BACKUP KEEP few"},
    {"BREAK", "BREAK k REASON stuck", "BREAK k owner BECAUSE stuck"},
    {"CANCEL", "CANCEL k waiter", "CANCEL k \"\""},
    {"CLIENT|KILL", "CLIENT KILL ID 999", "CLIENT KILL ID none"},
    {"CLIENT|UNBLOCK", "CLIENT UNBLOCK 999", "CLIENT UNBLOCK none"},
    {"CLUSTER|ACCEPT-RESTORE", "CLUSTER ACCEPT-RESTORE", "CLUSTER ACCEPT-RESTORE now"},
    {"CLUSTER|FAILOVER", "CLUSTER FAILOVER", "CLUSTER FAILOVER AT node"},
    {"CONFIG|RESETSTAT", "CONFIG RESETSTAT", "CONFIG RESETSTAT now"},
    {"CONFIG|SET", "CONFIG SET default_lease 10s", "CONFIG SET default_lease bad"},
    {"FLUSHALL", "FLUSHALL", "FLUSHALL now"},
    {"FLUSHDB", "FLUSHDB", "FLUSHDB now"},
    {"LIMIT|DEL", "LIMIT DEL jobs:*", "LIMIT DEL \"\""},
    {"LIMIT|SET", "LIMIT SET jobs:* 2 REASON test", "LIMIT SET jobs:* many"},
    {"MONITOR", "MONITOR", "MONITOR now"},
    {"SHUTDOWN", "SHUTDOWN", "SHUTDOWN then"},
});

// Commands for administrators that only show something, and need no line.
constexpr auto kLooks = std::to_array<std::string_view>(
    {"ACL|LIST", "ACL|USERS", "ACL|GETUSER", "ACL|DRYRUN", "CLIENT|LIST", "CLIENT|NO-EVICT",
     "CONFIG|GET", "LIMIT|LIST", "ROLE"});

std::string LineBegin(std::string_view command) {
  std::string name(command);
  std::ranges::replace(name, '|', ' ');
  return name;
}

// A server in which `waiter` waits for k, which `holder` holds; it was asked by another program.
class AuditServer {
 public:
  AuditServer() {
    server_.environment().reload_error = "";
    server_.SetUsers(kUsers);
    TestClient& holder = As("root");
    holder.Say("LOCK k holder PX 100000");
    TestClient& waiter = As("root");
    waiter.Say("CLIENT SETNAME waiter");
    waiter.Say("LOCK k waiter PX 100000 WAIT 100s");
    server_.environment().audit.clear();
  }

  TestClient& As(std::string_view user) {
    TestClient& client = server_.Connect();
    client.Say("AUTH " + std::string(user) + " pw");
    return client;
  }
  TestServer& server() { return server_; }
  // The lines written since the last call.
  std::vector<std::string> Lines() { return std::exchange(server_.environment().audit, {}); }

 private:
  TestServer server_;
};

class Audited : public testing::TestWithParam<AuditedCase> {
 protected:
  // Exactly one line, which begins with the command and names the user.
  void ExpectOne(std::string_view user, std::string_view what) {
    const std::vector<std::string> lines = one_.Lines();
    EXPECT_THAT(lines, SizeIs(1)) << what;
    if (lines.size() != 1) return;
    EXPECT_THAT(lines[0], StartsWith(LineBegin(GetParam().command))) << what;
    EXPECT_THAT(lines[0], HasSubstr("; user " + std::string(user) + ", 127.0.0.1:")) << what;
    last_ = lines[0];
  }
  static std::string InScript(std::string_view request) {
    std::string words;
    for (std::string_view rest = request; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      const std::string_view word = rest.substr(0, end);
      words += words.empty() ? "'" : ", '";
      words += word == "\"\"" ? "" : word;
      words += "'";
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return "EVAL \"redis.pcall(" + words + ")\" 0";
  }

  AuditServer one_;
  std::string last_;
};

TEST_P(Audited, LeavesOneLineWhenExecuted) {
  one_.As("root").Say(GetParam().request);
  ExpectOne("root", "executed");
  // What this server cannot do at all is asked for, too.
  EXPECT_THAT(last_, testing::ContainsRegex("; (done|begun|failed: ERR .*(fleet|backup).*)"));
}

TEST_P(Audited, LeavesOneLineWhenItFails) {
  one_.As("root").Say(GetParam().wrong);
  ExpectOne("root", "wrong");
  EXPECT_THAT(last_, testing::ContainsRegex("; (failed|refused): (ERR|WRONG|FULL)"));
}

TEST_P(Audited, LeavesOneLineWhenDenied) {
  one_.As("guest").Say(GetParam().request);
  ExpectOne("guest", "denied");
  EXPECT_THAT(last_, HasSubstr("; refused: NOPERM User guest has no permissions to run the '"));
  one_.server().Connect().Say(GetParam().request);
  EXPECT_THAT(one_.Lines(), testing::ElementsAre(HasSubstr("; refused: NOAUTH")));
  EXPECT_THAT(one_.server().environment().warnings, IsEmpty()) << "not twice";
}

TEST_P(Audited, LeavesOneLineInATransaction) {
  for (const std::string_view request : {GetParam().request, GetParam().wrong}) {
    TestClient& root = one_.As("root");
    root.Say("MULTI");
    root.Say(request);
    root.Say("EXEC");
    ExpectOne("root", request);
  }
  TestClient& guest = one_.As("guest");
  guest.Say("MULTI");
  guest.Say(GetParam().request);
  ExpectOne("guest", "queued without permission");
  guest.Say("EXEC");
  EXPECT_THAT(one_.Lines(), IsEmpty());
}

TEST_P(Audited, LeavesOneLineWhenDeniedAtExec) {
  TestClient& root = one_.As("root");
  root.Say("MULTI");
  if (root.Say(GetParam().request) != "QUEUED") return;
  one_.Lines();
  one_.server().SetUsers("user root on >pw ~* -@all +@transaction\n");
  root.Say("EXEC");
  ExpectOne("root", "denied at EXEC");
  EXPECT_THAT(last_, HasSubstr("; refused: NOPERM"));
}

TEST_P(Audited, LeavesOneLineFromAScript) {
  for (const std::string_view request : {GetParam().request, GetParam().wrong}) {
    one_.As("root").Say(InScript(request));
    ExpectOne("root", request);
    EXPECT_THAT(last_, HasSubstr(", in a script; "));
  }
  one_.As("guest").Say(InScript(GetParam().request));
  ExpectOne("guest", "denied in a script");
}

INSTANTIATE_TEST_SUITE_P(Table, Audited, testing::ValuesIn(kAuditedCases), [](const auto& row) {
  std::string name;
  for (const char c : row.param.command) {
    if (c != '|' && c != '-') name += c;
  }
  return name;
});

TEST(AuditRows, AreAllOfTheCasesAndNoOthers) {
  TestServer server;
  for (const CommandSpec* spec : server.parts().table.rows()) {
    const bool is_flagged = (spec->flags & kAudited) != 0;
    const bool has_case =
        std::ranges::find(kAuditedCases, spec->name, &AuditedCase::command) != kAuditedCases.end();
    EXPECT_EQ(is_flagged, has_case) << spec->name;
    // No command of Redis Cluster that would change something is ever executed, except our own.
    const bool only_looks = std::ranges::find(kLooks, spec->name) != kLooks.end() ||
                            (spec->name.starts_with("CLUSTER|") && !has_case);
    if ((spec->flags & kAdmin) != 0) {
      EXPECT_NE(is_flagged, only_looks) << spec->name;
    }
  }
}

TEST(AuditLine, SaysWhoWhatAndWhy) {
  AuditServer one;
  TestClient& root = one.As("root");
  root.Say("CLIENT SETNAME fairlockctl/anna@ops1");
  root.Say({"BREAK", "k", "holder", "REASON", "job is stuck\n"});
  const std::string peer = root.client().profile.address.peer;
  EXPECT_THAT(
      one.Lines(),
      testing::ElementsAre("BREAK 'k' 'holder' 'REASON' 'job is stuck\\x0a'; db 0; user root, " +
                           peer + " 'fairlockctl/anna@ops1'; done: 1"));
}

TEST(AuditLine, HidesSecretsAndWhatMayBeOne) {
  AuditServer one;
  one.server().environment().settings.push_back(
      {.name = "requirepass", .value = "", .is_secret = true});
  TestClient& root = one.As("root");
  for (const std::string_view name : {"requirepass", "REQUIREPASS", "requirepas", "*"}) {
    root.Say("CONFIG SET default_lease 10s " + std::string(name) + " hunter2");
    EXPECT_THAT(one.Lines(), testing::ElementsAre(testing::AllOf(HasSubstr("'default_lease' '10s'"),
                                                                 HasSubstr(" (hidden); "),
                                                                 Not(HasSubstr("hunter2")))));
  }
}

TEST(AuditLine, IsBoundedWhateverTheRequest) {
  AuditServer one;
  std::vector<std::string_view> words = {"CLIENT", "KILL"};
  const std::string longest(Audit::kArgumentBytesMax + 100, 'x');
  words.insert(words.end(), 1000, longest);
  std::string request;
  protocol::AppendRequest(request, words);
  one.As("root").SendBytes(request);
  const std::vector<std::string> lines = one.Lines();
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr(" and 984 more; "));
  EXPECT_LT(lines[0].size(), Audit::kArgumentsMax * (Audit::kArgumentBytesMax + 10) + 1000);
}

// A client may well cancel on another connection than it waits on.
TEST(AuditOfCancel, IsOnlyOfAPlaceThatAnotherProgramAskedFor) {
  AuditServer one;
  TestClient& same = one.As("root");
  same.Say("CLIENT SETNAME waiter");
  EXPECT_EQ(same.Say("CANCEL k nobody"), "0");
  EXPECT_EQ(same.Say("CANCEL k waiter"), "1");
  EXPECT_THAT(one.Lines(), IsEmpty());
  TestClient& waiter = one.As("root");
  waiter.Say("LOCK k other PX 1000 WAIT 100s");
  EXPECT_EQ(same.Say("CANCEL k other"), "1");
  EXPECT_THAT(one.Lines(), testing::ElementsAre(EndsWith("; done: 1")));
}

TEST(AuditBudget, CountsWhatItDoesNotWrite) {
  AuditServer one;
  TestClient& guest = one.As("guest");
  for (std::uint64_t i = 0; i < Audit::kRefusedMax + 7; ++i) guest.Say("BREAK k");
  EXPECT_THAT(one.Lines(), SizeIs(Audit::kRefusedMax));
  // Those who may do it do not lose their lines to those who may not.
  TestClient& root = one.As("root");
  for (std::uint64_t i = 0; i < Audit::kExecutedMax + 3; ++i) root.Say("BREAK k");
  EXPECT_THAT(one.Lines(), SizeIs(Audit::kExecutedMax));
  one.server().AdvanceBy(LineBudget::kPeriodMs);
  guest.Say("BREAK k");
  root.Say("BREAK k");
  EXPECT_THAT(one.Lines(),
              testing::ElementsAre(EndsWith("; 7 earlier ones were not logged"),
                                   EndsWith("; done: 0; 3 earlier ones were not logged")));
}

TEST(DeniedRequests, AreLoggedButNotEachOfMany) {
  AuditServer one;
  std::vector<std::string>& warnings = one.server().environment().warnings;
  TestClient& guest = one.As("guest");
  for (std::uint64_t i = 0; i < Audit::kDeniedMax + 5; ++i) guest.Say("UNLOCK k holder");
  ASSERT_THAT(warnings, SizeIs(Audit::kDeniedMax));
  EXPECT_THAT(warnings[0],
              testing::MatchesRegex("denied: UNLOCK 'k' 'holder'; db 0; user guest, 127.0.0.1:.*; "
                                    "refused: NOPERM User guest has no .*"));
  one.server().AdvanceBy(LineBudget::kPeriodMs);
  guest.Say("UNLOCK k holder");
  EXPECT_THAT(warnings.back(), EndsWith("; 5 earlier ones were not logged"));
  EXPECT_THAT(one.Lines(), IsEmpty());
}

}  // namespace
}  // namespace fairlock::command

#include "server/logging/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "server/logging/connection_log.h"
#include "server/logging/slow_lock_log.h"

namespace fairlock::server {
namespace {

using testing::HasSubstr;
using testing::Not;

class LogFile : public testing::Test {
 protected:
  LogFile() {
    std::string made = (std::filesystem::temp_directory_path() / "fairlock-XXXXXX").string();
    EXPECT_NE(mkdtemp(made.data()), nullptr);
    folder_ = made;
  }
  ~LogFile() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Log> Open(LogLevel level) {
    std::string error;
    auto log = Log::Open({.level = level, .file = folder_ / "log"}, error);
    EXPECT_EQ(error, "");
    return log;
  }

  // REQUIRES: the log is closed.
  std::string Written() const {
    std::ifstream file(folder_ / "log");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::filesystem::path folder_;
};

TEST_F(LogFile, HoldsWhatIsAsImportantAsItsLevel) {
  auto log = Open(LogLevel::kWarning);
  log->Debug("one");
  log->Info("two");
  log->Warning("three {}", 3);
  log->Error("four");
  log->SetLevel(LogLevel::kDebug);
  log->Debug("five");
  log.reset();
  EXPECT_THAT(Written(),
              testing::MatchesRegex(".+ warning three 3\n.+ error four\n.+ debug five\n"));
}

TEST_F(LogFile, ThatCannotBeOpenedIsExplained) {
  std::string error;
  EXPECT_EQ(Log::Open({.level = LogLevel::kInfo, .file = folder_ / "no" / "log"}, error), nullptr);
  EXPECT_THAT(error, HasSubstr("log_file: cannot write to "));
  EXPECT_THAT(error, HasSubstr("No such file or directory"));
}

TEST_F(LogFile, HoldsAllLinesThatWereQueuedBeforeTheEnd) {
  auto log = Open(LogLevel::kInfo);
  for (int i = 0; i < 1000; ++i) log->Info("line {}", i);
  log.reset();
  EXPECT_THAT(Written(), HasSubstr(" line 0\n"));
  EXPECT_THAT(Written(), HasSubstr(" line 999\n"));
}

TEST_F(LogFile, IsNotFilledByWhatClientsDoAtWill) {
  auto log = Open(LogLevel::kInfo);
  ConnectionLog connection_log(*log);
  for (int i = 0; i < 100; ++i)
    connection_log.LogRefused("127.0.0.1:5", {.connections_max = 10}, 1000 + i);
  connection_log.LogRefused("127.0.0.1:6", {.connections_max = 10}, 1000 + ConnectionLog::kQuietMs);
  command::ClientProfile client;
  client.address.peer = "127.0.0.1:7";
  client.name = "evil\nname";
  connection_log.LogClosed(client, net::CloseReason::kOutputLimit, 1000);
  connection_log.LogClosed(client, net::CloseReason::kPeerClosed, 1000);
  log.reset();
  const std::string written = Written();
  EXPECT_EQ(std::ranges::count(written, '\n'), 3);
  EXPECT_THAT(written, HasSubstr("refused because of max_clients (10): 1, last 127.0.0.1:5\n"));
  EXPECT_THAT(written, HasSubstr("refused because of max_clients (10): 100, last 127.0.0.1:6\n"));
  EXPECT_THAT(written, HasSubstr("(output_limit): 1, last 127.0.0.1:7 'evil\\x0aname'\n"));
}

TEST(Log, BytesOfClientsStayOnOneLine) {
  const std::string escaped = Escaped("a\r\nb\x1b[31m\xff");
  EXPECT_THAT(escaped, Not(HasSubstr("\n")));
  EXPECT_THAT(escaped, Not(HasSubstr("\x1b")));
  EXPECT_LT(Escaped(std::string(10'000, 'x')).size(), 100U);
}

class SlowLocks : public LogFile {
 protected:
  static engine::Event EventOf(engine::EventKind kind, engine::TimeMs at) {
    engine::Event event;
    event.kind = kind;
    event.key = {2, "order:1"};
    event.owner = "worker\n";
    event.at = at;
    return event;
  }

  engine::ClientTable clients_;
  std::unique_ptr<Log> log_ = Open(LogLevel::kInfo);
  SlowLockLog slow_{*log_, clients_};
};

TEST_F(SlowLocks, AreLoggedWhenTheyTookLongerThanTheirLimit) {
  slow_.set_limits({.wait_ms = 1000, .hold_ms = 500});
  engine::Event grant = EventOf(engine::EventKind::kGranted, 1);
  grant.client = clients_.Connect("10.0.0.1:5", "default");
  grant.has_waited = true;
  grant.waited_ms = 1000;
  slow_.Take(grant);
  grant.waited_ms = 1001;
  slow_.Take(grant);
  engine::Event end = EventOf(engine::EventKind::kExpired, 1);
  end.held_ms = 501;
  slow_.Take(end);
  log_.reset();
  EXPECT_THAT(Written(), HasSubstr("warning waited 1001 ms: key 'order:1' (db 2), owner "));
  EXPECT_THAT(Written(), HasSubstr("then granted; client 10.0.0.1:5 '' user default\n"));
  EXPECT_THAT(Written(), HasSubstr("warning held 501 ms: key 'order:1' (db 2), "));
  EXPECT_THAT(Written(), Not(HasSubstr("1000 ms")));
  EXPECT_THAT(Written(), Not(HasSubstr("worker\n")));
}

TEST_F(SlowLocks, AreNotLoggedWhileTheirLimitIsZero) {
  slow_.set_limits({.wait_ms = 1000, .hold_ms = 0});
  EXPECT_TRUE(slow_.is_on());
  engine::Event end = EventOf(engine::EventKind::kReleased, 1);
  end.held_ms = 1'000'000;
  slow_.Take(end);
  slow_.set_limits({});
  EXPECT_FALSE(slow_.is_on());
  log_.reset();
  EXPECT_EQ(Written(), "");
}

TEST_F(SlowLocks, DoNotFloodTheLog) {
  slow_.set_limits({.hold_ms = 1});
  engine::Event end = EventOf(engine::EventKind::kReleased, 1);
  end.held_ms = 2;
  for (int i = 0; i < 100; ++i) slow_.Take(end);
  end.at += SlowLockLog::kPeriodMs;
  slow_.Take(end);
  log_.reset();
  const std::string written = Written();
  EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), SlowLockLog::kLinesMax + 1);
  EXPECT_THAT(written, HasSubstr("; 80 earlier ones were not logged\n"));
}

}  // namespace
}  // namespace fairlock::server

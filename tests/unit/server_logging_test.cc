#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "server/logging.h"
#include "server/net_log.h"

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

  std::unique_ptr<Log> Open(const std::string& level) {
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
  auto log = Open("warning");
  log->Debug("one");
  log->Info("two");
  log->Warning("three {}", 3);
  log->Error("four");
  log->SetLevel("debug");
  log->Debug("five");
  log.reset();
  EXPECT_THAT(Written(),
              testing::MatchesRegex(".+ warning three 3\n.+ error four\n.+ debug five\n"));
}

TEST_F(LogFile, ThatCannotBeOpenedIsExplained) {
  std::string error;
  EXPECT_EQ(Log::Open({.level = "info", .file = folder_ / "no" / "log"}, error), nullptr);
  EXPECT_THAT(error, HasSubstr("log_file: cannot write to "));
  EXPECT_THAT(error, HasSubstr("No such file or directory"));
}

TEST_F(LogFile, HoldsAllLinesThatWereQueuedBeforeTheEnd) {
  auto log = Open("info");
  for (int i = 0; i < 1000; ++i) log->Info("line {}", i);
  log.reset();
  EXPECT_THAT(Written(), HasSubstr(" line 0\n"));
  EXPECT_THAT(Written(), HasSubstr(" line 999\n"));
}

TEST_F(LogFile, IsNotFilledByWhatClientsDoAtWill) {
  auto log = Open("info");
  NetLog net_log(*log);
  for (int i = 0; i < 100; ++i) net_log.NoteRefused("127.0.0.1:5", 10, 1000 + i);
  net_log.NoteRefused("127.0.0.1:6", 10, 1000 + NetLog::kQuietMs);
  command::ClientProfile client;
  client.address.peer = "127.0.0.1:7";
  client.name = "evil\nname";
  net_log.NoteClosed(client, net::CloseReason::kOutputLimit, 1000);
  net_log.NoteClosed(client, net::CloseReason::kPeerClosed, 1000);
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

}  // namespace
}  // namespace fairlock::server

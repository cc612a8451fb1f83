#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>

#include "text/address.h"
#include "text/ascii.h"
#include "text/file.h"
#include "text/local_time.h"
#include "text/number.h"

namespace fairlock::text {
namespace {

TEST(Ascii, CasesOfOtherBytesStay) {
  EXPECT_TRUE(EqualsIgnoreCase("gEt-[`", "GeT-[`"));
  EXPECT_FALSE(EqualsIgnoreCase("[", "{")) << "these differ in the same bit as letters do";
  EXPECT_FALSE(EqualsIgnoreCase("get", "gets"));
  EXPECT_FALSE(EqualsIgnoreCase("\xc4", "\xe4"));
  EXPECT_EQ(Lowered("A\xc4Z@["), "a\xc4z@[");
}

TEST(Ascii, BlanksAreTrimmedAtBothEnds) {
  EXPECT_EQ(Trimmed(" \ta b \t", " \t"), "a b");
  EXPECT_EQ(Trimmed("\ta ", " "), "\ta");
  EXPECT_EQ(Trimmed("   ", " "), "");
  EXPECT_EQ(Trimmed("", " "), "");
}

TEST(Numbers, AreTheWholeText) {
  EXPECT_EQ(ParseNumber<int>("-12"), -12);
  EXPECT_EQ(ParseNumber<std::uint16_t>("65535"), 65535);
  EXPECT_EQ(ParseNumber<int>("755", 8), 0755);
  EXPECT_EQ(ParseNumber<std::uint64_t>("fF", 16), 255U);
  EXPECT_EQ(ParseNumber<double>("1.5e3"), 1500.0);
  for (const std::string_view text : {"", " 1", "1 ", "+1", "1x", "0x1", "--1", "1.5"}) {
    EXPECT_EQ(ParseNumber<int>(text), std::nullopt) << text;
  }
  EXPECT_EQ(ParseNumber<std::uint16_t>("65536"), std::nullopt);
  EXPECT_EQ(ParseNumber<std::uint16_t>("-1"), std::nullopt);
  EXPECT_EQ(ParseNumber<std::int64_t>("9223372036854775807"),
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(ParseNumber<std::int64_t>("9223372036854775808"), std::nullopt);
}

TEST(Addresses, AreSplitAtTheLastColon) {
  EXPECT_EQ(SplitAddress("[::1]:5").host, "[::1]");
  EXPECT_EQ(SplitAddress("[::1]:5").port, "5");
  EXPECT_EQ(SplitAddress("/run/a:b:0").host, "/run/a:b");
  EXPECT_EQ(SplitAddress("lock-1").host, "lock-1");
  EXPECT_EQ(SplitAddress("lock-1").port, std::nullopt);
  EXPECT_EQ(SplitAddress(":").host, "");
  EXPECT_EQ(SplitAddress(":").port, "");
  EXPECT_EQ(WithoutBrackets("[::1]"), "::1");
  EXPECT_EQ(WithoutBrackets("["), "[");
  EXPECT_EQ(WithoutBrackets("a]"), "a]");
}

TEST(Addresses, AreReadAndJoined) {
  for (const auto& [text, host, port] :
       {std::tuple("lock-1:3247", "lock-1", 3247), std::tuple("10.0.0.1:0", "10.0.0.1", 0),
        std::tuple("[fd00::1]:65535", "fd00::1", 65535)}) {
    const auto read = ParseAddress(text);
    ASSERT_TRUE(read.has_value()) << text;
    EXPECT_EQ(*read, (Address{.host = host, .port = static_cast<std::uint16_t>(port)}));
    EXPECT_EQ(JoinAddress(read->host, read->port), text);
  }
  for (const std::string_view text : {"", "lock-1", ":1", "lock-1:", "lock-1:x", "lock-1:65536",
                                      "::1:5", "[::1]", "[::1]5", "[lock-1]:5", "[]:5"}) {
    EXPECT_EQ(ParseAddress(text), std::nullopt) << text;
  }
}

class Files : public testing::Test {
 protected:
  Files() { std::filesystem::create_directories(folder_); }
  ~Files() override { std::filesystem::remove_all(folder_); }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("text_files_" + std::to_string(::getpid()));
};

TEST_F(Files, AreReadToTheirEnd) {
  const std::string path = folder_ / "a";
  for (const std::size_t bytes : {0, 1, 16 * 1024, 16 * 1024 + 1, 100'000}) {
    const std::string content(bytes, '\0');
    std::ofstream(path, std::ios::binary) << content;
    const FileContent read = ReadFile(path);
    EXPECT_TRUE(read.is_read());
    EXPECT_EQ(read.bytes, content);
  }
}

TEST_F(Files, MayBePipes) {
  const std::string path = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path) << "one" << std::flush << "two"; });
  EXPECT_EQ(ReadFile(path).bytes, "onetwo");
  writer.join();
}

TEST_F(Files, ThatCannotBeReadHaveAReason) {
  const FileContent missing = ReadFile(folder_ / "missing");
  EXPECT_FALSE(missing.is_read());
  EXPECT_EQ(missing.error, ENOENT);
  EXPECT_EQ(missing.reason(), "No such file or directory");
  EXPECT_EQ(ReadFile(folder_).error, EISDIR);
  EXPECT_EQ(ReadFile("").error, ENOENT);
}

class LocalTimes : public testing::Test {
 protected:
  LocalTimes() { SetZone("CET-1CEST,M3.5.0,M10.5.0/3"); }
  ~LocalTimes() override {
    unsetenv("TZ");
    tzset();
  }
  static void SetZone(const char* zone) {
    setenv("TZ", zone, 1);
    tzset();
  }
  static constexpr std::int64_t kNow = 1'795'806'380'500;
};

TEST_F(LocalTimes, HaveTheirZone) {
  EXPECT_EQ(LogTime(kNow), "2026-11-27T20:06:20.500+01:00");
  EXPECT_EQ(LogTime(kNow - 150LL * 24 * 3600 * 1000), "2026-06-30T21:06:20.500+02:00");
  EXPECT_EQ(LogTime(kNow - 493), "2026-11-27T20:06:20.007+01:00");
  SetZone("<-0330>3:30");
  EXPECT_EQ(LogTime(kNow), "2026-11-27T15:36:20.500-03:30");
  EXPECT_EQ(LocalTime(kNow, "%H:%M"), "15:36");
  EXPECT_EQ(Thousandths(kNow - 493), "007");
}

}  // namespace
}  // namespace fairlock::text

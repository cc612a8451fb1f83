#include "server/services/history_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <string>

namespace fairlock::server {
namespace {

using engine::EventKind;
using testing::HasSubstr;
using testing::Not;

record::PastEvent Full(EventKind kind) {
  record::PastEvent event;
  event.kind = kind;
  event.key = {.db = 3, .bytes = "order:42"};
  event.owner = "worker \"1\"\n";
  event.token = 7;
  event.waited_ms = 12;
  return event;
}

std::string LineOf(const record::PastEvent& event) {
  std::string line;
  AppendHistoryLine(line, event, 1'795'806'380'500);
  return line;
}

TEST(HistoryLines, HaveOnlyWhatTheEventHas) {
  setenv("TZ", "UTC", 1);
  tzset();
  EXPECT_EQ(LineOf(Full(EventKind::kGranted)),
            R"({"time":"2026-11-27T19:06:20.500+00:00","at":1795806380500,"event":"granted",)"
            R"("db":3,"key":"order:42","owner":"worker \"1\"\u000a","token":7,"waited_ms":12})"
            "\n");
  std::string note;
  AppendHistoryNote(note, "lost", 5, 1'795'806'380'500);
  EXPECT_EQ(note,
            "{\"time\":\"2026-11-27T19:06:20.500+00:00\",\"at\":1795806380500,"
            "\"event\":\"lost\",\"count\":5}\n");
}

// Each kind of event, with every field that it can have, and names of any bytes.
TEST(HistoryLines, AreReadBackWhole) {
  for (int kind = 0; kind <= static_cast<int>(EventKind::kLeaving); ++kind) {
    for (int reason = 0; reason <= static_cast<int>(engine::DenialReason::kLeaving); ++reason) {
      record::PastEvent event = Full(static_cast<EventKind>(kind));
      if (event.kind != EventKind::kReplaced) {
        event.reason = static_cast<engine::DenialReason>(reason);
      }
      const std::string bytes("\0\xff{}", 4);
      event.key.bytes = bytes;
      event.other = bytes;
      event.other_token = engine::kTokenMax;
      event.held_ms = engine::kForever;
      event.grace_ms = 1;
      event.by = "addr=127.0.0.1:1";
      event.comment = bytes;
      const std::string line = LineOf(event);
      EXPECT_EQ(line.find('\n'), line.size() - 1);
      ReadEvent read;
      ASSERT_TRUE(ReadHistoryLine(line, read)) << line;
      EXPECT_EQ(read.unix_ms, 1'795'806'380'500);
      EXPECT_EQ(read.event.kind, event.kind) << line;
      EXPECT_EQ(read.event.reason, event.reason) << line;
      EXPECT_EQ(read.event.key.db, 3);
      EXPECT_EQ(read.event.key.bytes, bytes);
      EXPECT_EQ(read.event.owner, event.owner);
      EXPECT_EQ(read.event.other, bytes);
      EXPECT_EQ(read.event.token, 7U);
      EXPECT_EQ(read.event.other_token, engine::kTokenMax);
      EXPECT_EQ(read.event.waited_ms, 12);
      EXPECT_EQ(read.event.held_ms, engine::kForever);
      EXPECT_EQ(read.event.grace_ms, 1);
      EXPECT_EQ(read.event.by, event.by);
      EXPECT_EQ(read.event.comment, bytes);
    }
  }
}

TEST(HistoryLines, ThatAreNoneOrTooMuchAreNotRead) {
  const std::string key(engine::kKeyBytesMax + 1, 'k');
  for (const std::string& line :
       {std::string(), std::string("{}"), std::string("[1]"), std::string("{\"event\":\"granted\""),
        std::string(R"({"event":"granted","db":0,"key":"k"})"),
        std::string(R"({"at":1,"event":"started"})"), std::string(R"({"at":1,"event":7})"),
        std::string(R"({"at":-1,"event":"granted","db":0,"key":"k"})"),
        std::string(R"({"at":1,"event":"granted","db":16,"key":"k"})"),
        std::string(R"({"at":1,"event":"granted","db":0,"key":"k","token":9007199254740992})"),
        R"({"at":1,"event":"granted","db":0,"key":")" + key + "\"}", std::string(10'000, '[')}) {
    ReadEvent read;
    EXPECT_FALSE(ReadHistoryLine(line, read)) << line.substr(0, 100);
  }
}

}  // namespace
}  // namespace fairlock::server

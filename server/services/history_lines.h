// The lines of history_file: one JSON object for each event.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/record/history.h"

namespace fairlock::server {

// Appends a line like this, with a line break at its end:
//
// {"time":"2026-11-21T10:02:11.020+00:00","at":1795255331020,"event":"granted","db":0,
// "key":"order:42","owner":"w","token":7,"waited_ms":12}
//
// The fields are those of an event in HISTORY, without those that are empty or 0, and without
// `count`, `last_at` and `source`. If a text is not UTF-8, invalid bytes are replaced by U+FFFD,
// and an additional field, such as "key_base64", has the exact bytes.
void AppendHistoryLine(std::string& out, const record::PastEvent& event, std::int64_t unix_ms);

// Appends a line about the file itself: "started", "stopped", or "lost" with a count of events.
void AppendHistoryNote(std::string& out, std::string_view what, std::uint64_t count,
                       std::int64_t unix_ms);

// An event that was read back. The views in `event` refer to the strings, so it is not copied.
struct ReadEvent {
  ReadEvent() = default;
  ReadEvent(const ReadEvent&) = delete;
  ReadEvent& operator=(const ReadEvent&) = delete;

  record::PastEvent event = {};  // without its times
  std::int64_t unix_ms = 0;
  std::string key;
  std::string owner;
  std::string other;
  std::string by;
  std::string comment;
};

// Returns false if the line is no such event, or exceeds a bound of the server.
bool ReadHistoryLine(std::string_view line, ReadEvent& into);

}  // namespace fairlock::server

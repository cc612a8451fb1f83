// Records the names of the holds, places and other stored items that have changed since they were
// last written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rows/lock_rows.h"
#include "server/engine/api/types.h"

namespace fairlock::engine {

// The engine adds names while it works. When the step or the turn is over, the code that stores the
// state looks up each name, writes what it finds, and clears the log. Anything that began and ended
// in between is no longer found, so nothing is written for it.
struct ChangeLog {
  enum class Kind : std::uint8_t { kHold, kCooling, kPlace };

  struct Name {
    std::uint64_t key_hash = 0;
    std::uint64_t number = 0;  // the token
  };
  struct PlaceName {
    std::uint64_t key_hash = 0;
    std::uint64_t arrival = 0;
    std::size_t owner_begin = 0;  // in `bytes`
    std::size_t owner_size = 0;
  };
  // Something that was written before and has ended.
  struct End {
    Kind kind = Kind::kHold;
    std::uint8_t db = 0;
    std::uint64_t number = 0;   // the token; for a place, the arrival
    std::size_t key_begin = 0;  // in `bytes`; a place has none
    std::size_t key_size = 0;
  };

  // The names of what is new or has changed; a name may appear more than once.
  std::vector<Name> holds;
  std::vector<Name> cooling;
  std::vector<PlaceName> places;
  std::vector<End> ends;
  bool have_limits_changed = false;
  std::string bytes;
  // Holds from this token on were never written, so their ends need not be written either.
  Token first_unwritten = 0;

  bool empty() const {
    return holds.empty() && ends.empty() && places.empty() && cooling.empty() &&
           !have_limits_changed;
  }

  std::string_view Text(std::size_t begin, std::size_t size) const {
    return std::string_view(bytes).substr(begin, size);
  }

  void NoteEnd(Kind kind, std::uint64_t number, std::uint8_t db = 0, std::string_view key = {}) {
    ends.push_back({kind, db, number, bytes.size(), key.size()});
    bytes.append(key);
  }
  void NotePlace(std::uint64_t key_hash, std::uint64_t arrival, std::string_view owner) {
    places.push_back({key_hash, arrival, bytes.size(), owner.size()});
    bytes.append(owner);
  }

  // Call this when everything has been written; `next_token` is the token of the next grant.
  void Clear(Token next_token) {
    holds.clear();
    cooling.clear();
    places.clear();
    ends.clear();
    bytes.clear();
    have_limits_changed = false;
    first_unwritten = next_token;
  }
};

// Receives the rows that Snapshots finds. Views are valid until the engine's next step.
class RowSink {
 public:
  virtual void Take(const rows::Hold& hold) = 0;
  virtual void Take(const rows::Place& place) = 0;
  virtual void Take(const rows::Cooldown& cooldown) = 0;

 protected:
  ~RowSink() = default;
};

// How much of the state a scan reports.
struct RowDetail {
  // With the time that is left of each lease; otherwise, only of those whose time left has been
  // stored before, and the others start over after a restart.
  bool with_time_left = false;
  // With places without KEEP, to which an owner can return only within a grace.
  bool with_all_places = false;
};

}  // namespace fairlock::engine

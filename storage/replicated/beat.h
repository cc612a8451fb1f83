// The beat: the value in etcd that decides which node leads a partition.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "storage/status.h"

namespace fairlock::storage::replicated {

// Identifies one run of one process: 16 random bytes. No two processes have the same ID, so a beat
// that this process wrote cannot be mistaken for that of another one.
using RunId = std::array<char, 16>;

RunId NewRunId();

// Every write of a leader replaces the beat, so the beat identifies the newest write. `sequence`
// increases by one with each write, also across take-overs. If it goes back, etcd was restored from
// an older backup.
struct Beat {
  enum class State : std::uint8_t {
    kLeading = 1,
    kHandedOver = 2,  // the leader has written everything and named a successor
    kImporting = 3,   // an import or a copy writes the first log, or was interrupted
  };

  std::uint64_t epoch = 0;  // increases by one with each take-over
  RunId run{};              // the leader's run
  std::uint64_t sequence = 0;
  std::uint64_t next_frame = 1;
  State state = State::kLeading;
  std::string leader = {};  // the name of the leader's node
  // The address at which clients and standbys reach the leader, as host:port. Port 0 means that
  // they need TLS.
  std::string address = {};
  std::uint16_t tls_port = 0;  // on the same host; 0 if there is none
  std::string successor = {};  // with kHandedOver, the name of a node; empty means any

  friend bool operator==(const Beat&, const Beat&) = default;
};

// Whether `one` was written before `other`, if both come from the same etcd key.
bool IsBefore(const Beat& one, const Beat& other);

// The refusal of a fleet whose beat has the state kImporting.
Status ImportNotEnded();

std::string EncodeBeat(const Beat& beat);
Result<Beat> DecodeBeat(std::string_view bytes);

// A beat as it was read from etcd. Revision 0 means that the key does not exist.
struct SeenBeat {
  std::int64_t revision = 0;  // the MOD revision of the key
  std::string value;
  Beat beat;

  bool exists() const { return revision != 0; }
  friend bool operator==(const SeenBeat&, const SeenBeat&) = default;
};

}  // namespace fairlock::storage::replicated

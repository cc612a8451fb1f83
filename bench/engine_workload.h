// An engine with callers and names, for benchmarks: each step is what one command costs below the
// parser.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "server/engine/api/attachment.h"
#include "server/engine/api/effects.h"
#include "server/engine/lock_engine.h"
#include "server/record/recorder.h"

namespace fairlock::bench {

inline constexpr std::size_t kKeyBytes = 19;
inline constexpr std::size_t kOwnerBytes = 32;

// A list of names that lie behind one another in the order of their use, as in the input of a
// connection: reading them costs no cache miss that the server would not have. In an order without
// pattern, the same every time.
template <std::size_t kBytes>
class NameList {
 public:
  NameList(std::string_view prefix, std::size_t count);

  std::size_t size() const { return names_.size(); }
  std::string_view operator[](std::size_t index) const { return {names_[index].data(), kBytes}; }

 private:
  std::vector<std::array<char, kBytes>> names_;
};

// Keys `lock:<14 digits>` and owners `worker:<25 digits>`; 1,000 requests fall into one
// millisecond.
class EngineWorkload {
 public:
  explicit EngineWorkload(std::size_t keys, engine::DurationMs lease_ms = 30'000);
  ~EngineWorkload();

  // Each with the key of that index, by owner 0 or by the one given. All assert the outcome.
  void Lock(std::size_t key, std::size_t owner = 0);
  void Unlock(std::size_t key, std::size_t owner = 0);
  void Renew(std::size_t key);
  void LockDenied(std::size_t key);
  void LockWithLimit(std::size_t key, std::size_t owner, std::uint32_t limit);
  // Joins the line of the key, with a time limit.
  void Join(std::size_t key, std::size_t owner);
  void Cancel(std::size_t key, std::size_t owner);
  // The holder releases, and the first in line is granted.
  void HandOver(std::size_t key, std::size_t holder);

  // Holds every key, all from the same millisecond on.
  void LockAllAtOnce();
  void PassTime(engine::DurationMs duration_ms) { now_ += duration_ms; }
  // Ends at most about that many leases; true: more are due.
  bool Advance(std::size_t steps_max);

  // From now on all that happens is recorded as in a server with its defaults.
  void Record();

  // Makes owners 0 to count - 1 exist; 1 at first.
  void AddOwners(std::size_t count);

  std::size_t keys() const { return keys_.size(); }
  engine::LockEngine& engine() { return engine_; }

 private:
  engine::LockRequest Request(std::size_t key, std::size_t owner) const;
  // Counts a request, and lets a millisecond pass after every thousandth.
  void Tick();

  const engine::DurationMs lease_ms_;
  NameList<kKeyBytes> keys_;
  NameList<kOwnerBytes> owners_;
  engine::LockEngine engine_;
  engine::Effects effects_;
  std::unique_ptr<engine::Attachment> connection_;
  std::unique_ptr<record::Recorder> recorder_;
  engine::TimeMs now_ = 1'000'000;
  std::size_t requests_ = 0;
};

}  // namespace fairlock::bench

// An engine with simulated callers, for benchmarks: each step costs what one command costs after
// parsing.
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

// Names stored consecutively in the order of their use, like the input of a connection, so that
// reading them causes no cache miss that a server would not have. The order is pseudorandom and the
// same in every run.
template <std::size_t kBytes>
class NameList {
 public:
  NameList(std::string_view prefix, std::size_t count);

  std::size_t size() const { return names_.size(); }
  std::string_view operator[](std::size_t index) const { return {names_[index].data(), kBytes}; }

 private:
  std::vector<std::array<char, kBytes>> names_;
};

// Keys are `lock:<14 digits>`, owners `worker:<25 digits>`; a millisecond passes after every 1,000
// requests.
class EngineWorkload {
 public:
  explicit EngineWorkload(std::size_t keys, engine::DurationMs lease_ms = 30'000);
  ~EngineWorkload();

  // Each function uses the key with that index, and owner 0 or the given owner. All assert the
  // result.
  void Lock(std::size_t key, std::size_t owner = 0);
  void Unlock(std::size_t key, std::size_t owner = 0);
  void Renew(std::size_t key);
  void LockDenied(std::size_t key);
  void LockWithLimit(std::size_t key, std::size_t owner, std::uint32_t limit);
  // Joins the queue of the key, with a time limit.
  void Join(std::size_t key, std::size_t owner);
  void Cancel(std::size_t key, std::size_t owner);
  // Releases the lock, which is granted to the first waiter.
  void HandOver(std::size_t key, std::size_t holder);

  // Acquires every key in the same millisecond.
  void LockAllAtOnce();
  void PassTime(engine::DurationMs duration_ms) { now_ += duration_ms; }
  // Ends at most about that many leases. Returns true if more are due.
  bool Advance(std::size_t steps_max);

  // From now on, records all events, as a server with default settings does.
  void Record();

  // Creates owners 0 to count - 1; initially there is one.
  void AddOwners(std::size_t count);

  std::size_t keys() const { return keys_.size(); }
  engine::LockEngine& engine() { return engine_; }

 private:
  engine::LockRequest Request(std::size_t key, std::size_t owner) const;
  // Counts a request, and advances the time after every thousandth.
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

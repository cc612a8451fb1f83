// Counts the changes to the keys that clients watch.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "server/command/client/transaction.h"
#include "server/engine/api/event.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

class Locks;

// Counts changes of holders once for each watched key, however many clients watch it. Listens to
// the engine only while some key is watched. Changed ends of leases are not counted: HasChanged
// compares the ends. Loop-confined.
class WatchedKeys final : public engine::EventSink {
 public:
  explicit WatchedKeys(Locks& locks) : locks_(locks) {}
  WatchedKeys(const WatchedKeys&) = delete;
  WatchedKeys& operator=(const WatchedKeys&) = delete;

  Watch Begin(const engine::KeyName& key, engine::TimeMs now);
  // Must be called for each watch that Begin returned.
  void End(const Watch& watch);
  // Whether holders, tokens or lease ends have changed. Expires overdue holds first.
  bool HasChanged(const Watch& watch, engine::TimeMs now);

  // Counts a change of a small value. The hash is the engine's.
  void CountChange(std::uint64_t key_hash);

  void Take(const engine::Event& event) override;

 private:
  struct Entry {
    std::uint64_t changes = 0;
    std::size_t watches = 0;
  };

  Locks& locks_;
  // By the hash of the key. The only effect of a hash collision is that a change is reported that
  // did not happen.
  std::unordered_map<std::uint64_t, Entry> entries_;
};

}  // namespace fairlock::command

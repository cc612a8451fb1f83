// Turns each Call into calls to the engine, and the engine's answers into an Outcome.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/engine/lock_engine.h"
#include "tests/simulation/call.h"
#include "tests/simulation/setting.h"

namespace fairlock::simulation {

// Owns the engine and its connections: a fixed number of slots, each with one connection at a time.
// Connections are numbered in the order in which they are opened.
class EngineDriver final : private engine::EventSink, private engine::NoticeSink {
 public:
  // The connection in an answer that the engine did not address to a waiting connection.
  static constexpr int kNobody = -2;

  explicit EngineDriver(const Setting& setting);
  ~EngineDriver();

  // Executes any command of a client or an operator.
  void Apply(const Call& call, TimeMs now, Outcome& outcome);
  // Returns true if nothing more is due.
  bool Advance(const Call& call, TimeMs now, Outcome& outcome);
  void BeginStep(TimeMs now) { engine_.BeginTransaction(now); }
  void EndStep(TimeMs now, Outcome& outcome);
  void Unblock(int connection, TimeMs now, Outcome& outcome);
  // Undoes a grant whose reply never reached its owner; returns false if it cannot be undone.
  bool UndoGrant(int key, Token token, TimeMs now, Outcome& outcome);
  // Closes the connection and opens another one in its slot.
  void Disconnect(int connection, TimeMs now, Outcome& outcome);
  void OpenChannel(int channel, TimeMs now, Outcome& outcome);
  void CloseChannel(int channel, TimeMs now, Outcome& outcome);
  // Closes all connections; afterwards the driver may only be used to inspect the engine.
  void CloseAll(TimeMs now);
  int NumberOfKey(const engine::KeyName& name) const;

  int ConnectionIn(int slot) const;
  bool IsWaiting(int slot) const;
  bool IsConnected(int connection) const;
  const std::string& AddressOf(int connection) const;
  engine::LockEngine& engine() { return engine_; }
  RedisSight SeeAsRedis(int key, TimeMs now);

 private:
  struct Connection;

  // Records all events, and which leases and absent places have ended.
  void Take(const engine::Event& event) override;
  // Records the notices on channels.
  void Take(const engine::Notice& notice) override;

  void Note(const engine::Event& event);
  void Connect(int slot);
  void Close(Connection& connection, TimeMs now);
  Connection& Find(int connection);
  engine::Attachment& AttachmentOf(int connection);
  void TakeAnswers(Outcome& outcome);
  Answer AnswerOf(const engine::Resolution& resolution) const;
  int NumberOfChannel(std::string_view name) const;
  void TakeDeadlock(Outcome& outcome) const;
  int NumberOfOwner(std::string_view owner) const;
  void ListLine(const Call& call, TimeMs now, Outcome& outcome);
  void ApplySetting(const Call& call, TimeMs now, Outcome& outcome);
  engine::LockRequest LockRequestOf(const Call& call) const;
  void Lock(const Call& call, TimeMs now, Outcome& outcome);
  void ApplyToAll(const Call& call, TimeMs now, Outcome& outcome);
  std::vector<engine::KeyName> KeysOf(const Call& call) const;
  void Wait(const Call& call, TimeMs now, Outcome& outcome);
  void Transfer(const Call& call, TimeMs now, Outcome& outcome);
  void ApplyToHolder(const Call& call, TimeMs now, Outcome& outcome);
  void Look(const Call& call, TimeMs now, Outcome& outcome);
  void Explain(const Call& call, TimeMs now, Outcome& outcome);

  // The Redis way (engine_driver_redis.cc).
  engine::WriteRequest WriteRequestOf(const Call& call, int key) const;
  void ApplyRedis(const Call& call, TimeMs now, Outcome& outcome);
  void Write(const Call& call, TimeMs now, Outcome& outcome);
  void WriteAllNew(const Call& call, TimeMs now, Outcome& outcome);
  void Flush(const Call& call, TimeMs now);

  engine::KeyName KeyOf(const Call& call) const;
  std::string_view OwnerOf(int owner) const;

  const Setting& setting_;
  engine::LockEngine engine_;
  engine::RedisView& redis_ = engine_.redis();
  engine::Effects effects_;
  std::vector<std::unique_ptr<Connection>> slots_;
  std::vector<std::string> addresses_;  // the addresses of all connections that have ever existed
  std::vector<Expiry> expiries_;        // during the current Advance
  std::vector<Lapse> lapses_;
  std::vector<Expiry> releases_;  // during the current call of the Redis way
  // Answers on channels since the last TakeAnswers, each with the number of answers to connections
  // that preceded it.
  struct ToldAnswer {
    std::size_t resolutions_before = 0;
    Answer answer;
  };
  std::vector<ToldAnswer> told_;
  std::vector<Loss> losses_;
  std::vector<ToldEvent> events_;
  std::uint64_t grants_told_ = 0;
  TimeMs now_ = 0;  // the time of the latest call
};

}  // namespace fairlock::simulation

// Joins the command table, the lock engine and the connections: finds the command, executes it,
// delivers effects.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "protocol/arguments.h"
#include "protocol/limits.h"
#include "server/command/access_control.h"
#include "server/command/channels.h"
#include "server/command/client.h"
#include "server/command/command_statistics.h"
#include "server/command/command_table.h"
#include "server/command/environment.h"
#include "server/command/event_publisher.h"
#include "server/command/glob_walk.h"
#include "server/command/log_ins.h"
#include "server/command/memory_bound.h"
#include "server/command/monitors.h"
#include "server/command/newcomers.h"
#include "server/command/notifier.h"
#include "server/command/scripts.h"
#include "server/command/transaction.h"
#include "server/command/unit_warnings.h"
#include "server/command/watched_keys.h"
#include "server/engine/event_fan.h"
#include "server/engine/lock_engine.h"
#include "server/record/bucket_counts.h"
#include "server/record/recorder.h"

namespace fairlock::command {

// "transport": counted by the side of the sockets; all else by the dispatcher.
struct ServerCounters {
  std::uint64_t connections_received = 0;
  std::uint64_t connections_rejected = 0;  // transport
  std::uint64_t commands_processed = 0;
  std::uint64_t protocol_errors = 0;
  std::uint64_t input_bytes = 0;               // transport
  std::uint64_t output_bytes = 0;              // transport
  std::uint64_t turns = 0;                     // transport
  std::uint64_t closed_over_output_limit = 0;  // transport; by either limit
  std::uint64_t closed_over_input_limit = 0;   // the same
  std::uint64_t rejected_by_address = 0;       // transport; connections_rejected has them too
  std::uint64_t closed_without_log_in = 0;
  std::uint64_t closed_over_request_deadline = 0;  // transport
  std::uint64_t failed_log_ins = 0;
  std::uint64_t denied_requests = 0;                         // for want of permission
  record::BucketCounts<record::kTurnBoundsUs> turns_us;      // transport: how long they took
  record::BucketCounts<record::kLagBoundsMs> expiry_lag_ms;  // transport: what was due, how late
};

// What there is now, which no reset of the counters changes.
struct ServerGauges {
  std::uint64_t waiting_clients = 0;
  std::uint64_t unread_reply_bytes = 0;      // transport: memory for them
  std::uint64_t unexecuted_input_bytes = 0;  // transport: the same
  std::uint64_t http_clients = 0;            // transport: of the clients those over HTTP
};

// What the server can do at present.
enum class Service : std::uint8_t {
  kFull,
  kLoading,       // locks are read from the disk
  kShortOfSpace,  // the disk is nearly full: no new locks
  kFailed         // the disk has failed: nothing changes any more
};

// Loop-confined. Outlives its clients.
class Dispatcher {
 public:
  Dispatcher(const engine::EngineOptions& engine_options, Environment environment,
             engine::TimeMs now, const record::RecorderOptions& recorder_options = {},
             CommandTable commands = CommandTable());

  // Ends what is due, at most about `steps_max` timers; true: more is due, so the next turn should
  // follow at once.
  bool Advance(engine::TimeMs now, std::size_t steps_max);
  // When Advance is to be called next; engine::kNever if nothing runs.
  engine::TimeMs NextDeadline() const {
    return std::min(engine_.NextDeadline(), newcomers_.NextDeadline());
  }

  // Finds the row of a request that will be executed soon, and calls its key's place in the table
  // into the cache; PrefetchLock, a moment later, the lock itself. Hints: the request may change
  // the database before.
  void Prepare(const Client& client, RequestAhead& request) const;
  void PrefetchLock(const RequestAhead& request) const;
  // Executes one request of that client; replies go to the outputs of those whom they are for.
  // REQUIRES: prepared.
  void Execute(Client& client, const RequestAhead& request, engine::TimeMs now);
  // The same of a script's command, in its step; appends the reply in RESP2. REQUIRES: prepared.
  void ExecuteForScript(Client& client, const RequestAhead& request, bool is_read_only,
                        engine::TimeMs now, std::string& reply);
  // Until EndStep what handlers do is one step, as EXEC or a script is: no request waits, nothing
  // that was granted is undone, and hand-overs, replies to others and messages come behind its end.
  // May be nested.
  void BeginStep(engine::TimeMs now);
  void EndStep(engine::TimeMs now);
  bool is_in_step() const { return step_depth_ > 0; }
  // False: the user of that client may not make a request that it has once made, and the error is
  // answered.
  bool MayStill(const Client& client, std::size_t row, const protocol::Arguments& arguments,
                protocol::ReplyWriter& reply) const;
  // True: the present service, or want of memory, leaves out commands with these flags, and the
  // error is answered.
  bool RefusesNow(std::uint32_t flags, protocol::ReplyWriter& reply) const;
  // The same of commands that come later as a whole: those that may take locks are refused too.
  bool RefusesQueued(std::uint32_t flags, protocol::ReplyWriter& reply) const;
  void RunInStep(std::size_t row, Invocation& invocation);
  // Answers the requests that waited and are settled by the engine's last step, then sends the
  // messages that the step has caused: nobody reads of a grant before its reply.
  void DeliverEffects(engine::TimeMs now);

  // Called by clients as they come and go; gives the connection's number.
  std::uint64_t Register(Client& client);
  void Unregister(Client& client, engine::TimeMs now);

  using UnsentGrants = boost::intrusive::list<Client, boost::intrusive::base_hook<UnsentGrantsHook>,
                                              boost::intrusive::constant_time_size<false>>;
  UnsentGrants& unsent_grants() { return unsent_grants_; }
  // The owner of that token asked again through `client` and is answered there: the delivery moves
  // to it.
  void MoveDelivery(std::uint64_t key_hash, engine::Token token, Client& client);
  // Whether a grant with that token is on its way to others than `client`; there it is forgotten,
  // true if there was one.
  bool IsOnItsWayElsewhere(engine::Token token, const Client& client) const;
  bool ForgetGrantElsewhere(engine::Token token, const Client& client);

  // From now on the sink is told what happens to locks, until it is dropped. While there is none
  // the engine tells nobody, which costs nothing.
  void AddEventSink(engine::EventSink& sink);
  void DropEventSink(engine::EventSink& sink);

  // By number, which rise and are never reused.
  const std::map<std::uint64_t, Client*>& clients() const { return clients_; }
  Client* FindClient(std::uint64_t id) const;

  const CommandTable& commands() const { return commands_; }
  // Of the rows of the table, in its order.
  CommandStatistics& statistics() { return statistics_; }
  const CommandStatistics& statistics() const { return statistics_; }
  // Begins to count anew, the engine's own counts apart.
  void ResetStatistics();
  engine::LockEngine& engine() { return engine_; }
  engine::Effects& effects() { return effects_; }
  record::Recorder& recorder() { return recorder_; }
  Channels& channels() { return channels_; }
  EventPublisher& event_publisher() { return event_publisher_; }
  Notifier& notifier() { return notifier_; }
  Monitors& monitors() { return monitors_; }
  WatchedKeys& watched_keys() { return watched_keys_; }
  const TransactionLimits& transaction_limits() const { return transaction_limits_; }
  void set_transaction_limits(const TransactionLimits& limits) { transaction_limits_ = limits; }
  Scripts& scripts() { return scripts_; }
  AccessControl& access() { return access_; }
  const AccessControl& access() const { return access_; }
  LogIns& log_ins() { return log_ins_; }
  Newcomers& newcomers() { return newcomers_; }
  UnitWarnings& unit_warnings() { return unit_warnings_; }
  MemoryBound& memory() { return memory_; }
  MatchingMeter& matching() { return matching_; }
  // Before something is executed that may take memory.
  void LookAtMemory(engine::TimeMs now) {
    if (memory_.is_on() && memory_.Look(now)) NoteMemory();
  }
  // 0: as much as there is.
  void BoundMemory(std::uint64_t bytes_max, engine::TimeMs now);
  // While memory is short, what one connection may collect for EXEC and watch is less.
  TransactionLimits TransactionLimitsNow() const;
  Environment& environment() { return environment_; }
  ServerCounters& counters() { return counters_; }
  ServerGauges& gauges() { return gauges_; }
  Service service() const { return service_; }
  void set_service(Service service);
  void RefuseForMemory(protocol::ReplyWriter& reply) const;
  // Whether new locks are taken; if not, the error that says why.
  bool takes_locks() const;
  void RefuseLock(protocol::ReplyWriter& reply) const;
  const protocol::RequestLimits& limits() const { return limits_; }
  void set_limits(const protocol::RequestLimits& limits) { limits_ = limits; }
  engine::TimeMs started_at() const { return started_at_; }
  // A time of the engine in Unix milliseconds, for reading only; the same time is the same number
  // as long as the wall clock is not set.
  std::int64_t UnixMs(engine::TimeMs at, engine::TimeMs now) const;

  // Scratch of the clients' Consume.
  RequestWindow& window() { return window_; }

 private:
  void DeliverOnce(engine::TimeMs now);
  void NoteMemory();
  void NoteRefusedFlags();
  struct FoundCommand {
    std::size_t row = CommandTable::kNone;  // its place in the table
    bool is_accepted = false;               // else the error is answered
  };

  // True: the client is between MULTI and EXEC, and the request is answered.
  bool Collect(Client& client, const FoundCommand& found, const protocol::Arguments& arguments,
               protocol::ReplyWriter& reply) const;
  void Run(std::size_t row, Invocation& invocation);
  void CountIfFailed(std::size_t row, const Invocation& invocation);
  void ShowToMonitors(const Invocation& invocation, const CommandSpec& spec);
  FoundCommand FindCommand(const Client& client, const RequestAhead& request,
                           protocol::ReplyWriter& reply) const;
  bool IsRefused(const Client& client, const CommandSpec& spec, std::size_t arguments,
                 protocol::ReplyWriter& reply) const;

  Environment environment_;
  const engine::TimeMs started_at_;
  CommandTable commands_;
  engine::EventFan events_;
  engine::LockEngine engine_;
  engine::Effects effects_;
  record::Recorder recorder_;
  mutable std::int64_t unix_offset_ms_ = 0;  // of the engine's clock
  MatchingMeter matching_;
  Channels channels_;
  EventPublisher event_publisher_;
  Notifier notifier_;
  std::vector<DeliveredGrant> undelivered_;  // scratch of DeliverEffects
  Monitors monitors_;
  WatchedKeys watched_keys_;
  TransactionLimits transaction_limits_;
  Scripts scripts_;
  AccessControl access_;
  LogIns log_ins_;
  Newcomers newcomers_;
  UnitWarnings unit_warnings_;
  MemoryBound memory_;
  protocol::RequestLimits limits_ = protocol::kDefaultLimits;
  RequestWindow window_;
  std::map<std::uint64_t, Client*> clients_;
  CommandStatistics statistics_;
  ServerCounters counters_;
  ServerGauges gauges_;
  UnsentGrants unsent_grants_;
  std::uint64_t next_client_id_ = 1;
  bool is_executing_ = false;
  Service service_ = Service::kFull;
  std::uint32_t refused_flags_ = 0;  // of commands that the service or the memory leaves out
  int step_depth_ = 0;
};

}  // namespace fairlock::command

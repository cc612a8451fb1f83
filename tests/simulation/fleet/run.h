// One run of a node's process: it stands by, leads, and ends.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/command/server_parts.h"
#include "server/persist/loaded_rows.h"
#include "server/persist/state_log.h"
#include "storage/replicated/cluster_home.h"
#include "tests/simulation/fleet/membership.h"
#include "tests/simulation/fleet/seams.h"
#include "tests/simulation/fleet/server_connection.h"
#include "tests/simulation/fleet/succession_judge.h"
#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::fleet {

struct RunOptions {
  std::string node;
  int number = 0;  // unique among the runs of all nodes
  int partitions = 1;
  std::string machine = {};
  std::optional<std::uint32_t> partition = {};  // the partition that it must serve
  TimeUs balance_after = 0;                     // cluster_balance
  storage::replicated::Beat highest = {};       // as in ClusterOptions
  bool has_second_endpoint = false;             // whether etcd has one
  bool has_records = false;                     // whether it writes a record
  engine::DurationMs restart_grace_ms = 0;
  bool keeps_lines = true;
  TimeUs boot_offset = 0;  // offset of the machine's boot clock
  // The offset of its wall clock, which may be set.
  std::function<TimeUs()> wall_offset = [] { return 0; };
  TimeUs turn = kMs;  // how long a turn takes
};

enum class RunEnd : std::uint8_t {
  kKilled,
  kDeposed,   // the node restarts as a standby
  kStopped,   // the node has handed over
  kBalances,  // the node has handed over for the balance, and restarts as a standby
  kFailed,    // the locks cannot be read or written; error() says why
};

struct RunHooks {
  std::function<void(std::string)> event;    // adds a line to the history
  std::function<void()> taken_over;          // called before the locks are loaded
  std::function<void(const ServedBy&)> led;  // called when the locks are loaded
  // Called when etcd confirms again that it leads. It has not done so since that time.
  std::function<void(const ServedBy&, TimeUs since)> confirmed;
  // Called with what it says about its fleet, and whether it leads unconfirmed.
  std::function<void(const command::FleetReport&, bool is_unsure)> told;
  decltype(MembershipOptions::reaches) reaches;
  decltype(MembershipOptions::ranked) ranked;
  // Called when it is about to hand over.
  std::function<void(const HandOver&)> hands_over;
};

// Replaces the glue in server/services/persistence_service and net::TurnLoop. Everything else is
// the real code: the leadership, the log, the engine, the commands.
class Run {
 public:
  Run(const RunOptions& options, LinkNetwork& network, RunHooks hooks);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run();

  // Starts the run. When the run has ended, a fiber of this process calls `on_end` as its last act.
  void Start(std::function<void(RunEnd)> on_end);

  // These may be called by anyone between turns:
  // REQUIRES: accepts().
  void Accept(const std::shared_ptr<Link>& link);
  void Stop();  // SIGTERM
  Process& process() { return process_; }
  bool accepts() const { return !is_over_; }
  bool leads() const { return state_log_.has_value() && !is_over_; }
  bool is_ready() const {
    return leads() && state_.is_ready && !state_.is_unsure && !state_log_->is_lagging();
  }
  // Since when etcd has not confirmed that this leader leads; none if it is sure, or does not lead.
  const std::optional<TimeUs>& unconfirmed_since() const { return unconfirmed_since_; }
  int number() const { return options_.number; }
  bool is_stop_asked() const { return is_stop_asked_; }
  bool balances() const { return !successor_.empty(); }
  // Accepts the restore as an operator would, if the node waits for that.
  void AcceptRestore();
  // The partition that it serves; none if not known yet.
  const std::optional<std::uint32_t>& partition() const { return partition_; }
  std::string id() const { return "run " + std::to_string(options_.number); }
  // Call these after the end:
  // Returns the epoch of its take-over; 0 if there was none.
  std::uint64_t epoch() const { return epoch_; }
  // The newest beat that it has seen, if it was deposed.
  const storage::replicated::Beat& highest() const { return highest_; }
  const std::string& error() const { return error_; }

 private:
  void Main();
  void StandBy();
  void Join();
  void TakeView();
  void Serve(std::uint32_t partition);
  void TakeLead();
  void RunTurn();
  void BeginTurn();
  void OnChange(const persist::StateLogState& state);
  void FinishConnections();
  void FollowConfirmation();
  void CloseIfUnconfirmed();
  void TellReport();
  engine::DurationMs UnsureMs() const;
  RunEnd End();
  void HandOver();
  std::string Successor() const;
  void Await();
  void Wake();
  TimeUs NextTurnAt() const;
  engine::TimeMs MachineBoottimeMs() const;
  engine::TimeMs BoottimeMs() const;
  void HoldBoottime(bool is_held);
  std::int64_t UnixMs() const;
  void Tell(std::string text) { hooks_.event(options_.node + ": " + std::move(text)); }

  const RunOptions options_;
  LinkNetwork& network_;
  const RunHooks hooks_;
  engine::TimeMs held_at_ = -1;  // the time since when the clock stands still; -1 while it runs
  engine::DurationMs held_ms_ = 0;
  Process process_;
  command::FakeEnvironment environment_;
  command::ServerParts parts_;
  Turn turn_;
  storage::etcd::EtcdOptions etcd_;
  std::unique_ptr<storage::replicated::ClusterHome> home_;
  std::optional<Membership> membership_;  // null if it writes no record
  std::optional<std::uint32_t> partition_;
  persist::LoadedRows rows_;
  std::optional<storage::Status> loaded_;  // nullopt if AwaitLeadership has not returned yet
  std::optional<persist::StateLog> state_log_;
  persist::StateLogState state_;
  std::list<ServerConnection> connections_;
  std::vector<std::shared_ptr<Link>> to_accept_;
  Thread reader_;
  Fiber* main_ = nullptr;
  std::shared_ptr<bool> has_ended_ = std::make_shared<bool>(true);
  std::string error_;
  std::uint64_t epoch_ = 0;
  storage::replicated::Beat highest_;
  persist::Confirmation confirmation_;
  std::optional<TimeUs> unconfirmed_since_;
  TimeUs told_at_ = 0;
  bool has_view_ = false;  // the observer has a new view
  bool is_woken_ = false;
  bool is_stop_asked_ = false;
  // The node that this one hands over to for the balance; empty if there is none.
  std::string successor_;
  bool is_deposed_ = false;
  bool is_over_ = false;
};

}  // namespace fairlock::fleet

// The network between the nodes and etcd. It delays, loses and repeats requests and answers.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/fleet/etcd_model.h"
#include "tests/simulation/fleet/virtual_time.h"
#include "tests/simulation/random.h"

namespace fairlock::fleet {

// How bad the network is: each field affects one in this many requests; 0 means none.
struct NetworkFaults {
  std::uint64_t lost_request = 0;
  std::uint64_t lost_answer = 0;
  std::uint64_t repeated = 0;   // executed again later
  std::uint64_t refused = 0;    // fails at once, without being executed
  std::uint64_t slow = 0;       // delayed by a few tenths of a second
  std::uint64_t very_slow = 0;  // delayed by seconds, longer than the caller waits
  std::uint64_t cut_stream = 0;
};

// The stream of a watch, and the events that its client has received but not yet taken.
struct WatchStream {
  etcd::Get target;
  std::int64_t next_revision = 0;  // the first revision that has not been sent
  std::string process = {};        // the client's process
  TimeUs arrives_at = 0;           // when the newest message arrives
  bool is_stuck = false;           // whether it delivers nothing any more
  bool has_ended = false;          // whether it has ended and the client knows
  std::deque<std::vector<etcd::WatchEvent>> received =
      {};                                // each entry has all events of its revisions
  std::function<void()> on_change = {};  // null if nobody is waiting
};

class EtcdNetwork {
 public:
  EtcdNetwork(EtcdModel& etcd, std::uint64_t seed);
  EtcdNetwork(const EtcdNetwork&) = delete;
  EtcdNetwork& operator=(const EtcdNetwork&) = delete;
  ~EtcdNetwork();

  void set_faults(const NetworkFaults& faults) { faults_ = faults; }
  // Executes no request that arrives before that time. Leases may be extended, as if another
  // leader of etcd began then.
  void StopEtcdUntil(TimeUs end);
  bool is_down() const { return Time().now() < down_until_; }
  // Delays each request and each answer by tenths of a second until that time.
  void SlowDownUntil(TimeUs end) { slow_until_ = end; }
  // From now on, ends leases whose time has run out.
  void BeginExpiry();
  // Refuses the tokens and passwords of all clients until that time, as while they are changed.
  void RefuseLoginsUntil(TimeUs end) { logins_refused_until_ = end; }
  // The second endpoint leads to another etcd cluster until that time.
  void MisleadUntil(TimeUs end) { misled_until_ = end; }
  // Calls `tell` with the name of each process that uses another etcd cluster.
  void ReportMisled(std::function<void(const std::string& process)> tell) {
    tell_misled_ = std::move(tell);
  }
  // The id of the etcd cluster to which a new connection to that endpoint leads.
  std::uint64_t ClusterAt(std::size_t endpoint) const {
    return endpoint == 1 && Time().now() < misled_until_ ? kOtherCluster : kCluster;
  }
  // Cuts that process off from etcd until that time.
  void CutOff(const std::string& process, TimeUs end) { cut_off_ = {process, end}; }
  // Behaves as if etcd had been stopped.
  void EndStreams();
  // Ends the streams of that process, and opens no others until that time.
  void BreakStreams(const std::string& process, TimeUs end);

  // Blocks the calling fiber. Returns kCompacted if the first revision that is wanted is gone.
  etcd::Answer OpenStream(const std::shared_ptr<WatchStream>& stream,
                          std::chrono::milliseconds timeout);
  etcd::Answer RequestProgress(std::chrono::milliseconds timeout);

  // Blocks the calling fiber until the answer arrives or the timeout expires. Without an answer,
  // the outcome is `otherwise`.
  template <typename A>
  A Call(std::function<A(EtcdModel&)> execute, std::chrono::milliseconds timeout,
         etcd::Outcome otherwise) {
    auto answer = std::make_shared<A>();
    const Outcome outcome = Await(
        [this, answer, execute](bool is_first) {
          A executed = execute(etcd_);
          if (is_first) *answer = std::move(executed);
        },
        timeout.count() * kMs);
    if (outcome == Outcome::kAnswered) return std::move(*answer);
    A none;
    static_cast<etcd::Answer&>(none) = Failure(outcome, otherwise);
    return none;
  }
  // Answers a call to another etcd cluster, which must not be used.
  void Mislead() const { tell_misled_(Time().current_process().name); }

 private:
  enum class Outcome : std::uint8_t { kAnswered, kSilence, kRefused, kLoginRefused, kKilled };
  static constexpr std::uint64_t kCluster = 1;
  static constexpr std::uint64_t kOtherCluster = 2;

  Outcome Await(std::function<void(bool is_first)> execute, TimeUs timeout);
  etcd::Answer Failure(Outcome outcome, etcd::Outcome otherwise);
  bool OneIn(std::uint64_t n) { return n != 0 && random_.OneIn(n); }
  TimeUs Delay();
  bool IsCutOff(const std::string& process) const;
  static void End(const std::shared_ptr<WatchStream>& stream);
  void SendChanges();
  void Send(const std::shared_ptr<WatchStream>& stream);
  void Receive(WatchStream& stream, std::vector<etcd::WatchEvent> events) const;

  EtcdModel& etcd_;
  simulation::Random random_;
  NetworkFaults faults_;
  TimeUs down_until_ = 0;
  TimeUs slow_until_ = 0;
  TimeUs logins_refused_until_ = 0;
  TimeUs misled_until_ = 0;
  std::function<void(const std::string& process)> tell_misled_;
  std::pair<std::string, TimeUs> cut_off_;
  std::pair<std::string, TimeUs> without_streams_;
  std::vector<std::weak_ptr<WatchStream>> streams_;
};

// Returns the network of the current run.
EtcdNetwork& Network();

}  // namespace fairlock::fleet

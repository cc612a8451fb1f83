// The network between the nodes and etcd: it delays, loses and repeats requests and answers.
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

// How bad the network is: one in so many requests; 0: none.
struct NetworkFaults {
  std::uint64_t lost_request = 0;
  std::uint64_t lost_answer = 0;
  std::uint64_t repeated = 0;   // executed once more, later
  std::uint64_t refused = 0;    // at once: not executed
  std::uint64_t slow = 0;       // some tenths of a second
  std::uint64_t very_slow = 0;  // some seconds: longer than the caller waits
  std::uint64_t cut_stream = 0;
};

// A stream of a watch, and what its client has received and not taken yet.
struct WatchStream {
  etcd::Get target;
  std::int64_t next_revision = 0;                           // the first that was not sent
  std::string process = {};                                 // of the client
  TimeUs arrives_at = 0;                                    // what was sent last
  bool is_stuck = false;                                    // nothing more arrives
  bool has_ended = false;                                   // and the client knows
  std::deque<std::vector<etcd::WatchEvent>> received = {};  // each of whole revisions
  std::function<void()> on_change = {};                     // null: nobody waits
};

class EtcdNetwork {
 public:
  EtcdNetwork(EtcdModel& etcd, std::uint64_t seed);
  EtcdNetwork(const EtcdNetwork&) = delete;
  EtcdNetwork& operator=(const EtcdNetwork&) = delete;
  ~EtcdNetwork();

  void set_faults(const NetworkFaults& faults) { faults_ = faults; }
  // No request that arrives until then is executed.
  void StopEtcdUntil(TimeUs end) { down_until_ = end; }
  // Nothing passes between that process and etcd until then.
  void CutOff(const std::string& process, TimeUs end) { cut_off_ = {process, end}; }
  // As when etcd is stopped.
  void EndStreams();

  // Blocks the calling fiber. kCompacted: the first revision that is wanted is gone.
  etcd::Answer OpenStream(const std::shared_ptr<WatchStream>& stream,
                          std::chrono::milliseconds timeout);
  etcd::Answer RequestProgress(std::chrono::milliseconds timeout);

  // Blocks the calling fiber until the answer or the end of the timeout. `otherwise` is the outcome
  // if there is no answer.
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
    none.outcome = outcome == Outcome::kSilence   ? otherwise
                   : outcome == Outcome::kRefused ? etcd::Outcome::kUnavailable
                                                  : etcd::Outcome::kFailed;
    none.message = outcome == Outcome::kKilled ? "this process is killed" : "etcd does not answer";
    return none;
  }

 private:
  enum class Outcome : std::uint8_t { kAnswered, kSilence, kRefused, kKilled };

  Outcome Await(std::function<void(bool is_first)> execute, TimeUs timeout);
  bool OneIn(std::uint64_t n) { return n != 0 && random_.OneIn(n); }
  TimeUs Delay();
  bool IsCutOff(const std::string& process) const;
  void SendChanges();
  void Send(const std::shared_ptr<WatchStream>& stream);
  void Receive(WatchStream& stream, std::vector<etcd::WatchEvent> events) const;

  EtcdModel& etcd_;
  simulation::Random random_;
  NetworkFaults faults_;
  TimeUs down_until_ = 0;
  std::pair<std::string, TimeUs> cut_off_;
  std::vector<std::weak_ptr<WatchStream>> streams_;
};

// The network of the run in progress.
EtcdNetwork& Network();

}  // namespace fairlock::fleet

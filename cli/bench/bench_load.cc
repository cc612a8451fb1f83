#include "cli/bench/bench_load.h"

#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <memory>

#include "cli/connection/server_errors.h"

namespace fairlock::cli {

namespace {

constexpr DurationMs kPollMs = 100;
constexpr std::string_view kLeaseMs = "60000";

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// One connection that always has a request in flight.
class Worker {
 public:
  Worker(const BenchLoad& load, int number, const Settings& settings, const Login& login)
      : connection_(settings, login),
        key_(load.key_prefix + (load.is_one_key ? "" : ":" + std::to_string(number))),
        owner_(load.key_prefix + "/" + std::to_string(number)) {}

  const AsyncConnection& connection() const { return connection_; }
  bool is_idle() const { return is_idle_; }

  void Open(TimeMs now) {
    connection_.Open(now);
    Lock();
  }

  // Handles the replies received. Returns a failure without text if there was no error.
  Failure Advance(BenchResult& result, std::int64_t& last_token, bool is_over) {
    connection_.Advance(NowMs());
    while (const auto reply = connection_.Take()) {
      if (reply->IsError()) return ServerFailure(reply->text, connection_.ServerName());
      if (is_locking_) {
        result.latencies_us.push_back((NowNs() - asked_ns_) / 1000);
        result.is_in_order = result.is_in_order && reply->integer > last_token;
        last_token = reply->integer;
        Unlock();
      } else {
        ++result.pairs;
        is_idle_ = is_over;
        if (!is_idle_) Lock();
      }
    }
    return connection_.state() == AsyncConnection::State::kClosed ? connection_.end() : Failure{};
  }

 private:
  void Lock() {
    is_locking_ = true;
    asked_ns_ = NowNs();
    connection_.Send({"LOCK", key_, owner_, "PX", kLeaseMs, "WAIT", "FOREVER"});
  }

  void Unlock() {
    is_locking_ = false;
    connection_.Send({"UNLOCK", key_, owner_});
  }

  AsyncConnection connection_;
  std::string key_;
  std::string owner_;
  bool is_locking_ = false;
  bool is_idle_ = false;  // finished, and holds nothing and waits for nothing
  std::int64_t asked_ns_ = 0;
};

}  // namespace

Result<BenchResult> RunLoad(const BenchLoad& load, const Settings& settings, const Login& login) {
  std::vector<std::unique_ptr<Worker>> workers;
  const TimeMs begin = NowMs();
  const double cpu_before = CpuSeconds();
  for (int number = 0; number < load.connections; ++number) {
    workers.push_back(std::make_unique<Worker>(load, number, settings, login));
    workers.back()->Open(begin);
  }
  BenchResult result;
  std::int64_t last_token = 0;
  std::vector<std::int64_t> last_tokens(workers.size());
  std::vector<pollfd> polled(workers.size());
  // Waits for requests in flight, so that no lock remains held.
  const TimeMs give_up_at = begin + load.duration_ms + settings.timeout_ms;
  while (!std::ranges::all_of(workers, &Worker::is_idle, &std::unique_ptr<Worker>::operator*) &&
         NowMs() < give_up_at) {
    for (std::size_t i = 0; i < workers.size(); ++i)
      polled[i] = workers[i]->connection().Interest();
    ::poll(polled.data(), polled.size(), kPollMs);
    const bool is_over = NowMs() >= begin + load.duration_ms;
    for (std::size_t i = 0; i < workers.size(); ++i) {
      if (polled[i].revents == 0) continue;
      std::int64_t& last = load.is_one_key ? last_token : last_tokens[i];
      Failure failure = workers[i]->Advance(result, last, is_over);
      if (!failure.text.empty()) return failure;
    }
  }
  result.took_ms = NowMs() - begin;
  result.own_cpu_seconds = CpuSeconds() - cpu_before;
  std::ranges::sort(result.latencies_us);
  return result;
}

}  // namespace fairlock::cli

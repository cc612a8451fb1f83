#include "bench/load_generator/probe.h"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <deque>

#include "bench/load_generator/dialect.h"
#include "bench/load_generator/failure.h"
#include "bench/load_generator/latencies.h"
#include "bench/load_generator/process_meter.h"
#include "bench/load_generator/real_time.h"

namespace fairlock::bench {

namespace {

constexpr std::string_view kDbSize = "*1\r\n$6\r\nDBSIZE\r\n";
constexpr std::uint64_t kDbSizeEveryNs = 10'000'000;
constexpr std::uint64_t kAfterEmptyNs = 500'000'000;

class Prober {
 public:
  explicit Prober(const ProbeOptions& options)
      : options_(options), pings_(options.endpoint), counts_(options.endpoint) {}

  ProbeResult Run();

 private:
  void SendWhatIsDue(std::uint64_t now);
  void TakePongs();
  void TakeCount();
  void SleepUntil(std::uint64_t wake_ns);

  const ProbeOptions& options_;
  Connection pings_;
  Connection counts_;
  std::deque<std::uint64_t> sent_;  // send times of unanswered pings
  std::uint64_t next_ping_ns_ = 0;
  std::uint64_t next_count_ns_ = 0;
  bool is_counting_ = false;
  Latencies latencies_;
  std::uint64_t empty_at_ns_ = 0;
};

void Prober::SendWhatIsDue(std::uint64_t now) {
  if (now >= next_ping_ns_) {
    sent_.push_back(MonotonicNs());
    pings_.Send(kPing);
    // Pings that were due while this process was not running are skipped.
    next_ping_ns_ = std::max(next_ping_ns_ + options_.interval_us * 1000, now);
  }
  if (options_.until_empty && !is_counting_ && now >= next_count_ns_) {
    counts_.Send(kDbSize);
    is_counting_ = true;
    next_count_ns_ = now + kDbSizeEveryNs;
  }
}

void Prober::TakePongs() {
  pings_.Receive();
  const std::uint64_t now = MonotonicNs();
  while (!sent_.empty()) {
    const auto reply = pings_.TakeReply();
    if (reply.status != protocol::ReplyStatus::kReply) return;
    if (reply.text != "PONG") Fail("PING was not answered with PONG");
    latencies_.Add(now - sent_.front());
    sent_.pop_front();
  }
}

void Prober::TakeCount() {
  counts_.Receive();
  const auto reply = counts_.TakeReply();
  if (reply.status != protocol::ReplyStatus::kReply) return;
  if (reply.type != protocol::ReplyType::kInteger) Fail("DBSIZE was not answered with a number");
  if (reply.integer == 0 && empty_at_ns_ == 0) empty_at_ns_ = MonotonicNs();
  is_counting_ = false;
}

void Prober::SleepUntil(std::uint64_t wake_ns) {
  const std::uint64_t now = MonotonicNs();
  timespec rest{};
  if (wake_ns > now) {
    rest.tv_sec = static_cast<time_t>((wake_ns - now) / 1'000'000'000);
    rest.tv_nsec = static_cast<long>((wake_ns - now) % 1'000'000'000);
  }
  pollfd ready[] = {{pings_.descriptor(), POLLIN, 0}, {counts_.descriptor(), POLLIN, 0}};
  ppoll(ready, 2, &rest, nullptr);
  if (ready[0].revents != 0) TakePongs();
  if (ready[1].revents != 0) TakeCount();
}

ProbeResult Prober::Run() {
  const std::uint64_t begin = std::max(options_.begin_at_ns, MonotonicNs());
  next_ping_ns_ = begin;
  next_count_ns_ = begin;
  while (MonotonicNs() < begin) SleepUntil(begin);
  const std::uint64_t end = begin + static_cast<std::uint64_t>(options_.seconds * 1e9);
  for (std::uint64_t now = begin; now < end; now = MonotonicNs()) {
    if (empty_at_ns_ != 0 && now > empty_at_ns_ + kAfterEmptyNs) break;
    SendWhatIsDue(now);
    SleepUntil(next_ping_ns_);
  }
  while (!sent_.empty()) {
    if (MonotonicNs() > sent_.front() + 60'000'000'000) Fail("no reply for 60 s");
    SleepUntil(MonotonicNs() + 10'000'000);
  }
  return {.pings = latencies_.size(),
          .p50_us = latencies_.PercentileUs(0.5),
          .p99_us = latencies_.PercentileUs(0.99),
          .p999_us = latencies_.PercentileUs(0.999),
          .max_us = latencies_.PercentileUs(1),
          .empty_at_ns = empty_at_ns_};
}

}  // namespace

ProbeResult Probe(const ProbeOptions& options) {
  AskForRealTime();
  return Prober(options).Run();
}

}  // namespace fairlock::bench

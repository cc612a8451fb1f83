#include "bench/load_generator/contended.h"

#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/load_generator/failure.h"
#include "bench/load_generator/latencies.h"
#include "bench/load_generator/order_record.h"
#include "bench/load_generator/poller.h"
#include "bench/load_generator/process_meter.h"
#include "protocol/request_writer.h"

namespace fairlock::bench {

namespace {

// One of the clients that take turns.
struct Contender {
  enum class Awaits : std::uint8_t { kGrant, kHandedOn };

  Contender(const ContendedOptions& options, std::string_view key, std::size_t number)
      : connection(options.endpoint), owner(OwnerName(number, options.owner_bytes)) {
    options.dialect->append_locked_wait(ask, key, owner);
    options.dialect->append_hand_on(hand_on, key, owner);
  }

  Connection connection;
  std::string owner;
  std::string ask;
  std::string hand_on;
  Awaits awaits = Awaits::kGrant;
  std::size_t request = 0;  // its number in the record
};

class ContendedRun {
 public:
  explicit ContendedRun(const ContendedOptions& options);

  ContendedResult Run();

 private:
  void Ask(Contender& contender);
  void TakeReplies(Contender& contender);
  void TakeGrant(Contender& contender, const protocol::SkippedReply& reply);
  void TakeObservation();
  const Contender& ChooseObserved();
  void Observe();
  void HandleEvents(int timeout_ms);
  void RunUntil(std::uint64_t end_ns);
  void StopAll();

  const ContendedOptions& options_;
  const Dialect& dialect_;
  const std::string key_;  // unique per run, so earlier runs have no effect
  Poller poller_;
  std::vector<std::unique_ptr<Contender>> contenders_;
  Connection observer_;
  std::optional<std::size_t> observed_;  // the request whose position is being queried
  std::uint64_t observe_next_ns_ = 0;
  const Contender* newest_ = nullptr;  // the contender that sent the newest request
  std::size_t next_observed_ = 0;      // number of observations
  OrderRecord order_;
  Latencies latencies_;
  std::size_t grants_at_once_ = 0;  // grants reported by one wait of the poller
  bool is_stopping_ = false;
  std::size_t active_ = 0;  // contenders that await a reply
  std::int64_t newest_token_ = 0;
  std::uint64_t handed_on_at_ns_ = 0;
  std::uint64_t hand_overs_ = 0;
};

ContendedRun::ContendedRun(const ContendedOptions& options)
    : options_(options),
      dialect_(*options.dialect),
      key_("contended:" + std::to_string(getpid())),
      observer_(options.endpoint) {
  poller_.Add(observer_, nullptr);
  for (std::size_t i = 0; i < options.clients; ++i) {
    contenders_.push_back(std::make_unique<Contender>(options, key_, i));
    poller_.Add(contenders_.back()->connection, contenders_.back().get());
  }
  std::string setup;
  dialect_.append_setup(setup, key_);
  if (!setup.empty()) observer_.Ask(setup);
}

void ContendedRun::Ask(Contender& contender) {
  contender.awaits = Contender::Awaits::kGrant;
  contender.request = order_.AddRequest();
  newest_ = &contender;
  ++active_;
  contender.connection.Send(contender.ask);
}

void ContendedRun::TakeGrant(Contender& contender, const protocol::SkippedReply& reply) {
  if (!dialect_.is_granted(reply)) Fail("a waiting request was not granted");
  // If two grants arrived together, the second was sent before the first holder released the lock.
  if (++grants_at_once_ > 1) Fail("two clients hold the lock at the same time");
  if (dialect_.has_tokens) {
    if (reply.integer <= newest_token_) Fail("a token did not increase");
    newest_token_ = reply.integer;
    order_.AddGrant(contender.request, reply.integer);
  }
  const std::uint64_t now = MonotonicNs();
  if (handed_on_at_ns_ != 0) latencies_.Add(now - handed_on_at_ns_);
  ++hand_overs_;
  contender.awaits = Contender::Awaits::kHandedOn;
  // Set before sending, because the next grant cannot arrive earlier than this.
  handed_on_at_ns_ = now;
  contender.connection.Send(contender.hand_on);
}

void ContendedRun::TakeReplies(Contender& contender) {
  contender.connection.Receive();
  const auto reply = contender.connection.TakeReply();
  if (reply.status != protocol::ReplyStatus::kReply) return;
  if (contender.awaits == Contender::Awaits::kGrant) {
    TakeGrant(contender, reply);
    return;
  }
  if (!dialect_.is_handed_on(reply)) Fail("a held lock was not released");
  --active_;
  if (!is_stopping_) Ask(contender);
}

const Contender& ContendedRun::ChooseObserved() {
  // The newest request has the whole queue before it; any of the other requests may be one that is
  // skipped repeatedly.
  const std::size_t turn = next_observed_++;
  return turn % 2 == 0 ? *newest_ : *contenders_[turn / 2 % contenders_.size()];
}

void ContendedRun::Observe() {
  if (!dialect_.has_tokens || options_.observe_every_us == 0 || observed_) return;
  const std::uint64_t now = MonotonicNs();
  if (now < observe_next_ns_) return;
  observe_next_ns_ = now + options_.observe_every_us * 1000;
  const Contender& contender = ChooseObserved();
  if (contender.awaits != Contender::Awaits::kGrant) return;
  observed_ = contender.request;
  std::string request;
  protocol::AppendRequest(request, {"POSITION", key_, contender.owner});
  observer_.Send(request);
}

void ContendedRun::TakeObservation() {
  observer_.Receive();
  const auto reply = observer_.TakeReply();
  if (reply.status != protocol::ReplyStatus::kReply || !observed_) return;
  // Nil means that the request had not arrived. A number means that it is waiting or was granted.
  if (reply.type == protocol::ReplyType::kInteger) order_.AddSighting(*observed_);
  observed_.reset();
}

void ContendedRun::HandleEvents(int timeout_ms) {
  grants_at_once_ = 0;
  for (const epoll_event& event : poller_.Wait(timeout_ms)) {
    if (event.data.ptr == nullptr) {
      TakeObservation();
    } else {
      TakeReplies(*static_cast<Contender*>(event.data.ptr));
    }
  }
}

void ContendedRun::RunUntil(std::uint64_t end_ns) {
  std::uint64_t last_progress_ns = MonotonicNs();
  for (std::uint64_t now = last_progress_ns; now < end_ns; now = MonotonicNs()) {
    const std::uint64_t before = hand_overs_;
    Observe();
    HandleEvents(100);
    if (hand_overs_ != before) last_progress_ns = now;
    if (now > last_progress_ns + 10'000'000'000) Fail("no hand-over for 10 s");
  }
}

void ContendedRun::StopAll() {
  is_stopping_ = true;
  const std::uint64_t end_ns = MonotonicNs() + 30'000'000'000;
  while (active_ > 0) {
    HandleEvents(100);
    if (MonotonicNs() > end_ns) Fail("waiting clients were not granted the lock within 30 s");
  }
}

ContendedResult ContendedRun::Run() {
  for (const auto& contender : contenders_) Ask(*contender);
  RunUntil(MonotonicNs() + static_cast<std::uint64_t>(options_.warm_up_seconds * 1e9));
  latencies_ = {};
  hand_overs_ = 0;
  const std::uint64_t cpu = CpuNs(options_.server_pid);
  const std::uint64_t begin = MonotonicNs();
  RunUntil(begin + static_cast<std::uint64_t>(options_.seconds * 1e9));
  if (hand_overs_ == 0) Fail("there was no hand-over");
  const auto hand_overs = static_cast<double>(hand_overs_);
  ContendedResult result;
  result.hand_overs = hand_overs_;
  result.per_second = hand_overs * 1e9 / static_cast<double>(MonotonicNs() - begin);
  result.server_cpu_us = static_cast<double>(CpuNs(options_.server_pid) - cpu) / 1000 / hand_overs;
  result.latency_p50_us = latencies_.PercentileUs(0.5);
  result.latency_p99_us = latencies_.PercentileUs(0.99);
  StopAll();
  result.observations = order_.seen();
  result.order_inversions = order_.CountInversions();
  return result;
}

}  // namespace

ContendedResult MeasureContended(const ContendedOptions& options) {
  return ContendedRun(options).Run();
}

}  // namespace fairlock::bench

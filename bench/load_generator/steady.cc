#include "bench/load_generator/steady.h"

#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "bench/load_generator/dialect.h"
#include "bench/load_generator/failure.h"
#include "bench/load_generator/latencies.h"
#include "bench/load_generator/poller.h"
#include "bench/load_generator/process_meter.h"
#include "bench/load_generator/real_time.h"

namespace fairlock::bench {

namespace {

constexpr std::uint64_t kSteadyLeaseMs = 600'000;
constexpr std::size_t kNameBytes = 19;
constexpr std::uint64_t kPatienceNs = 60'000'000'000;
const Dialect& kDialect = DialectNamed("fairlock");

class SteadyClient {
 public:
  SteadyClient(const Endpoint& endpoint, std::size_t number);

  const Connection& connection() const { return connection_; }
  // Sends or queues a command that is due.
  void Send(std::uint64_t due_ns);
  // Takes the available replies.
  void Receive(Latencies& latencies);
  // When the oldest unanswered command was due; `otherwise` if there is none.
  std::uint64_t AwaitsSince(std::uint64_t otherwise) const {
    return due_ns_.empty() ? otherwise : due_ns_.front();
  }

 private:
  void SendNext();
  void Check(const protocol::SkippedReply& reply);

  Connection connection_;
  std::string lock_;
  std::string unlock_;
  // When the command that was sent was due, and those queued after it.
  std::deque<std::uint64_t> due_ns_;
  bool locks_next_ = true;
  std::int64_t newest_token_ = 0;
};

SteadyClient::SteadyClient(const Endpoint& endpoint, std::size_t number) : connection_(endpoint) {
  const std::string key = "steady:" + KeyName(number, kNameBytes);
  const std::string owner = OwnerName(number, kNameBytes);
  kDialect.append_lock(lock_, key, owner, kSteadyLeaseMs);
  kDialect.append_unlock(unlock_, key, owner);
}

void SteadyClient::Send(std::uint64_t due_ns) {
  due_ns_.push_back(due_ns);
  if (due_ns_.size() == 1) SendNext();
}

void SteadyClient::SendNext() {
  connection_.Send(locks_next_ ? lock_ : unlock_);
  if (connection_.has_unsent()) Fail("the socket did not accept a short command");
}

void SteadyClient::Check(const protocol::SkippedReply& reply) {
  if (locks_next_) {
    if (!kDialect.is_locked(reply)) Fail("a free lock was not granted");
    if (reply.integer <= newest_token_) Fail("a token did not increase");
    newest_token_ = reply.integer;
  } else if (!kDialect.is_unlocked(reply)) {
    Fail("a lock was lost: it could not be released");
  }
  locks_next_ = !locks_next_;
}

void SteadyClient::Receive(Latencies& latencies) {
  connection_.Receive();
  const auto reply = connection_.TakeReply();
  if (reply.status != protocol::ReplyStatus::kReply) return;
  if (due_ns_.empty()) Fail("unexpected reply");
  Check(reply);
  latencies.Add(MonotonicNs() - due_ns_.front());
  due_ns_.pop_front();
  if (!due_ns_.empty()) SendNext();
}

class SteadyRun {
 public:
  SteadyRun(const SteadyOptions& options, const std::function<void(const SteadyPeriod&)>& report);

  void Run();

 private:
  void SendWhatIsDue(std::uint64_t now);
  void SleepUntil(std::uint64_t wake_ns);
  void TakeReplies();
  void ReadInput();
  void EndPeriod(const std::string& name);
  void FailIfStuck(std::uint64_t now) const;

  const std::function<void(const SteadyPeriod&)>& report_;
  const std::uint64_t interval_ns_;
  std::vector<std::unique_ptr<SteadyClient>> clients_;
  Poller poller_;
  std::size_t next_client_ = 0;
  std::uint64_t next_ns_ = 0;
  std::uint64_t period_began_ns_ = 0;
  Latencies latencies_;
  std::string input_;
  bool is_ending_ = false;
};

SteadyRun::SteadyRun(const SteadyOptions& options,
                     const std::function<void(const SteadyPeriod&)>& report)
    : report_(report), interval_ns_(static_cast<std::uint64_t>(1e9 / options.rate)) {
  for (std::size_t i = 0; i < options.connections; ++i) {
    clients_.push_back(std::make_unique<SteadyClient>(options.endpoint, i));
    poller_.Add(clients_.back()->connection(), clients_.back().get());
  }
}

void SteadyRun::SendWhatIsDue(std::uint64_t now) {
  if (now < next_ns_) return;
  clients_[next_client_]->Send(now);
  next_client_ = (next_client_ + 1) % clients_.size();
  // Commands that were due while this process was not running are skipped.
  next_ns_ = std::max(next_ns_ + interval_ns_, now);
}

void SteadyRun::SleepUntil(std::uint64_t wake_ns) {
  const std::uint64_t now = MonotonicNs();
  timespec rest{};
  if (wake_ns > now) {
    rest.tv_sec = static_cast<time_t>((wake_ns - now) / 1'000'000'000);
    rest.tv_nsec = static_cast<long>((wake_ns - now) % 1'000'000'000);
  }
  pollfd ready[] = {{poller_.descriptor(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
  ppoll(ready, 2, &rest, nullptr);
  if (ready[0].revents != 0) TakeReplies();
  if (ready[1].revents != 0) ReadInput();
}

void SteadyRun::TakeReplies() {
  for (const epoll_event& event : poller_.Wait(0)) {
    static_cast<SteadyClient*>(event.data.ptr)->Receive(latencies_);
  }
}

void SteadyRun::ReadInput() {
  std::array<char, 256> bytes;
  const ssize_t size = read(STDIN_FILENO, bytes.data(), bytes.size());
  if (size < 0 && errno == EINTR) return;
  is_ending_ = size <= 0;
  if (size > 0) input_.append(bytes.data(), static_cast<std::size_t>(size));
  for (std::size_t end = input_.find('\n'); end != std::string::npos; end = input_.find('\n')) {
    EndPeriod(input_.substr(0, end));
    input_.erase(0, end + 1);
  }
}

void SteadyRun::EndPeriod(const std::string& name) {
  const std::uint64_t now = MonotonicNs();
  report_({.name = name,
           .commands = latencies_.size(),
           .seconds = static_cast<double>(now - period_began_ns_) / 1e9,
           .p50_us = latencies_.PercentileUs(0.5),
           .p99_us = latencies_.PercentileUs(0.99),
           .p999_us = latencies_.PercentileUs(0.999),
           .max_us = latencies_.PercentileUs(1)});
  latencies_ = {};
  period_began_ns_ = now;
}

void SteadyRun::FailIfStuck(std::uint64_t now) const {
  for (const auto& client : clients_) {
    if (now > client->AwaitsSince(now) + kPatienceNs) Fail("no reply for 60 s");
  }
}

void SteadyRun::Run() {
  next_ns_ = period_began_ns_ = MonotonicNs();
  while (!is_ending_) {
    SendWhatIsDue(MonotonicNs());
    SleepUntil(next_ns_);
    if (next_client_ == 0) FailIfStuck(MonotonicNs());
  }
  // Wait until every command is answered and nothing is left locked.
  const auto is_busy = [](const auto& client) { return client->AwaitsSince(0) != 0; };
  while (std::ranges::any_of(clients_, is_busy)) {
    FailIfStuck(MonotonicNs());
    for (const epoll_event& event : poller_.Wait(100)) {
      static_cast<SteadyClient*>(event.data.ptr)->Receive(latencies_);
    }
  }
}

}  // namespace

void RunSteadily(const SteadyOptions& options,
                 const std::function<void(const SteadyPeriod&)>& report) {
  AskForRealTime();
  SteadyRun(options, report).Run();
}

}  // namespace fairlock::bench

#include "tests/simulation/fleet/etcd_network.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <string_view>

#include "tests/simulation/fleet/seams/storage/etcd/etcd_client.h"

namespace fairlock::fleet {

namespace {

EtcdNetwork* network = nullptr;

// How etcd refuses a token or a password: the status code of gRPC and its message.
constexpr std::pair<int, std::string_view> kLoginRefusals[] = {
    {16, "etcdserver: invalid auth token"},
    {3, "etcdserver: authentication failed, invalid user ID or password"},
    {3, "etcdserver: revision of auth store is old"},
    {3, "etcdserver: user name is empty"},
    {2, "auth: revision in header is old"},
};

}  // namespace

EtcdNetwork& Network() {
  assert(network != nullptr);
  return *network;
}

EtcdNetwork::EtcdNetwork(EtcdModel& etcd, std::uint64_t seed) : etcd_(etcd), random_(seed) {
  assert(network == nullptr);
  network = this;
}

EtcdNetwork::~EtcdNetwork() { network = nullptr; }

TimeUs EtcdNetwork::Delay() {
  if (OneIn(faults_.very_slow)) return random_.Between(800 * kMs, 6 * kSecond);
  if (Time().now() < slow_until_) return random_.Between(50 * kMs, 500 * kMs);
  if (OneIn(faults_.slow)) return random_.Between(20 * kMs, 700 * kMs);
  return random_.Between(150, 2 * kMs);
}

bool EtcdNetwork::IsCutOff(const std::string& process) const {
  return process == cut_off_.first && Time().now() < cut_off_.second;
}

EtcdNetwork::Outcome EtcdNetwork::Await(std::function<void(bool)> execute, TimeUs timeout) {
  Process& process = Time().current_process();
  if (process.is_dead) return Outcome::kKilled;
  if (OneIn(faults_.refused)) {
    Time().SleepUntil(Time().now() + random_.Between(100, kMs));
    return process.is_dead ? Outcome::kKilled : Outcome::kRefused;
  }
  Fiber* const fiber = Time().current();
  auto outcome = std::make_shared<Outcome>(Outcome::kSilence);
  // When the answer arrives, the caller may have given up, and its fiber may be waiting for
  // something else. So a fiber that wakes up checks again whether it has what it waits for.
  const auto answer = [outcome, fiber](Outcome arrived) {
    *outcome = arrived;
    Time().Ready(*fiber);
  };
  const bool is_answer_lost = OneIn(faults_.lost_answer) || IsCutOff(process.name);
  const TimeUs back = Delay();
  const TimeUs there = Delay();
  if (!IsCutOff(process.name) && !OneIn(faults_.lost_request)) {
    auto is_executed = std::make_shared<bool>(false);
    const auto arrive = [this, execute = std::move(execute), is_executed, is_answer_lost, back,
                         answer] {
      if (Time().now() < down_until_) return;
      const bool is_first = !std::exchange(*is_executed, true);
      const bool is_refused = Time().now() < logins_refused_until_;
      if (!is_refused) execute(is_first);
      SendChanges();
      if (!is_first || is_answer_lost) return;
      Time().After(back, [answer, is_refused] {
        answer(is_refused ? Outcome::kLoginRefused : Outcome::kAnswered);
      });
    };
    Time().After(there, arrive);
    if (OneIn(faults_.repeated)) {
      Time().After(there + random_.Between(1, random_.OneIn(4) ? 4 * kSecond : 5 * kMs), arrive);
    }
  }
  const TimeUs end = Time().now() + timeout;
  const auto waits = [&] { return *outcome == Outcome::kSilence && !process.is_dead; };
  while (waits() && Time().now() < end) Time().BlockUntil(end);
  return process.is_dead ? Outcome::kKilled : *outcome;
}

// What a client reports when it has no answer.
etcd::Answer EtcdNetwork::Failure(Outcome outcome, etcd::Outcome otherwise) {
  etcd::Answer answer{.outcome = otherwise, .message = "etcd does not answer"};
  if (outcome == Outcome::kRefused) answer.outcome = etcd::Outcome::kUnavailable;
  if (outcome == Outcome::kKilled) {
    answer = {.outcome = etcd::Outcome::kFailed, .message = "this process is killed"};
  }
  if (outcome != Outcome::kLoginRefused) return answer;
  const auto& [code, text] = kLoginRefusals[random_.Below(std::size(kLoginRefusals))];
  const etcd::Outcome judged = etcd::JudgeError(code, text).outcome;
  return {.outcome = judged == etcd::Outcome::kUnknown ? otherwise : judged,
          .message = std::string(text)};
}

etcd::Answer EtcdNetwork::OpenStream(const std::shared_ptr<WatchStream>& stream,
                                     std::chrono::milliseconds timeout) {
  return Call<etcd::Answer>(
      [this, stream](EtcdModel& model) {
        etcd::Answer answer;
        answer.outcome = etcd::Outcome::kDone;
        answer.revision = model.revision();
        const auto& [process, end] = without_streams_;
        if (stream->process == process && Time().now() < end) {
          answer.outcome = etcd::Outcome::kUnavailable;
        } else if (stream->next_revision < model.compacted()) {
          answer.outcome = etcd::Outcome::kCompacted;
          answer.revision = model.compacted();
        } else if (stream->arrives_at == 0) {
          stream->arrives_at = Time().now();
          streams_.push_back(stream);
        }
        return answer;
      },
      timeout, etcd::Outcome::kUnavailable);
}

etcd::Answer EtcdNetwork::RequestProgress(std::chrono::milliseconds timeout) {
  return Call<etcd::Answer>(
      [](EtcdModel& model) {
        etcd::Answer answer;
        answer.outcome = etcd::Outcome::kDone;
        answer.revision = model.revision();
        return answer;
      },
      timeout, etcd::Outcome::kUnavailable);
}

void EtcdNetwork::SendChanges() {
  std::erase_if(streams_, [](const auto& stream) { return stream.expired(); });
  for (const auto& each : streams_) {
    if (const auto stream = each.lock(); stream && !stream->is_stuck) Send(stream);
  }
}

// Delivers in order, so a slow message delays those that follow it.
void EtcdNetwork::Send(const std::shared_ptr<WatchStream>& stream) {
  auto events = etcd_.Changes(stream->target, stream->next_revision);
  stream->next_revision = std::max(stream->next_revision, etcd_.revision() + 1);
  if (events.empty()) return;
  stream->arrives_at = std::max(stream->arrives_at, Time().now() + Delay());
  Time().At(stream->arrives_at, [this, stream, events = std::move(events)]() mutable {
    Receive(*stream, std::move(events));
  });
  if (!OneIn(faults_.cut_stream)) return;
  stream->is_stuck = true;
  if (random_.OneIn(2)) return;
  Time().At(stream->arrives_at, [stream] {
    stream->has_ended = true;
    if (stream->on_change) stream->on_change();
  });
}

void EtcdNetwork::Receive(WatchStream& stream, std::vector<etcd::WatchEvent> events) const {
  stream.is_stuck |= IsCutOff(stream.process) || Time().now() < down_until_;
  if (stream.is_stuck) return;
  stream.received.push_back(std::move(events));
  if (stream.on_change) stream.on_change();
}

void EtcdNetwork::StopEtcdUntil(TimeUs end) {
  down_until_ = end;
  if (etcd_.has_leases() && random_.OneIn(2)) etcd_.ExtendLeases(end);
}

// As in etcd, each lease ends some time after it has run out.
void EtcdNetwork::BeginExpiry() {
  constexpr TimeUs kRoundMax = 500 * kMs;
  Time().After(random_.Between(kMs, kRoundMax), [this] {
    if (Time().now() >= down_until_) {
      for (const std::int64_t lease : etcd_.ExpiredLeases()) {
        etcd_.RevokeLease(lease);
        SendChanges();
      }
    }
    BeginExpiry();
  });
}

void EtcdNetwork::EndStreams() {
  for (const auto& each : std::exchange(streams_, {})) End(each.lock());
}

void EtcdNetwork::BreakStreams(const std::string& process, TimeUs end) {
  without_streams_ = {process, end};
  for (const auto& each : streams_) {
    if (const auto stream = each.lock(); stream && stream->process == process) End(stream);
  }
}

void EtcdNetwork::End(const std::shared_ptr<WatchStream>& stream) {
  if (!stream) return;
  stream->is_stuck = stream->has_ended = true;
  if (stream->on_change) stream->on_change();
}

}  // namespace fairlock::fleet

namespace fairlock::storage::etcd {

namespace {

bool HasFailed(const Answer& answer) {
  return answer.outcome == Outcome::kUnavailable || answer.outcome == Outcome::kUnknown;
}

}  // namespace

Result<std::unique_ptr<EtcdClient>> EtcdClient::Open(const EtcdOptions& options) {
  return std::make_unique<EtcdClient>(options);
}

// Does what Session::Identify and Caller::Call do. The first connection of a process leads to the
// right cluster.
void EtcdClient::Connect() {
  if (!options_.pin) return;
  if (options_.pin->id() == 0) endpoint_ = 0;
  const std::size_t count = options_.endpoints.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& address = options_.endpoints[endpoint_].address;
    const std::uint64_t cluster = fleet::Network().ClusterAt(endpoint_);
    if (options_.pin->Admit(address, count, cluster).empty()) {
      if (cluster != fleet::Network().ClusterAt(0)) fleet::Network().Mislead();
      return;
    }
    Rotate();
  }
}

template <typename A>
A EtcdClient::Call(std::function<A(fleet::EtcdModel&)> execute, Timeout timeout,
                   Outcome otherwise) {
  Connect();
  A answer = fleet::Network().Call<A>(std::move(execute), timeout, otherwise);
  if (HasFailed(answer)) Rotate();
  return answer;
}

TxnAnswer EtcdClient::Transact(const Txn& txn, Timeout timeout) {
  return Call<TxnAnswer>([txn](fleet::EtcdModel& model) { return model.Transact(txn); }, timeout,
                         Outcome::kUnknown);
}

RangeAnswer EtcdClient::Range(const Get& get, Timeout timeout) {
  return Call<RangeAnswer>([get](fleet::EtcdModel& model) { return model.Range(get); }, timeout,
                           Outcome::kUnavailable);
}

Answer EtcdClient::Compact(std::int64_t revision, Timeout timeout) {
  return Call<Answer>([revision](fleet::EtcdModel& model) { return model.Compact(revision); },
                      timeout, Outcome::kUnknown);
}

LeaseAnswer EtcdClient::GrantLease(std::chrono::seconds ttl, Timeout timeout) {
  return Call<LeaseAnswer>(
      [ttl](fleet::EtcdModel& model) { return model.GrantLease(ttl.count() * fleet::kSecond); },
      timeout, Outcome::kUnknown);
}

LeaseAnswer EtcdClient::KeepLeaseAlive(std::int64_t id, Timeout timeout) {
  return Call<LeaseAnswer>([id](fleet::EtcdModel& model) { return model.KeepLeaseAlive(id); },
                           timeout, Outcome::kUnavailable);
}

Answer EtcdClient::RevokeLease(std::int64_t id, Timeout timeout) {
  return Call<Answer>([id](fleet::EtcdModel& model) { return model.RevokeLease(id); }, timeout,
                      Outcome::kUnknown);
}

StatusAnswer EtcdClient::StatusOf(std::size_t /*endpoint*/, Timeout timeout) {
  return Call<StatusAnswer>(
      [](fleet::EtcdModel& model) {
        StatusAnswer answer;
        answer.outcome = Outcome::kDone;
        answer.revision = model.revision();
        answer.member_id = answer.leader = 1;
        return answer;
      },
      timeout, Outcome::kUnavailable);
}

AlarmsAnswer EtcdClient::Alarms(Timeout timeout) {
  return Call<AlarmsAnswer>(
      [](fleet::EtcdModel& /*model*/) {
        AlarmsAnswer answer;
        answer.outcome = Outcome::kDone;
        return answer;
      },
      timeout, Outcome::kUnavailable);
}

}  // namespace fairlock::storage::etcd

#include "tests/simulation/fleet/etcd_network.h"

#include <algorithm>
#include <cassert>

#include "tests/simulation/fleet/seams/storage/etcd/etcd_client.h"

namespace fairlock::fleet {

namespace {

EtcdNetwork* network = nullptr;

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
  auto is_answered = std::make_shared<bool>(false);
  // When the answer arrives, the caller may have given up, and its fiber may be waiting for
  // something else. So a fiber that wakes up checks again whether it has what it waits for.
  const auto answer = [is_answered, fiber] {
    *is_answered = true;
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
      execute(is_first);
      SendChanges();
      if (is_first && !is_answer_lost) Time().After(back, answer);
    };
    Time().After(there, arrive);
    if (OneIn(faults_.repeated)) {
      Time().After(there + random_.Between(1, random_.OneIn(4) ? 4 * kSecond : 5 * kMs), arrive);
    }
  }
  const TimeUs end = Time().now() + timeout;
  while (!*is_answered && Time().now() < end && !process.is_dead) Time().BlockUntil(end);
  if (process.is_dead) return Outcome::kKilled;
  return *is_answered ? Outcome::kAnswered : Outcome::kSilence;
}

etcd::Answer EtcdNetwork::OpenStream(const std::shared_ptr<WatchStream>& stream,
                                     std::chrono::milliseconds timeout) {
  return Call<etcd::Answer>(
      [this, stream](EtcdModel& model) {
        etcd::Answer answer;
        answer.outcome = etcd::Outcome::kDone;
        answer.revision = model.revision();
        if (stream->next_revision < model.compacted()) {
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
  for (const auto& each : std::exchange(streams_, {})) {
    const auto stream = each.lock();
    if (!stream) continue;
    stream->is_stuck = stream->has_ended = true;
    if (stream->on_change) stream->on_change();
  }
}

}  // namespace fairlock::fleet

namespace fairlock::storage::etcd {

Result<std::unique_ptr<EtcdClient>> EtcdClient::Open(const EtcdOptions& /*options*/) {
  return std::make_unique<EtcdClient>();
}

TxnAnswer EtcdClient::Transact(const Txn& txn, Timeout timeout) {
  return fleet::Network().Call<TxnAnswer>(
      [txn](fleet::EtcdModel& model) { return model.Transact(txn); }, timeout, Outcome::kUnknown);
}

RangeAnswer EtcdClient::Range(const Get& get, Timeout timeout) {
  return fleet::Network().Call<RangeAnswer>(
      [get](fleet::EtcdModel& model) { return model.Range(get); }, timeout, Outcome::kUnavailable);
}

Answer EtcdClient::Compact(std::int64_t revision, Timeout timeout) {
  return fleet::Network().Call<Answer>(
      [revision](fleet::EtcdModel& model) { return model.Compact(revision); }, timeout,
      Outcome::kUnknown);
}

LeaseAnswer EtcdClient::GrantLease(std::chrono::seconds ttl, Timeout timeout) {
  return fleet::Network().Call<LeaseAnswer>(
      [ttl](fleet::EtcdModel& model) { return model.GrantLease(ttl.count() * fleet::kSecond); },
      timeout, Outcome::kUnknown);
}

LeaseAnswer EtcdClient::KeepLeaseAlive(std::int64_t id, Timeout timeout) {
  return fleet::Network().Call<LeaseAnswer>(
      [id](fleet::EtcdModel& model) { return model.KeepLeaseAlive(id); }, timeout,
      Outcome::kUnavailable);
}

Answer EtcdClient::RevokeLease(std::int64_t id, Timeout timeout) {
  return fleet::Network().Call<Answer>(
      [id](fleet::EtcdModel& model) { return model.RevokeLease(id); }, timeout, Outcome::kUnknown);
}

StatusAnswer EtcdClient::StatusOf(std::size_t /*endpoint*/, Timeout timeout) {
  return fleet::Network().Call<StatusAnswer>(
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
  return fleet::Network().Call<AlarmsAnswer>(
      [](fleet::EtcdModel& /*model*/) {
        AlarmsAnswer answer;
        answer.outcome = Outcome::kDone;
        return answer;
      },
      timeout, Outcome::kUnavailable);
}

}  // namespace fairlock::storage::etcd

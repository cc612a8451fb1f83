#include "tests/simulation/fleet/etcd_network.h"

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
  if (OneIn(faults_.slow)) return random_.Between(20 * kMs, 700 * kMs);
  return random_.Between(150, 2 * kMs);
}

bool EtcdNetwork::IsCutOff(const Process& process) const {
  return process.name == cut_off_.first && Time().now() < cut_off_.second;
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
  // The caller may have gone on when the answer arrives, and the fiber may do something else then:
  // it looks again at what it waits for.
  const auto answer = [is_answered, fiber] {
    *is_answered = true;
    Time().Ready(*fiber);
  };
  const bool is_answer_lost = OneIn(faults_.lost_answer) || IsCutOff(process);
  const TimeUs back = Delay();
  const TimeUs there = Delay();
  if (!IsCutOff(process) && !OneIn(faults_.lost_request)) {
    auto is_executed = std::make_shared<bool>(false);
    const auto arrive = [this, execute = std::move(execute), is_executed, is_answer_lost, back,
                         answer] {
      if (Time().now() < down_until_) return;
      const bool is_first = !std::exchange(*is_executed, true);
      execute(is_first);
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

}  // namespace fairlock::storage::etcd

#include "bench/load_generator/pairs.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/load_generator/failure.h"
#include "bench/load_generator/poller.h"
#include "bench/load_generator/process_meter.h"

namespace fairlock::bench {

namespace {

constexpr std::uint64_t kLeaseMs = 30'000;

// One client. Its requests are built once and afterwards only their keys are replaced, so that the
// load generator needs less CPU than the server.
class PairClient {
 public:
  PairClient(const PairsOptions& options, std::size_t number, std::vector<std::uint64_t> keys);

  const Connection& connection() const { return connection_; }
  void SendBatch();
  // Acquires this many locks in advance; they stay held in addition to the locks of each batch.
  void TakeAhead(std::size_t locks);
  // Takes the available replies. Returns true if the batch is complete.
  bool TakeReplies();
  // Releases all remaining locks. REQUIRES: no outstanding reply.
  void ReleaseRest();
  void Flush() { connection_.Flush(); }

 private:
  struct Batch;
  void Send(Batch& batch, bool begins_with_lock);
  void AwaitReplies();

  struct Batch {
    std::string requests;
    std::vector<std::size_t> key_offsets;  // where each request's key is in `requests`
  };

  Batch MakeBatch(bool begins_with_lock, std::size_t requests) const;

  const Dialect& dialect_;
  const std::size_t pipeline_;
  const std::size_t key_bytes_;
  const std::string owner_;
  Connection connection_;
  std::string keys_;  // concatenated in the order of use
  std::size_t next_key_ = 0;
  std::size_t next_key_to_release_ = 0;
  Batch locks_first_;
  Batch lock_alone_;
  // only with pipeline 1, where batches that lock and batches that unlock alternate
  Batch unlock_alone_;
  bool unlocks_next_ = false;
  bool expects_lock_ = true;
  std::size_t outstanding_ = 0;
  std::int64_t newest_token_ = 0;
};

PairClient::PairClient(const PairsOptions& options, std::size_t number,
                       std::vector<std::uint64_t> keys)
    : dialect_(*options.dialect),
      pipeline_(options.pipeline),
      key_bytes_(options.key_prefix.size() + options.key_bytes),
      owner_(OwnerName(number, options.owner_bytes)),
      connection_(options.endpoint) {
  for (const std::uint64_t key : keys) {
    keys_.append(options.key_prefix).append(KeyName(key, options.key_bytes));
  }
  locks_first_ = MakeBatch(true, pipeline_);
  lock_alone_ = MakeBatch(true, 1);
  unlock_alone_ = MakeBatch(false, 1);
}

PairClient::Batch PairClient::MakeBatch(bool begins_with_lock, std::size_t requests) const {
  const std::string key(key_bytes_, '#');
  Batch batch;
  bool is_lock = begins_with_lock;
  for (std::size_t i = 0; i < requests; ++i, is_lock = !is_lock) {
    const std::size_t begin = batch.requests.size();
    if (is_lock) {
      dialect_.append_lock(batch.requests, key, owner_, kLeaseMs);
    } else {
      dialect_.append_unlock(batch.requests, key, owner_);
    }
    batch.key_offsets.push_back(batch.requests.find(key, begin));
  }
  return batch;
}

void PairClient::SendBatch() {
  Send(unlocks_next_ ? unlock_alone_ : locks_first_, !unlocks_next_);
  if (pipeline_ == 1) unlocks_next_ = !unlocks_next_;
}

void PairClient::Send(Batch& batch, bool begins_with_lock) {
  bool is_lock = begins_with_lock;
  for (const std::size_t offset : batch.key_offsets) {
    std::size_t& key = is_lock ? next_key_ : next_key_to_release_;
    std::memcpy(batch.requests.data() + offset, keys_.data() + key, key_bytes_);
    key = (key + key_bytes_) % keys_.size();
    is_lock = !is_lock;
  }
  expects_lock_ = begins_with_lock;
  outstanding_ = batch.key_offsets.size();
  connection_.Send(batch.requests);
}

void PairClient::TakeAhead(std::size_t locks) {
  for (std::size_t i = 0; i < locks; ++i) {
    Send(lock_alone_, true);
    AwaitReplies();
  }
}

bool PairClient::TakeReplies() {
  connection_.Receive();
  while (outstanding_ > 0) {
    const auto reply = connection_.TakeReply();
    if (reply.status != protocol::ReplyStatus::kReply) return false;
    if (expects_lock_) {
      if (!dialect_.is_locked(reply)) Fail("a free lock was not granted");
      if (dialect_.has_tokens && reply.integer <= newest_token_) Fail("a token did not increase");
      newest_token_ = reply.integer;
    } else if (!dialect_.is_unlocked(reply)) {
      Fail("a held lock was not released");
    }
    expects_lock_ = !expects_lock_;
    --outstanding_;
  }
  return true;
}

void PairClient::AwaitReplies() {
  while (!TakeReplies()) {
  }
}

void PairClient::ReleaseRest() {
  while (next_key_to_release_ != next_key_) {
    Send(unlock_alone_, false);
    AwaitReplies();
  }
}

class PairsRun {
 public:
  explicit PairsRun(const PairsOptions& options);

  // REQUIRES: no outstanding reply.
  std::uint64_t Run(std::uint64_t commands);
  void ReleaseRest();

 private:
  std::vector<std::unique_ptr<PairClient>> clients_;
  Poller poller_;
  const std::size_t pipeline_;
};

PairsRun::PairsRun(const PairsOptions& options) : pipeline_(options.pipeline) {
  for (std::size_t i = 0; i < options.connections; ++i) {
    std::vector<std::uint64_t> keys;
    for (std::uint64_t key = i; key < options.keys; key += options.connections) {
      keys.push_back(key);
    }
    std::shuffle(keys.begin(), keys.end(), std::mt19937_64(i));
    clients_.push_back(std::make_unique<PairClient>(options, i, std::move(keys)));
    poller_.Add(clients_.back()->connection(), clients_.back().get());
    clients_.back()->TakeAhead(options.ahead);
  }
}

std::uint64_t PairsRun::Run(std::uint64_t commands) {
  std::uint64_t sent = 0;
  std::uint64_t done = 0;
  const auto send = [&](PairClient& client) {
    if (sent >= commands) return;
    sent += pipeline_;
    client.SendBatch();
  };
  for (const auto& client : clients_) send(*client);
  while (done < sent) {
    const auto events = poller_.Wait(60'000);
    if (events.empty()) Fail("no reply for 60 s");
    for (const epoll_event& event : events) {
      auto& client = *static_cast<PairClient*>(event.data.ptr);
      // A batch is much smaller than the socket's buffer, so anything left unsent can be sent at
      // the next event.
      client.Flush();
      if (!client.TakeReplies()) continue;
      done += pipeline_;
      send(client);
    }
  }
  return done;
}

void PairsRun::ReleaseRest() {
  for (const auto& client : clients_) client->ReleaseRest();
}

}  // namespace

PairsResult MeasurePairs(const PairsOptions& options) {
  if (options.pipeline != 1 && options.pipeline % 2 != 0) Fail("--pipeline must be 1 or even");
  const std::size_t keys_min = std::max<std::size_t>(options.pipeline / 2, 1) + options.ahead;
  if (options.keys <= options.connections * keys_min) {
    Fail("too few keys: each connection needs its own keys for a batch");
  }
  PairsRun run(options);
  run.Run(options.warm_up_commands);
  const std::uint64_t server_cpu = CpuNs(options.server_pid);
  const std::uint64_t client_cpu = CpuNs(getpid());
  const std::uint64_t begin = MonotonicNs();
  PairsResult result;
  result.commands = run.Run(options.commands);
  result.seconds = static_cast<double>(MonotonicNs() - begin) / 1e9;
  const auto per_command_us = [&](std::uint64_t ns) {
    return static_cast<double>(ns) / 1000.0 / static_cast<double>(result.commands);
  };
  result.server_cpu_us = per_command_us(CpuNs(options.server_pid) - server_cpu);
  result.client_cpu_us = per_command_us(CpuNs(getpid()) - client_cpu);
  run.ReleaseRest();
  return result;
}

}  // namespace fairlock::bench

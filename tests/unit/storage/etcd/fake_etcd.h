// An etcd in this process whose answers fail as a test tells it to.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "storage/etcd/etcd_options.h"
#include "storage/etcd/requests.h"

namespace fairlock::storage::etcd {

// What goes wrong with a request. "Drop" means that the connection on which it arrived is reset.
enum class Fault : std::uint8_t {
  kNone,
  kAnswerLate,          // executed at once, but answered only after FakeEtcd::kLate
  kApplyLate,           // executed and answered after kLate, even if the client has gone
  kNeverAnswer,         // neither executed nor answered
  kApplyNeverAnswer,    // executed, but not answered
  kDropBefore,          // dropped without being executed
  kApplyThenDrop,       // executed, then dropped
  kApplyTwice,          // executed twice, as if the network repeated it; the first answer is sent
  kApplyTwiceAnswerNew  // likewise, but the second answer is sent
};

// A gRPC server on a loopback port, with a store like etcd's. A fault or an error applies to one
// request, namely the next one of its kind; several can be queued. Thread-safe. For a real etcd,
// see EtcdServer.
class FakeEtcd {
 public:
  static constexpr std::chrono::milliseconds kLate{150};

  FakeEtcd();
  FakeEtcd(const FakeEtcd&) = delete;
  FakeEtcd& operator=(const FakeEtcd&) = delete;
  ~FakeEtcd();

  EtcdEndpoint endpoint() const;

  void NextTxn(Fault fault);
  void NextRange(Fault fault);
  // Applies to any other request: leases, compaction, state, log-in. Allows only kNeverAnswer and
  // kDropBefore.
  void NextOther(Fault fault);
  // The next request of any kind is not executed, but answered with this error.
  void NextError(int grpc_code, const std::string& text);
  // Applies to the next watch. With kNeverAnswer it is silent from the start, with kAnswerLate it
  // falls silent after its first response, and with kDropBefore it is dropped after the first
  // fragment of two events.
  void NextWatch(Fault fault);

  int requests() const;  // counts requests of any kind except watches, answered or not
  int applied() const;   // executed transactions that wrote; a repeated one counts twice
  int watches() const;   // watches that were started
  KeyValue Find(const std::string& key) const;

  // Stop refuses connections until Start, but keeps the store.
  void Stop();
  void Start();

 private:
  struct Server;

  std::unique_ptr<Server> server_;
};

}  // namespace fairlock::storage::etcd

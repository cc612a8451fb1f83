// An etcd in this process whose answers fail as a test tells it to.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "storage/etcd/etcd_options.h"
#include "storage/etcd/requests.h"

namespace fairlock::storage::etcd {

// What goes wrong with one request. "Drop" resets the connection on which it came.
enum class Fault : std::uint8_t {
  kNone,
  kAnswerLate,          // executed at once; answered after FakeEtcd::kLate
  kApplyLate,           // executed after kLate, even if the client has gone; then answered
  kNeverAnswer,         // not executed
  kApplyNeverAnswer,    // executed
  kDropBefore,          // not executed
  kApplyThenDrop,       // executed
  kApplyTwice,          // executed twice, as if the network repeated it; the first answer is sent
  kApplyTwiceAnswerNew  // likewise, but the second answer is sent
};

// A gRPC server on a port of loopback, with a store like etcd's. A fault or an error is for one
// request, the next of its kind; several queue up. Thread-safe. See EtcdServer for a real etcd.
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
  // Any other request: leases, compaction, state, login. kNeverAnswer and kDropBefore only.
  void NextOther(Fault fault);
  // The next request of any kind is not executed, and answered with this error.
  void NextError(int grpc_code, const std::string& text);
  // The next watch: kNeverAnswer is silent from its beginning, kAnswerLate after its first
  // response, kDropBefore is dropped after the first fragment of two events.
  void NextWatch(Fault fault);

  int requests() const;  // of any kind except watches, answered or not
  int applied() const;   // executed transactions that wrote; a repeated one counts twice
  int watches() const;   // that were begun
  KeyValue Find(const std::string& key) const;

  // Refuses connections until Start, and keeps the store.
  void Stop();
  void Start();

 private:
  struct Server;

  std::unique_ptr<Server> server_;
};

}  // namespace fairlock::storage::etcd

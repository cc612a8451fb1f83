// An etcd in this process whose answers fail as a test tells it to.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "storage/etcd/etcd_options.h"
#include "storage/etcd/requests.h"

namespace fairlock::storage::etcd {

// What goes wrong with a request. "Drop" resets the connection on which it arrived.
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

// A gRPC server on a port of loopback, with a store like etcd's. A fault or an error applies to one
// request, the next of its kind; several are queued. Thread-safe. See EtcdServer for a real etcd.
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
  // For any other request: leases, compaction, state, login. Only kNeverAnswer and kDropBefore.
  void NextOther(Fault fault);
  // The next request of any kind is not executed, but answered with this error.
  void NextError(int grpc_code, const std::string& text);
  // For the next watch: kNeverAnswer is silent from the start, kAnswerLate after its first
  // response, kDropBefore is dropped after the first fragment of two events.
  void NextWatch(Fault fault);

  int requests() const;  // of any kind except watches, answered or not
  int applied() const;   // executed transactions that wrote; a repeated one counts twice
  int watches() const;   // watches that were started
  KeyValue Find(const std::string& key) const;

  // Refuses connections until Start, and keeps the store.
  void Stop();
  void Start();

 private:
  struct Server;

  std::unique_ptr<Server> server_;
};

}  // namespace fairlock::storage::etcd

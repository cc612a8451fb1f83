// The gRPC services of FakeEtcd.
#pragma once

#include <etcd.grpc.pb.h>
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/unit/storage/etcd/fake_etcd.h"
#include "tests/unit/storage/etcd/fake_store.h"

namespace fairlock::storage::etcd {

// The state that the services share with the test; the mutex guards all of it.
struct FakeState {
  using Faults = std::deque<Fault>;

  std::mutex mutex;
  FakeStore store;
  std::map<std::int64_t, std::int64_t> leases;  // maps ids to times to live; leases never expire
  Faults txn_faults, range_faults, other_faults, watch_faults;
  std::deque<grpc::Status> errors;
  int requests = 0;
  int applied = 0;
  int watches = 0;

  // Removes and returns the fault for the next request of this kind.
  Fault Take(Faults& faults);
};

// One for each service of etcd.proto. They must not outlive the state.
std::vector<std::unique_ptr<grpc::Service>> MakeFakeServices(FakeState& state);

}  // namespace fairlock::storage::etcd

#include "tests/unit/storage/etcd/fake_etcd.h"

#include <gtest/gtest.h>

#include <utility>

#include "storage/etcd/codec.h"
#include "storage/etcd/endpoint.h"
#include "tests/unit/storage/etcd/fake_services.h"

namespace fairlock::storage::etcd {

struct FakeEtcd::Server {
  GrpcRuntime runtime;
  FakeState state;
  std::vector<std::unique_ptr<grpc::Service>> services = MakeFakeServices(state);
  std::unique_ptr<grpc::Server> server;
  int port = 0;

  void Queue(FakeState::Faults& faults, Fault fault) {
    const std::lock_guard lock(state.mutex);
    faults.push_back(fault);
  }
};

FakeEtcd::FakeEtcd() : server_(std::make_unique<Server>()) { Start(); }

FakeEtcd::~FakeEtcd() { Stop(); }

void FakeEtcd::Start() {
  grpc::ServerBuilder builder;
  const std::string address = "127.0.0.1:" + std::to_string(server_->port);
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &server_->port);
  for (const auto& service : server_->services) builder.RegisterService(service.get());
  server_->server = builder.BuildAndStart();
  ASSERT_NE(server_->server, nullptr) << address;
}

void FakeEtcd::Stop() {
  if (server_->server == nullptr) return;
  server_->server->Shutdown(FromNow(std::chrono::milliseconds(0)));
  server_->server = nullptr;
}

EtcdEndpoint FakeEtcd::endpoint() const {
  return {.address = "127.0.0.1:" + std::to_string(server_->port)};
}

void FakeEtcd::NextTxn(Fault fault) { server_->Queue(server_->state.txn_faults, fault); }
void FakeEtcd::NextRange(Fault fault) { server_->Queue(server_->state.range_faults, fault); }
void FakeEtcd::NextOther(Fault fault) { server_->Queue(server_->state.other_faults, fault); }
void FakeEtcd::NextWatch(Fault fault) { server_->Queue(server_->state.watch_faults, fault); }

void FakeEtcd::NextError(int grpc_code, const std::string& text) {
  const std::lock_guard lock(server_->state.mutex);
  server_->state.errors.emplace_back(static_cast<grpc::StatusCode>(grpc_code), text);
}

int FakeEtcd::requests() const {
  const std::lock_guard lock(server_->state.mutex);
  return server_->state.requests;
}

int FakeEtcd::applied() const {
  const std::lock_guard lock(server_->state.mutex);
  return server_->state.applied;
}

int FakeEtcd::watches() const {
  const std::lock_guard lock(server_->state.mutex);
  return server_->state.watches;
}

KeyValue FakeEtcd::Find(const std::string& key) const {
  const std::lock_guard lock(server_->state.mutex);
  return Decode(server_->state.store.Find(key).value_or(etcdserverpb::KeyValue()));
}

}  // namespace fairlock::storage::etcd

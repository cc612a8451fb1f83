// One endpoint of etcd: its connection and its services.
#pragma once

#include <etcd.grpc.pb.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>

#include "storage/etcd/etcd_options.h"

namespace fairlock::storage::etcd {

// gRPC stays initialised as long as at least one of these exists. When the last one is destroyed,
// the threads of gRPC end. Thread-safe.
class GrpcRuntime {
 public:
  GrpcRuntime();
  GrpcRuntime(const GrpcRuntime&) = delete;
  GrpcRuntime& operator=(const GrpcRuntime&) = delete;
  ~GrpcRuntime();
};

// The moment that is `time` from now, as a deadline for gRPC.
gpr_timespec FromNow(std::chrono::milliseconds time);

// The credentials with which a client connects to all its endpoints.
struct Credentials {
  std::shared_ptr<grpc::ChannelCredentials> plain;
  std::shared_ptr<grpc::ChannelCredentials> tls;  // null: no endpoint needs it
};

// Reads the files that the options name.
Result<Credentials> LoadCredentials(const EtcdOptions& options);

// Not thread-safe.
class Endpoint {
 public:
  // Does not connect yet; Connect does.
  Endpoint(const EtcdEndpoint& endpoint, const Credentials& credentials,
           std::chrono::milliseconds connect_timeout);

  // Waits while the connection is being made. Returns false if it is still being made when the time
  // is over. If it was refused, the next call fails at once and says why.
  //
  // gRPC reconnects only after a back-off, and only while a thread polls, which no thread does
  // between two calls. So a failed connection is given up, and a new one is started at once.
  bool Connect(std::chrono::milliseconds time);

  const std::string& address() const { return address_; }
  etcdserverpb::KV::StubInterface& kv() { return *kv_; }
  etcdserverpb::Watch::StubInterface& watch() { return *watch_; }
  etcdserverpb::Lease::StubInterface& lease() { return *lease_; }
  etcdserverpb::Cluster::StubInterface& cluster() { return *cluster_; }
  etcdserverpb::Maintenance::StubInterface& maintenance() { return *maintenance_; }
  etcdserverpb::Auth::StubInterface& auth() { return *auth_; }

 private:
  void MakeChannel();

  const std::string address_;
  const std::shared_ptr<grpc::ChannelCredentials> credentials_;
  const std::chrono::milliseconds connect_timeout_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<etcdserverpb::KV::StubInterface> kv_;
  std::unique_ptr<etcdserverpb::Watch::StubInterface> watch_;
  std::unique_ptr<etcdserverpb::Lease::StubInterface> lease_;
  std::unique_ptr<etcdserverpb::Cluster::StubInterface> cluster_;
  std::unique_ptr<etcdserverpb::Maintenance::StubInterface> maintenance_;
  std::unique_ptr<etcdserverpb::Auth::StubInterface> auth_;
};

}  // namespace fairlock::storage::etcd

// One endpoint of etcd: its connection and its services.
#pragma once

#include <etcd.grpc.pb.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>

#include "storage/etcd/etcd_options.h"

namespace fairlock::storage::etcd {

// The time at which a call ends, including all its attempts.
class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds timeout);

  // The time left: at most `longest`, and never negative.
  std::chrono::milliseconds Remaining(std::chrono::milliseconds longest) const;
  bool is_over() const { return Remaining(std::chrono::milliseconds(1)).count() <= 0; }

 private:
  std::chrono::steady_clock::time_point end_;
};

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
  std::shared_ptr<grpc::ChannelCredentials> tls;  // null if no endpoint needs it
};

// Reads the files that the options name.
Result<Credentials> LoadCredentials(const EtcdOptions& options);

// A login that failed. The next one with the same password waits, because each costs etcd the time
// of a password hash, and clients that repeat it at once would leave etcd time for nothing else.
struct FailedLogin {
  std::chrono::milliseconds pause{0};  // 0 if the last login did not fail
  Deadline until{pause};
  std::string password;
  std::string message;
};

// Not thread-safe.
class Endpoint {
 public:
  // Does not connect yet; Connect does. `options` names the files that are read again for later
  // connections.
  Endpoint(const EtcdEndpoint& endpoint, const Credentials& credentials,
           const EtcdOptions& options);

  // Waits while the connection is being made. Returns false if it is still being made when the time
  // is over. If it was refused, the next call fails at once and says why.
  //
  // gRPC reconnects only after a back-off, and only while a thread polls, which no thread does
  // between two calls. So a failed connection is given up, and a new one is started at once.
  bool Connect(std::chrono::milliseconds time);

  // Whether the present connection is known to lead to the right cluster. Every new connection is
  // unknown at first.
  bool is_known() const { return is_known_; }
  void set_known() { is_known_ = true; }

  FailedLogin& failed_login() { return failed_login_; }

  const std::string& address() const { return address_; }
  etcdserverpb::KV::StubInterface& kv() { return *services_.kv; }
  etcdserverpb::Watch::StubInterface& watch() { return *services_.watch; }
  etcdserverpb::Lease::StubInterface& lease() { return *services_.lease; }
  etcdserverpb::Cluster::StubInterface& cluster() { return *services_.cluster; }
  etcdserverpb::Maintenance::StubInterface& maintenance() { return *services_.maintenance; }
  etcdserverpb::Auth::StubInterface& auth() { return *services_.auth; }

 private:
  void MakeChannel();
  void ReadCredentials();

  const std::string address_;
  const bool is_tls_;
  const EtcdOptions options_;
  std::shared_ptr<grpc::ChannelCredentials> credentials_;
  bool is_known_ = false;
  FailedLogin failed_login_;
  std::shared_ptr<grpc::Channel> channel_;
  struct {
    std::unique_ptr<etcdserverpb::KV::StubInterface> kv;
    std::unique_ptr<etcdserverpb::Watch::StubInterface> watch;
    std::unique_ptr<etcdserverpb::Lease::StubInterface> lease;
    std::unique_ptr<etcdserverpb::Cluster::StubInterface> cluster;
    std::unique_ptr<etcdserverpb::Maintenance::StubInterface> maintenance;
    std::unique_ptr<etcdserverpb::Auth::StubInterface> auth;
  } services_;
};

}  // namespace fairlock::storage::etcd

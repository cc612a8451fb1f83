// Makes attempts at an endpoint, including the login that they need.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "storage/etcd/endpoint.h"
#include "storage/etcd/outcome.h"

namespace fairlock::storage::etcd {

// Logs in when the first attempt needs it, and again when etcd no longer knows the token. Does not
// log in if the options name no user. Not thread-safe.
//
// A refused login or token is no reason to give up, because the password may be changing: the
// outcome is kUnavailable, and the next attempt logs in again, with the password that the file has
// then. After a login that failed, the next one with the same password waits, up to 2 s.
class Session {
 public:
  using Attempt = std::function<grpc::Status(Endpoint&, grpc::ClientContext&)>;

  struct Tried {
    Verdict verdict;
    std::string message;  // names the endpoint
  };

  explicit Session(const EtcdOptions& options);

  // Each step, such as connecting or logging in, may take up to `time`. With `needs_leader`, a
  // member without a leader refuses the request at once.
  Tried Try(Endpoint& endpoint, bool needs_leader, std::chrono::milliseconds time,
            const Attempt& attempt);

  // Prepares a stream: connects and logs in, then completes the context.
  Tried Prepare(Endpoint& endpoint, std::chrono::milliseconds time, grpc::ClientContext& context);

  // Makes the next attempt log in again.
  void ForgetToken() { is_login_needed_ = !user_.empty(); }

 private:
  Tried TryOnce(Endpoint& endpoint, bool needs_leader, std::chrono::milliseconds time,
                const Attempt& attempt);
  static Tried Connect(Endpoint& endpoint, std::chrono::milliseconds time);
  Tried Send(Endpoint& endpoint, bool needs_leader, std::chrono::milliseconds time,
             const Attempt& attempt) const;
  Tried LogIn(Endpoint& endpoint, std::chrono::milliseconds time);
  // Finds out to which cluster a new connection leads. The answer to a login says so too.
  Tried Identify(Endpoint& endpoint, std::chrono::milliseconds time);
  Tried Admit(Endpoint& endpoint, std::uint64_t cluster_id);
  void Complete(grpc::ClientContext& context, bool needs_leader) const;

  const std::shared_ptr<ClusterPin> pin_;
  const std::size_t endpoints_;  // how many there are
  const std::string user_;
  const std::string password_file_;
  std::string password_;
  std::string token_;
  bool is_login_needed_;
};

// A sentence for an operator that names the endpoint and says what happened.
std::string MessageOf(const Endpoint& endpoint, std::string_view text);

}  // namespace fairlock::storage::etcd

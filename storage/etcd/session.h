// Makes attempts at an endpoint, including the login that they need.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "storage/etcd/endpoint.h"
#include "storage/etcd/outcome.h"

namespace fairlock::storage::etcd {

// Logs in when the first attempt needs it, and again when etcd no longer knows the token. Does not
// log in if the options name no user. Not thread-safe.
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

  // For a stream: connects and logs in, then completes the context.
  Tried Prepare(Endpoint& endpoint, std::chrono::milliseconds time, grpc::ClientContext& context);

  // Makes the next attempt log in again.
  void ForgetToken() { is_login_needed_ = !user_.empty(); }

 private:
  Tried TryOnce(Endpoint& endpoint, bool needs_leader, std::chrono::milliseconds time,
                const Attempt& attempt);
  Tried LogIn(Endpoint& endpoint, std::chrono::milliseconds time);
  void Complete(grpc::ClientContext& context, bool needs_leader) const;

  const std::string user_;
  const std::string password_;
  std::string token_;
  bool is_login_needed_;
};

// A sentence for an operator that names the endpoint and says what happened.
std::string MessageOf(const Endpoint& endpoint, std::string_view text);

}  // namespace fairlock::storage::etcd

// Calls of one client: which endpoint is asked, the login, and when an attempt is repeated.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/etcd/deadline.h"
#include "storage/etcd/endpoint.h"
#include "storage/etcd/outcome.h"
#include "storage/etcd/requests.h"

namespace fairlock::storage::etcd {

// Not thread-safe: a call blocks its thread until it has ended.
class Caller {
 public:
  using Attempt = std::function<grpc::Status(Endpoint&, grpc::ClientContext&)>;

  // What is repeated at the next endpoint when it is unknown whether an attempt was executed.
  enum class Kind : std::uint8_t { kRead, kWrite };

  Caller(const EtcdOptions& options, const Credentials& credentials);

  // Asks the current endpoint and, while an attempt certainly had no effect, the next ones: each at
  // most once.
  Answer Call(Kind kind, std::chrono::milliseconds timeout, const Attempt& attempt);

  // Asks one endpoint only, whether or not it knows a leader.
  Answer CallOne(std::size_t endpoint, std::chrono::milliseconds timeout, const Attempt& attempt);

  void Rotate();
  void set_attempt_timeout(std::chrono::milliseconds time) { attempt_timeout_ = time; }
  const Endpoint& current() const { return *endpoints_[current_]; }

 private:
  struct Tried {
    Verdict verdict;
    std::string message;
  };

  Tried Try(Endpoint& endpoint, bool needs_leader, const Deadline& deadline,
            const Attempt& attempt);
  Tried TryLoggedIn(Endpoint& endpoint, bool needs_leader, const Deadline& deadline,
                    const Attempt& attempt);
  Tried LogIn(Endpoint& endpoint, const Deadline& deadline);

  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::size_t current_ = 0;
  std::chrono::milliseconds attempt_timeout_;
  const std::string user_;
  const std::string password_;
  std::string token_;
  bool is_login_needed_;
};

}  // namespace fairlock::storage::etcd

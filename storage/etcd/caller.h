// Makes the calls of one client: decides which endpoint is asked, and when an attempt is repeated
// at the next endpoint.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "storage/etcd/endpoint.h"
#include "storage/etcd/requests.h"
#include "storage/etcd/session.h"

namespace fairlock::storage::etcd {

// Not thread-safe: a call blocks its thread until it has ended.
class Caller {
 public:
  using Attempt = Session::Attempt;

  // A read is repeated at the next endpoint when it was not answered, a write only if it certainly
  // had no effect.
  enum class Kind : std::uint8_t { kRead, kWrite };

  Caller(const EtcdOptions& options, const Credentials& credentials);

  // Asks the current endpoint and, as long as an attempt may be repeated, the next ones. Asks each
  // endpoint at most once.
  Answer Call(Kind kind, std::chrono::milliseconds timeout, const Attempt& attempt);

  // Reads from one endpoint only, whether or not that endpoint knows a leader.
  Answer CallOne(std::size_t endpoint, std::chrono::milliseconds timeout, const Attempt& attempt);

  void Rotate() { current_ = (current_ + 1) % endpoints_.size(); }
  void set_attempt_timeout(std::chrono::milliseconds time) { attempt_timeout_ = time; }

 private:
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::size_t current_ = 0;
  std::chrono::milliseconds attempt_timeout_;
  Session session_;
};

}  // namespace fairlock::storage::etcd

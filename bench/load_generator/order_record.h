// Records which requests were certainly sent before which, and whether grants kept that order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace fairlock::bench {

// Requests are numbered in the order in which they are sent. REQUIRES: calls are made in the order
// of the events.
class OrderRecord {
 public:
  // Records that a request was sent, and returns its number.
  std::size_t AddRequest();
  // Records that the request was seen in the queue, or granted.
  void AddSighting(std::size_t request);
  void AddGrant(std::size_t request, std::int64_t token);

  std::size_t seen() const { return seen_.size(); }
  // The number of granted requests whose token is lower than that of a request that was seen before
  // they were sent. A request that was seen but never granted does not count.
  std::uint64_t CountInversions() const;

 private:
  struct Request {
    std::size_t seen_before;  // number of requests seen when it was sent
    std::optional<std::int64_t> token;
  };

  std::vector<Request> requests_;
  std::vector<std::size_t> seen_;
};

}  // namespace fairlock::bench

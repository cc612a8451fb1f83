// Who asked certainly before whom, and whether that order was kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace fairlock::bench {

// Requests are numbered as they are sent. REQUIRES: calls come in the order in which things
// happened.
class OrderRecord {
 public:
  // A request was sent; gives its number.
  std::size_t NoteAsked();
  // It was in line, or had been granted, when this was learnt.
  void NoteSeen(std::size_t request);
  void NoteGranted(std::size_t request, std::int64_t token);

  std::size_t seen() const { return seen_.size(); }
  // How many granted requests have a lower token than one that was seen before they were sent. A
  // request that was seen and never granted does not count.
  std::uint64_t CountInversions() const;

 private:
  struct Request {
    std::size_t seen_before;  // how many had been seen when it was sent
    std::optional<std::int64_t> token;
  };

  std::vector<Request> requests_;
  std::vector<std::size_t> seen_;
};

}  // namespace fairlock::bench

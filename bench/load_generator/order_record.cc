#include "bench/load_generator/order_record.h"

#include <algorithm>

namespace fairlock::bench {

std::size_t OrderRecord::AddRequest() {
  requests_.push_back({seen_.size(), std::nullopt});
  return requests_.size() - 1;
}

void OrderRecord::AddSighting(std::size_t request) { seen_.push_back(request); }

void OrderRecord::AddGrant(std::size_t request, std::int64_t token) {
  requests_[request].token = token;
}

std::uint64_t OrderRecord::CountInversions() const {
  std::vector<std::int64_t> newest_of_first(seen_.size() + 1, 0);
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    newest_of_first[i + 1] = std::max(newest_of_first[i], requests_[seen_[i]].token.value_or(0));
  }
  std::uint64_t inversions = 0;
  for (const Request& request : requests_) {
    if (request.token && *request.token < newest_of_first[request.seen_before]) ++inversions;
  }
  return inversions;
}

}  // namespace fairlock::bench

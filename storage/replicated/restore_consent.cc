#include "storage/replicated/restore_consent.h"

#include <charconv>

namespace fairlock::storage::replicated {

etcd::Answer RestoreConsent::Exchange(std::uint64_t highest_epoch) {
  if (is_asked_) {
    etcd::Txn txn;
    txn.then.push_back(etcd::Put{.key = keys_.accepted, .value = std::to_string(highest_epoch)});
    const etcd::TxnAnswer written = client_.Transact(txn, timeout_);
    if (written.outcome != etcd::Outcome::kDone) return written;
    is_asked_ = false;
  }
  const etcd::RangeAnswer answer =
      client_.Range({.key = keys_.accepted, .range_end = {}}, timeout_);
  if (answer.outcome != etcd::Outcome::kDone) return answer;
  accepted_epoch_ = 0;
  if (!answer.found.empty()) {
    const std::string& value = answer.found.front().value;
    std::from_chars(value.data(), value.data() + value.size(), accepted_epoch_);
  }
  return answer;
}

}  // namespace fairlock::storage::replicated

#include "storage/replicated/restore_consent.h"

#include <algorithm>
#include <charconv>

namespace fairlock::storage::replicated {

etcd::Answer RestoreConsent::Exchange(std::uint64_t highest_epoch) {
  const etcd::Answer answer = Read(keys_.restored, restored_epoch_, restored_revision_);
  if (answer.outcome != etcd::Outcome::kDone) return answer;
  if (is_asked_) {
    const std::uint64_t accepted = std::max(highest_epoch, restored_epoch_);
    etcd::Txn txn;
    txn.then.push_back(etcd::Put{.key = keys_.accepted, .value = std::to_string(accepted)});
    const etcd::TxnAnswer written = client_.Transact(txn, timeout_);
    if (written.outcome != etcd::Outcome::kDone) return written;
    is_asked_ = false;
  }
  std::int64_t ignored = 0;
  return Read(keys_.accepted, accepted_epoch_, ignored);
}

etcd::Answer RestoreConsent::Mark(std::uint64_t highest_epoch) {
  if (restored_epoch_ >= highest_epoch) return {.outcome = etcd::Outcome::kDone};
  etcd::Txn txn;
  txn.compares.push_back(IsUnchanged());
  txn.then.push_back(etcd::Put{.key = keys_.restored, .value = std::to_string(highest_epoch)});
  etcd::Answer answer = client_.Transact(txn, timeout_);
  // Another node has marked it at the same time. The next call decides again.
  if (answer.outcome == etcd::Outcome::kRefused) answer.outcome = etcd::Outcome::kDone;
  return answer;
}

etcd::Answer RestoreConsent::Read(const std::string& key, std::uint64_t& epoch,
                                  std::int64_t& revision) {
  const etcd::RangeAnswer answer = client_.Range({.key = key, .range_end = {}}, timeout_);
  if (answer.outcome != etcd::Outcome::kDone) return answer;
  epoch = 0;
  revision = 0;
  if (!answer.found.empty()) {
    const std::string& value = answer.found.front().value;
    std::from_chars(value.data(), value.data() + value.size(), epoch);
    revision = answer.found.front().mod_revision;
  }
  return answer;
}

}  // namespace fairlock::storage::replicated

#include "tests/simulation/fleet/etcd_model.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fairlock::fleet {

namespace {

bool IsInRange(const std::string& key, const std::string& first, const std::string& end) {
  return end.empty() ? key == first : key >= first && key < end;
}

}  // namespace

const EtcdModel::Version* EtcdModel::Find(const std::string& key, std::int64_t revision) const {
  const auto found = store_.keys.find(key);
  if (found == store_.keys.end()) return nullptr;
  const Versions& versions = found->second;
  const auto after = std::ranges::upper_bound(versions, revision, {}, &Version::revision);
  if (after == versions.begin() || std::prev(after)->create_revision == 0) return nullptr;
  return &*std::prev(after);
}

bool EtcdModel::Holds(const etcd::Compare& compare) const {
  const Version* const version = Find(compare.key, store_.revision);
  switch (compare.target) {
    case etcd::Compare::Target::kModRevision:
      return (version == nullptr ? 0 : version->revision) == compare.revision;
    case etcd::Compare::Target::kCreateRevision:
      return (version == nullptr ? 0 : version->create_revision) == compare.revision;
    case etcd::Compare::Target::kValue:
      // As in etcd, a comparison with the value of a missing key fails.
      return version != nullptr && version->value == compare.value;
  }
  return false;
}

etcd::TxnAnswer EtcdModel::Transact(const etcd::Txn& txn) {
  etcd::TxnAnswer answer;
  const bool holds =
      std::ranges::all_of(txn.compares, [this](const auto& compare) { return Holds(compare); });
  answer.outcome = holds ? etcd::Outcome::kDone : etcd::Outcome::kRefused;
  bool has_changed = false;
  const auto& operations = holds ? txn.then : txn.otherwise;
  if (std::ranges::any_of(operations, [this](const auto& one) { return LacksLease(one); })) {
    answer.outcome = etcd::Outcome::kNoLease;
    answer.message = "the lease does not exist";
    return answer;
  }
  for (const etcd::Operation& operation : operations) {
    has_changed |= Execute(operation, store_.revision + 1, answer);
  }
  if (has_changed) ++store_.revision;
  answer.revision = store_.revision;
  return answer;
}

bool EtcdModel::LacksLease(const etcd::Operation& operation) const {
  const auto* const put = std::get_if<etcd::Put>(&operation);
  return put != nullptr && put->lease != 0 && !store_.leases.contains(put->lease);
}

void EtcdModel::Add(etcd::WatchEvent change) {
  if (hear_) hear_(change);
  store_.changes.push_back(std::move(change));
}

bool EtcdModel::Execute(const etcd::Operation& operation, std::int64_t revision,
                        etcd::TxnAnswer& answer) {
  if (const auto* put = std::get_if<etcd::Put>(&operation)) {
    Versions& versions = store_.keys[put->key];
    const bool exists = !versions.empty() && versions.back().create_revision != 0;
    const std::int64_t created = exists ? versions.back().create_revision : revision;
    versions.push_back({revision, created, put->value, put->lease});
    Add({.kind = etcd::WatchEvent::Kind::kPut,
         .kv = {.key = put->key,
                .value = put->value,
                .create_revision = created,
                .mod_revision = revision,
                .lease = put->lease}});
    return true;
  }
  if (const auto* range = std::get_if<etcd::DeleteRange>(&operation)) {
    return Delete(*range, revision);
  }
  etcd::RangeAnswer found;
  Collect(std::get<etcd::Get>(operation), store_.revision, found);
  std::ranges::move(found.found, std::back_inserter(answer.found));
  return false;
}

bool EtcdModel::Delete(const etcd::DeleteRange& range, std::int64_t revision) {
  bool has_deleted = false;
  for (auto at = store_.keys.lower_bound(range.key);
       at != store_.keys.end() && IsInRange(at->first, range.key, range.range_end); ++at) {
    if (at->second.back().create_revision == 0) continue;
    at->second.push_back({revision, 0});
    Add({.kind = etcd::WatchEvent::Kind::kDelete,
         .kv = {.key = at->first, .mod_revision = revision}});
    has_deleted = true;
  }
  return has_deleted;
}

void EtcdModel::Collect(const etcd::Get& get, std::int64_t revision,
                        etcd::RangeAnswer& answer) const {
  for (auto at = store_.keys.lower_bound(get.key);
       at != store_.keys.end() && IsInRange(at->first, get.key, get.range_end); ++at) {
    const Version* const version = Find(at->first, revision);
    if (version == nullptr) continue;
    ++answer.count;
    if (get.limit != 0 && answer.count > get.limit) {
      answer.more = true;
      continue;
    }
    answer.found.push_back({.key = at->first,
                            .value = get.keys_only ? "" : version->value,
                            .create_revision = version->create_revision,
                            .mod_revision = version->revision,
                            .lease = version->lease});
  }
}

etcd::RangeAnswer EtcdModel::Range(const etcd::Get& get) const {
  etcd::RangeAnswer answer;
  answer.revision = store_.revision;
  const std::int64_t revision = get.revision == 0 ? store_.revision : get.revision;
  if (revision < store_.compacted) {
    answer.outcome = etcd::Outcome::kCompacted;
    answer.message = "the revision has been compacted";
  } else if (revision > store_.revision) {
    answer.outcome = etcd::Outcome::kFailed;
    answer.message = "the revision is a future one";
  } else {
    answer.outcome = etcd::Outcome::kDone;
    Collect(get, revision, answer);
  }
  return answer;
}

std::vector<etcd::WatchEvent> EtcdModel::Changes(const etcd::Get& target,
                                                 std::int64_t revision) const {
  std::vector<etcd::WatchEvent> changes;
  auto at = store_.changes.end();
  while (at != store_.changes.begin() && std::prev(at)->kv.mod_revision >= revision) --at;
  for (; at != store_.changes.end(); ++at) {
    if (IsInRange(at->kv.key, target.key, target.range_end)) changes.push_back(*at);
  }
  return changes;
}

etcd::Answer EtcdModel::Compact(std::int64_t revision) {
  etcd::Answer answer;
  answer.revision = store_.revision;
  answer.outcome = etcd::Outcome::kDone;
  if (revision > store_.revision) {
    answer.outcome = etcd::Outcome::kFailed;
  } else if (revision <= store_.compacted) {
    answer.outcome = etcd::Outcome::kCompacted;
  } else {
    store_.compacted = revision;
    std::erase_if(store_.changes, [revision](const etcd::WatchEvent& change) {
      return change.kv.mod_revision < revision;
    });
    for (auto at = store_.keys.begin(); at != store_.keys.end();) {
      Versions& versions = at->second;
      auto first = std::ranges::upper_bound(versions, revision, {}, &Version::revision);
      if (first != versions.begin()) --first;
      if (first->create_revision == 0 && first->revision <= revision) ++first;
      versions.erase(versions.begin(), first);
      at = versions.empty() ? store_.keys.erase(at) : std::next(at);
    }
  }
  return answer;
}

etcd::LeaseAnswer EtcdModel::GrantLease(TimeUs ttl) {
  etcd::LeaseAnswer answer;
  answer.outcome = etcd::Outcome::kDone;
  answer.revision = store_.revision;
  answer.id = ++leases_granted_;
  answer.ttl_s = ttl / kSecond;
  store_.leases[answer.id] = {.ttl = ttl, .until = Time().now() + ttl};
  return answer;
}

etcd::LeaseAnswer EtcdModel::KeepLeaseAlive(std::int64_t id) {
  etcd::LeaseAnswer answer;
  answer.revision = store_.revision;
  const auto lease = store_.leases.find(id);
  if (lease == store_.leases.end() || lease->second.until <= Time().now()) {
    answer.outcome = etcd::Outcome::kNoLease;
    answer.message = "the lease does not exist";
    return answer;
  }
  lease->second.until = std::max(lease->second.until, Time().now() + lease->second.ttl);
  answer.outcome = etcd::Outcome::kDone;
  answer.id = id;
  answer.ttl_s = lease->second.ttl / kSecond;
  return answer;
}

etcd::Answer EtcdModel::RevokeLease(std::int64_t id) {
  etcd::Answer answer;
  answer.outcome = store_.leases.erase(id) != 0 ? etcd::Outcome::kDone : etcd::Outcome::kNoLease;
  bool has_deleted = false;
  const std::int64_t revision = store_.revision + 1;
  for (auto& [key, versions] : store_.keys) {
    if (versions.back().create_revision == 0 || versions.back().lease != id) continue;
    has_deleted |= Delete({.key = key}, revision);
  }
  if (has_deleted) store_.revision = revision;
  answer.revision = store_.revision;
  return answer;
}

void EtcdModel::ExtendLeases(TimeUs from) {
  for (auto& [id, lease] : store_.leases) lease.until = std::max(lease.until, from + lease.ttl);
}

std::vector<std::int64_t> EtcdModel::ExpiredLeases() const {
  std::vector<std::int64_t> expired;
  for (const auto& [id, lease] : store_.leases) {
    if (lease.until <= Time().now()) expired.push_back(id);
  }
  return expired;
}

void EtcdModel::Restore() {
  store_ = backup_;
  ExtendLeases(Time().now());
}

}  // namespace fairlock::fleet

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
  for (const etcd::Operation& operation : holds ? txn.then : txn.otherwise) {
    has_changed |= Execute(operation, store_.revision + 1, answer);
  }
  if (has_changed) ++store_.revision;
  answer.revision = store_.revision;
  return answer;
}

bool EtcdModel::Execute(const etcd::Operation& operation, std::int64_t revision,
                        etcd::TxnAnswer& answer) {
  if (const auto* put = std::get_if<etcd::Put>(&operation)) {
    Versions& versions = store_.keys[put->key];
    const bool exists = !versions.empty() && versions.back().create_revision != 0;
    const std::int64_t created = exists ? versions.back().create_revision : revision;
    versions.push_back({revision, created, put->value});
    store_.changes.push_back({.kind = etcd::WatchEvent::Kind::kPut,
                              .kv = {.key = put->key,
                                     .value = put->value,
                                     .create_revision = created,
                                     .mod_revision = revision}});
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
    store_.changes.push_back({.kind = etcd::WatchEvent::Kind::kDelete,
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
                            .mod_revision = version->revision});
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

}  // namespace fairlock::fleet

#include "tests/unit/storage/etcd/fake_store.h"

#include <algorithm>

namespace fairlock::storage::etcd {
namespace {

using etcdserverpb::Event;

bool IsInRange(const std::string& key, const std::string& begin, const std::string& end) {
  if (end.empty()) return key == begin;
  return key >= begin && (end == std::string(1, '\0') || key < end);
}

grpc::Status Compacted() {
  return {grpc::StatusCode::OUT_OF_RANGE, "etcdserver: mvcc: required revision has been compacted"};
}

grpc::Status InTheFuture() {
  return {grpc::StatusCode::OUT_OF_RANGE,
          "etcdserver: mvcc: required revision is a future revision"};
}

bool Writes(const etcdserverpb::RequestOp& operation) { return !operation.has_request_range(); }

}  // namespace

FakeStore::State FakeStore::StateAt(std::int64_t revision) const {
  if (revision == 0 || revision == revision_) return state_;
  State state;
  for (const Event& event : history_) {
    if (event.kv().mod_revision() > revision) break;
    if (event.type() == Event::DELETE) {
      state.erase(event.kv().key());
    } else {
      state[event.kv().key()] = event.kv();
    }
  }
  return state;
}

grpc::Status FakeStore::Range(const etcdserverpb::RangeRequest& request,
                              etcdserverpb::RangeResponse* response) const {
  if (request.revision() > revision_) return InTheFuture();
  if (request.revision() != 0 && request.revision() < compacted_) return Compacted();
  for (const auto& [key, kv] : StateAt(request.revision())) {
    if (!IsInRange(key, request.key(), request.range_end())) continue;
    response->set_count(response->count() + 1);
    if (request.limit() > 0 && response->kvs_size() == request.limit()) {
      response->set_more(true);
      continue;
    }
    auto* const found = response->add_kvs();
    *found = kv;
    if (request.keys_only()) found->clear_value();
  }
  response->mutable_header()->set_revision(revision_);
  return grpc::Status::OK;
}

bool FakeStore::Holds(const etcdserverpb::Compare& compare) const {
  const etcdserverpb::KeyValue kv = Find(compare.key()).value_or(etcdserverpb::KeyValue());
  if (compare.target() == etcdserverpb::Compare::MOD) {
    return kv.mod_revision() == compare.mod_revision();
  }
  if (compare.target() == etcdserverpb::Compare::CREATE) {
    return kv.create_revision() == compare.create_revision();
  }
  return kv.create_revision() != 0 && kv.value() == compare.value();
}

grpc::Status FakeStore::Txn(const etcdserverpb::TxnRequest& request,
                            etcdserverpb::TxnResponse* response) {
  const bool holds = std::ranges::all_of(
      request.compare(), [this](const etcdserverpb::Compare& each) { return Holds(each); });
  const auto& branch = holds ? request.success() : request.failure();
  const bool writes = std::ranges::any_of(branch, Writes);
  const std::int64_t revision = writes ? revision_ + 1 : revision_;
  response->set_succeeded(holds);
  for (const auto& operation : branch) {
    auto* const done = response->add_responses();
    if (operation.has_request_put()) {
      Put(operation.request_put(), revision);
      done->mutable_response_put();
    } else if (operation.has_request_delete_range()) {
      DeleteRange(operation.request_delete_range(), revision,
                  done->mutable_response_delete_range());
    } else {
      const auto status = Range(operation.request_range(), done->mutable_response_range());
      if (!status.ok()) return status;
    }
  }
  revision_ = revision;
  response->mutable_header()->set_revision(revision_);
  return grpc::Status::OK;
}

void FakeStore::Put(const etcdserverpb::PutRequest& request, std::int64_t revision) {
  etcdserverpb::KeyValue& kv = state_[request.key()];
  if (kv.create_revision() == 0) kv.set_create_revision(revision);
  kv.set_key(request.key());
  kv.set_value(request.value());
  kv.set_lease(request.lease());
  kv.set_mod_revision(revision);
  kv.set_version(kv.version() + 1);
  Event& event = history_.emplace_back();
  event.set_type(Event::PUT);
  *event.mutable_kv() = kv;
}

void FakeStore::DeleteRange(const etcdserverpb::DeleteRangeRequest& request, std::int64_t revision,
                            etcdserverpb::DeleteRangeResponse* response) {
  for (auto each = state_.begin(); each != state_.end();) {
    if (!IsInRange(each->first, request.key(), request.range_end())) {
      ++each;
      continue;
    }
    Event& event = history_.emplace_back();
    event.set_type(Event::DELETE);
    event.mutable_kv()->set_key(each->first);
    event.mutable_kv()->set_mod_revision(revision);
    response->set_deleted(response->deleted() + 1);
    each = state_.erase(each);
  }
}

grpc::Status FakeStore::Compact(std::int64_t revision) {
  if (revision <= compacted_) return Compacted();
  if (revision > revision_) return InTheFuture();
  compacted_ = revision;
  return grpc::Status::OK;
}

std::vector<Event> FakeStore::EventsOf(const etcdserverpb::WatchCreateRequest& range,
                                       std::int64_t since) const {
  std::vector<Event> events;
  for (const Event& event : history_) {
    if (event.kv().mod_revision() < since) continue;
    if (IsInRange(event.kv().key(), range.key(), range.range_end())) events.push_back(event);
  }
  return events;
}

std::optional<etcdserverpb::KeyValue> FakeStore::Find(const std::string& key) const {
  const auto found = state_.find(key);
  if (found == state_.end()) return std::nullopt;
  return found->second;
}

}  // namespace fairlock::storage::etcd

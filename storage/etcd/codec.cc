#include "storage/etcd/codec.h"

#include <utility>

namespace fairlock::storage::etcd {
namespace {

void EncodeCompare(const Compare& compare, etcdserverpb::Compare& message) {
  using Target = Compare::Target;
  message.set_result(etcdserverpb::Compare::EQUAL);
  message.set_key(compare.key);
  if (compare.target == Target::kValue) {
    message.set_target(etcdserverpb::Compare::VALUE);
    message.set_value(compare.value);
  } else if (compare.target == Target::kModRevision) {
    message.set_target(etcdserverpb::Compare::MOD);
    message.set_mod_revision(compare.revision);
  } else {
    message.set_target(etcdserverpb::Compare::CREATE);
    message.set_create_revision(compare.revision);
  }
}

void EncodeOperation(const Put& put, etcdserverpb::RequestOp& message) {
  auto& request = *message.mutable_request_put();
  request.set_key(put.key);
  request.set_value(put.value);
  request.set_lease(put.lease);
}

void EncodeOperation(const DeleteRange& range, etcdserverpb::RequestOp& message) {
  auto& request = *message.mutable_request_delete_range();
  request.set_key(range.key);
  request.set_range_end(range.range_end);
}

void EncodeOperation(const Get& get, etcdserverpb::RequestOp& message) {
  *message.mutable_request_range() = Encode(get);
}

Alarm::Kind KindOf(etcdserverpb::AlarmType type) {
  if (type == etcdserverpb::NOSPACE) return Alarm::Kind::kNoSpace;
  if (type == etcdserverpb::CORRUPT) return Alarm::Kind::kCorrupt;
  return Alarm::Kind::kOther;
}

void TakeAll(etcdserverpb::RangeResponse& response, std::vector<KeyValue>& found) {
  for (auto& kv : *response.mutable_kvs()) found.push_back(Decode(std::move(kv)));
}

}  // namespace

etcdserverpb::RangeRequest Encode(const Get& get) {
  etcdserverpb::RangeRequest message;
  message.set_key(get.key);
  message.set_range_end(get.range_end);
  message.set_limit(get.limit);
  message.set_revision(get.revision);
  message.set_keys_only(get.keys_only);
  message.set_serializable(get.serializable);
  return message;
}

etcdserverpb::TxnRequest Encode(const Txn& txn) {
  etcdserverpb::TxnRequest message;
  for (const Compare& each : txn.compares) EncodeCompare(each, *message.add_compare());
  const auto encode = [](const std::vector<Operation>& operations, auto* branch) {
    for (const Operation& each : operations) {
      std::visit([&](const auto& one) { EncodeOperation(one, *branch->Add()); }, each);
    }
  };
  encode(txn.then, message.mutable_success());
  encode(txn.otherwise, message.mutable_failure());
  return message;
}

void DecodeHeader(const etcdserverpb::ResponseHeader& header, Answer& answer) {
  answer.cluster_id = header.cluster_id();
  answer.member_id = header.member_id();
  answer.revision = header.revision();
}

KeyValue Decode(etcdserverpb::KeyValue&& kv) {
  return {.key = std::move(*kv.mutable_key()),
          .value = std::move(*kv.mutable_value()),
          .create_revision = kv.create_revision(),
          .mod_revision = kv.mod_revision(),
          .lease = kv.lease()};
}

void Decode(etcdserverpb::RangeResponse&& response, RangeAnswer& answer) {
  DecodeHeader(response.header(), answer);
  answer.found.reserve(static_cast<std::size_t>(response.kvs_size()));
  TakeAll(response, answer.found);
  answer.more = response.more();
  answer.count = response.count();
}

void Decode(etcdserverpb::TxnResponse&& response, TxnAnswer& answer) {
  DecodeHeader(response.header(), answer);
  if (!response.succeeded()) answer.outcome = Outcome::kRefused;
  for (auto& each : *response.mutable_responses()) {
    if (each.has_response_range()) TakeAll(*each.mutable_response_range(), answer.found);
  }
}

void Decode(etcdserverpb::StatusResponse&& response, StatusAnswer& answer) {
  DecodeHeader(response.header(), answer);
  answer.version = std::move(*response.mutable_version());
  answer.size_bytes = response.dbsize();
  answer.size_in_use_bytes = response.dbsizeinuse();
  answer.leader = response.leader();
  answer.raft_term = response.raftterm();
  answer.is_learner = response.islearner();
}

void Decode(etcdserverpb::MemberListResponse&& response, MembersAnswer& answer) {
  DecodeHeader(response.header(), answer);
  for (auto& each : *response.mutable_members()) {
    answer.members.push_back({.id = each.id(),
                              .name = std::move(*each.mutable_name()),
                              .client_urls = {each.clienturls().begin(), each.clienturls().end()},
                              .is_learner = each.islearner()});
  }
}

void Decode(const etcdserverpb::AlarmResponse& response, AlarmsAnswer& answer) {
  DecodeHeader(response.header(), answer);
  for (const auto& each : response.alarms()) {
    answer.alarms.push_back({.member_id = each.memberid(), .kind = KindOf(each.alarm())});
  }
}

}  // namespace fairlock::storage::etcd

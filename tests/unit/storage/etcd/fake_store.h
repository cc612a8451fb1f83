// The keys of a fake etcd, in memory: revisions, guarded transactions, history and compaction.
#pragma once

#include <etcd.pb.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fairlock::storage::etcd {

// Behaves like etcd, as far as the messages in etcd.proto go. Not thread-safe.
class FakeStore {
 public:
  grpc::Status Range(const etcdserverpb::RangeRequest& request,
                     etcdserverpb::RangeResponse* response) const;
  grpc::Status Txn(const etcdserverpb::TxnRequest& request, etcdserverpb::TxnResponse* response);
  grpc::Status Compact(std::int64_t revision);

  // Returns all events on a range of keys since a revision, oldest first.
  std::vector<etcdserverpb::Event> EventsOf(const etcdserverpb::WatchCreateRequest& range,
                                            std::int64_t since) const;

  std::optional<etcdserverpb::KeyValue> Find(const std::string& key) const;
  std::int64_t revision() const { return revision_; }
  std::int64_t compacted() const { return compacted_; }

 private:
  using State = std::map<std::string, etcdserverpb::KeyValue>;

  State StateAt(std::int64_t revision) const;
  bool Holds(const etcdserverpb::Compare& compare) const;
  void Put(const etcdserverpb::PutRequest& request, std::int64_t revision);
  void DeleteRange(const etcdserverpb::DeleteRangeRequest& request, std::int64_t revision,
                   etcdserverpb::DeleteRangeResponse* response);

  State state_;
  std::vector<etcdserverpb::Event> history_;  // never discarded, so that compaction can be refused
  std::int64_t revision_ = 1;
  std::int64_t compacted_ = 0;
};

}  // namespace fairlock::storage::etcd

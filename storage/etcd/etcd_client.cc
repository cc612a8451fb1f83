#include "storage/etcd/etcd_client.h"

#include <utility>

#include "storage/etcd/caller.h"
#include "storage/etcd/codec.h"

namespace fairlock::storage::etcd {
namespace {

using Kind = Caller::Kind;

using Kv = etcdserverpb::KV::StubInterface;
using Lease = etcdserverpb::Lease::StubInterface;
using Maintenance = etcdserverpb::Maintenance::StubInterface;
using Cluster = etcdserverpb::Cluster::StubInterface;

// An attempt that calls `method` of the endpoint's `service`.
template <typename Service, typename Request, typename Response>
Caller::Attempt Unary(Service& (Endpoint::*service)(),
                      grpc::Status (Service::*method)(grpc::ClientContext*, const Request&,
                                                      Response*),
                      const Request& request, Response& response) {
  return [=, &request, &response](Endpoint& endpoint, grpc::ClientContext& context) {
    return ((endpoint.*service)().*method)(&context, request, &response);
  };
}

// Sends one request to renew a lease, and ends the stream after its answer.
grpc::Status KeepAlive(Endpoint& endpoint, grpc::ClientContext& context,
                       const etcdserverpb::LeaseKeepAliveRequest& request,
                       etcdserverpb::LeaseKeepAliveResponse& response) {
  const auto stream = endpoint.lease().LeaseKeepAlive(&context);
  if (!stream->Write(request) || !stream->Read(&response)) return stream->Finish();
  context.TryCancel();
  stream->Finish();
  return grpc::Status::OK;
}

}  // namespace

struct EtcdClient::Connections {
  Connections(const EtcdOptions& options, const Credentials& credentials)
      : caller(options, credentials) {}

  GrpcRuntime runtime;
  Caller caller;
};

EtcdClient::EtcdClient(std::unique_ptr<Connections> connections)
    : connections_(std::move(connections)) {}

EtcdClient::~EtcdClient() = default;

Result<std::unique_ptr<EtcdClient>> EtcdClient::Open(const EtcdOptions& options) {
  if (Status status = CheckOptions(options); !status.ok()) return status;
  const GrpcRuntime runtime;
  auto credentials = LoadCredentials(options);
  if (!credentials.ok()) return credentials.status();
  return std::unique_ptr<EtcdClient>(
      new EtcdClient(std::make_unique<Connections>(options, credentials.value())));
}

Caller& EtcdClient::caller() { return connections_->caller; }

TxnAnswer EtcdClient::Transact(const Txn& txn, Timeout timeout) {
  const auto request = Encode(txn);
  etcdserverpb::TxnResponse response;
  TxnAnswer answer{
      caller().Call(Kind::kWrite, timeout, Unary(&Endpoint::kv, &Kv::Txn, request, response))};
  if (answer.outcome == Outcome::kDone) Decode(std::move(response), answer);
  return answer;
}

RangeAnswer EtcdClient::Range(const Get& get, Timeout timeout) {
  const auto request = Encode(get);
  etcdserverpb::RangeResponse response;
  RangeAnswer answer{
      caller().Call(Kind::kRead, timeout, Unary(&Endpoint::kv, &Kv::Range, request, response))};
  Decode(std::move(response), answer);
  return answer;
}

Answer EtcdClient::Compact(std::int64_t revision, Timeout timeout) {
  etcdserverpb::CompactionRequest request;
  request.set_revision(revision);
  etcdserverpb::CompactionResponse response;
  Answer answer =
      caller().Call(Kind::kWrite, timeout, Unary(&Endpoint::kv, &Kv::Compact, request, response));
  DecodeHeader(response.header(), answer);
  return answer;
}

LeaseAnswer EtcdClient::GrantLease(std::chrono::seconds ttl, Timeout timeout) {
  etcdserverpb::LeaseGrantRequest request;
  request.set_ttl(ttl.count());
  etcdserverpb::LeaseGrantResponse response;
  LeaseAnswer answer{caller().Call(Kind::kWrite, timeout,
                                   Unary(&Endpoint::lease, &Lease::LeaseGrant, request, response))};
  DecodeHeader(response.header(), answer);
  answer.id = response.id();
  answer.ttl_s = response.ttl();
  return answer;
}

LeaseAnswer EtcdClient::KeepLeaseAlive(std::int64_t id, Timeout timeout) {
  etcdserverpb::LeaseKeepAliveRequest request;
  request.set_id(id);
  etcdserverpb::LeaseKeepAliveResponse response;
  const auto attempt = [&](Endpoint& endpoint, grpc::ClientContext& context) {
    return KeepAlive(endpoint, context, request, response);
  };
  LeaseAnswer answer{caller().Call(Kind::kRead, timeout, attempt)};
  DecodeHeader(response.header(), answer);
  answer.id = id;
  answer.ttl_s = response.ttl();
  if (answer.outcome == Outcome::kDone && answer.ttl_s <= 0) {
    answer.outcome = Outcome::kNoLease;
    answer.message = "etcd has no lease with this id";
  }
  return answer;
}

Answer EtcdClient::RevokeLease(std::int64_t id, Timeout timeout) {
  etcdserverpb::LeaseRevokeRequest request;
  request.set_id(id);
  etcdserverpb::LeaseRevokeResponse response;
  Answer answer = caller().Call(Kind::kWrite, timeout,
                                Unary(&Endpoint::lease, &Lease::LeaseRevoke, request, response));
  DecodeHeader(response.header(), answer);
  return answer;
}

StatusAnswer EtcdClient::StatusOf(std::size_t endpoint, Timeout timeout) {
  const etcdserverpb::StatusRequest request;
  etcdserverpb::StatusResponse response;
  StatusAnswer answer{caller().CallOne(
      endpoint, timeout, Unary(&Endpoint::maintenance, &Maintenance::Status, request, response))};
  Decode(std::move(response), answer);
  return answer;
}

MembersAnswer EtcdClient::Members(Timeout timeout) {
  const etcdserverpb::MemberListRequest request;
  etcdserverpb::MemberListResponse response;
  MembersAnswer answer{caller().Call(
      Kind::kRead, timeout, Unary(&Endpoint::cluster, &Cluster::MemberList, request, response))};
  Decode(std::move(response), answer);
  return answer;
}

AlarmsAnswer EtcdClient::Alarms(Timeout timeout) {
  etcdserverpb::AlarmRequest request;
  request.set_action(etcdserverpb::AlarmRequest::GET);
  etcdserverpb::AlarmResponse response;
  AlarmsAnswer answer{caller().Call(
      Kind::kRead, timeout, Unary(&Endpoint::maintenance, &Maintenance::Alarm, request, response))};
  Decode(response, answer);
  return answer;
}

void EtcdClient::Rotate() { caller().Rotate(); }

void EtcdClient::set_attempt_timeout(Timeout time) { caller().set_attempt_timeout(time); }

}  // namespace fairlock::storage::etcd

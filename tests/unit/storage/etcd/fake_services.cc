#include "tests/unit/storage/etcd/fake_services.h"

#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include "tests/unit/storage/etcd/drop_connection.h"

namespace fairlock::storage::etcd {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStep{2};
constexpr std::uint64_t kClusterId = 4711;

void AwaitCancellation(grpc::ServerContext* context) {
  while (!context->IsCancelled()) std::this_thread::sleep_for(kStep);
}

using WatchServerStream =
    grpc::ServerReaderWriter<etcdserverpb::WatchResponse, etcdserverpb::WatchRequest>;
using KeepAliveStream = grpc::ServerReaderWriter<etcdserverpb::LeaseKeepAliveResponse,
                                                 etcdserverpb::LeaseKeepAliveRequest>;

grpc::Status NotExecuted() { return {grpc::StatusCode::ABORTED, "not executed"}; }

// Serves a request with its fault. `execute` executes it and fills the response; it may run twice.
template <typename Response, typename Execute>
grpc::Status Serve(FakeState& state, FakeState::Faults& faults, grpc::ServerContext* context,
                   Response* response, Execute execute) {
  const auto run = [&](Response* into) {
    const std::lock_guard lock(state.mutex);
    into->mutable_header()->set_cluster_id(kClusterId);
    return execute(into);
  };
  {
    const std::lock_guard lock(state.mutex);
    ++state.requests;
    if (!state.errors.empty()) {
      grpc::Status error = state.errors.front();
      state.errors.pop_front();
      return error;
    }
  }
  const Fault fault = state.Take(faults);
  if (fault == Fault::kDropBefore) DropConnection(context->peer());
  if (fault == Fault::kNeverAnswer) AwaitCancellation(context);
  if (fault == Fault::kDropBefore || fault == Fault::kNeverAnswer) return NotExecuted();
  if (fault == Fault::kApplyLate) std::this_thread::sleep_for(FakeEtcd::kLate);
  Response ignored;
  if (fault == Fault::kApplyTwiceAnswerNew) run(&ignored);
  grpc::Status status = run(response);
  if (fault == Fault::kApplyTwice) run(&ignored);
  if (fault == Fault::kAnswerLate) std::this_thread::sleep_for(FakeEtcd::kLate);
  if (fault == Fault::kApplyNeverAnswer) AwaitCancellation(context);
  if (fault == Fault::kApplyThenDrop) DropConnection(context->peer());
  return status;
}

// A gRPC service that shares the state.
template <typename Base>
class Sharing : public Base {
 public:
  explicit Sharing(FakeState& state) : state_(state) {}

 protected:
  FakeState& state_;
};

class KvService final : public Sharing<etcdserverpb::KV::Service> {
 public:
  using Sharing::Sharing;

  grpc::Status Range(grpc::ServerContext* context, const etcdserverpb::RangeRequest* request,
                     etcdserverpb::RangeResponse* response) override {
    return Serve(state_, state_.range_faults, context, response,
                 [&](auto* into) { return state_.store.Range(*request, into); });
  }

  grpc::Status Txn(grpc::ServerContext* context, const etcdserverpb::TxnRequest* request,
                   etcdserverpb::TxnResponse* response) override {
    return Serve(state_, state_.txn_faults, context, response, [&](auto* into) {
      const std::int64_t before = state_.store.revision();
      grpc::Status status = state_.store.Txn(*request, into);
      if (state_.store.revision() != before) ++state_.applied;
      return status;
    });
  }

  grpc::Status Compact(grpc::ServerContext* context, const etcdserverpb::CompactionRequest* request,
                       etcdserverpb::CompactionResponse* response) override {
    return Serve(state_, state_.other_faults, context, response,
                 [&](auto*) { return state_.store.Compact(request->revision()); });
  }
};

class LeaseService final : public Sharing<etcdserverpb::Lease::Service> {
 public:
  using Sharing::Sharing;

  grpc::Status LeaseGrant(grpc::ServerContext* context,
                          const etcdserverpb::LeaseGrantRequest* request,
                          etcdserverpb::LeaseGrantResponse* response) override {
    return Serve(state_, state_.other_faults, context, response, [&](auto* into) {
      const auto id = static_cast<std::int64_t>(state_.leases.size()) + 1;
      state_.leases[id] = request->ttl();
      into->set_id(id);
      into->set_ttl(request->ttl());
      return grpc::Status::OK;
    });
  }

  grpc::Status LeaseRevoke(grpc::ServerContext* context,
                           const etcdserverpb::LeaseRevokeRequest* request,
                           etcdserverpb::LeaseRevokeResponse* response) override {
    return Serve(state_, state_.other_faults, context, response, [&](auto*) -> grpc::Status {
      if (state_.leases.erase(request->id()) > 0) return grpc::Status::OK;
      return {grpc::StatusCode::NOT_FOUND, "etcdserver: requested lease not found"};
    });
  }

  grpc::Status LeaseKeepAlive(grpc::ServerContext* context, KeepAliveStream* stream) override {
    etcdserverpb::LeaseKeepAliveRequest request;
    while (stream->Read(&request)) {
      etcdserverpb::LeaseKeepAliveResponse response;
      grpc::Status status = Serve(state_, state_.other_faults, context, &response, [&](auto* into) {
        const auto found = state_.leases.find(request.id());
        into->set_ttl(found == state_.leases.end() ? 0 : found->second);
        return grpc::Status::OK;
      });
      if (!status.ok()) return status;
      stream->Write(response);
    }
    return grpc::Status::OK;
  }
};

class MaintenanceService final : public Sharing<etcdserverpb::Maintenance::Service> {
 public:
  using Sharing::Sharing;

  grpc::Status Status(grpc::ServerContext* context, const etcdserverpb::StatusRequest*,
                      etcdserverpb::StatusResponse* response) override {
    return Serve(state_, state_.other_faults, context, response, [&](auto* into) {
      into->set_version("3.4.23");
      into->set_leader(1);
      into->mutable_header()->set_revision(state_.store.revision());
      return grpc::Status::OK;
    });
  }

  grpc::Status Alarm(grpc::ServerContext* context, const etcdserverpb::AlarmRequest*,
                     etcdserverpb::AlarmResponse* response) override {
    return Serve(state_, state_.other_faults, context, response,
                 [](auto*) { return grpc::Status::OK; });
  }
};

class ClusterService final : public Sharing<etcdserverpb::Cluster::Service> {
 public:
  using Sharing::Sharing;

  grpc::Status MemberList(grpc::ServerContext* context, const etcdserverpb::MemberListRequest*,
                          etcdserverpb::MemberListResponse* response) override {
    return Serve(state_, state_.other_faults, context, response, [](auto* into) {
      into->add_members()->set_name("fake");
      return grpc::Status::OK;
    });
  }
};

class AuthService final : public Sharing<etcdserverpb::Auth::Service> {
 public:
  using Sharing::Sharing;

  grpc::Status Authenticate(grpc::ServerContext* context, const etcdserverpb::AuthenticateRequest*,
                            etcdserverpb::AuthenticateResponse* response) override {
    return Serve(state_, state_.other_faults, context, response, [&](auto* into) {
      into->set_token("token." + std::to_string(state_.requests));
      return grpc::Status::OK;
    });
  }
};

// One watch. A second thread reads its requests.
class WatchSession {
 public:
  WatchSession(FakeState& state, grpc::ServerContext& context, WatchServerStream& stream)
      : state_(state), context_(context), stream_(stream) {}

  grpc::Status Run();

 private:
  bool Begin();
  void ReadRequests();
  bool SendEvents();
  void SendProgress();

  FakeState& state_;
  grpc::ServerContext& context_;
  WatchServerStream& stream_;
  etcdserverpb::WatchCreateRequest range_;
  std::int64_t next_ = 0;
  Fault fault_ = Fault::kNone;
  std::atomic<int> progress_requests_ = 0;
};

grpc::Status WatchSession::Run() {
  if (!Begin()) {
    AwaitCancellation(&context_);
    return NotExecuted();
  }
  std::thread reader([this] { ReadRequests(); });
  while (!context_.IsCancelled() && SendEvents()) {
    if (progress_requests_ > 0) SendProgress();
    std::this_thread::sleep_for(kStep);
  }
  context_.TryCancel();
  reader.join();
  return NotExecuted();
}

// Returns false if there is nothing more to send.
bool WatchSession::Begin() {
  etcdserverpb::WatchRequest request;
  if (!stream_.Read(&request)) return false;
  range_ = request.create_request();
  etcdserverpb::WatchResponse response;
  std::int64_t compacted = 0;
  fault_ = state_.Take(state_.watch_faults);
  {
    const std::lock_guard lock(state_.mutex);
    ++state_.watches;
    next_ = range_.start_revision() != 0 ? range_.start_revision() : state_.store.revision() + 1;
    compacted = state_.store.compacted();
    response.mutable_header()->set_revision(state_.store.revision());
  }
  if (fault_ == Fault::kNeverAnswer) return false;
  response.set_created(true);
  stream_.Write(response);
  if (fault_ == Fault::kAnswerLate) return false;
  if (next_ >= compacted) return true;
  response.set_created(false);
  response.set_canceled(true);
  response.set_compact_revision(compacted);
  stream_.Write(response);
  return false;
}

void WatchSession::ReadRequests() {
  etcdserverpb::WatchRequest request;
  while (stream_.Read(&request)) {
    if (request.has_progress_request()) ++progress_requests_;
  }
}

// Returns false if the watch ends after these events.
bool WatchSession::SendEvents() {
  etcdserverpb::WatchResponse response;
  {
    const std::lock_guard lock(state_.mutex);
    for (auto& event : state_.store.EventsOf(range_, next_)) {
      const bool is_full = fault_ == Fault::kDropBefore && response.events_size() >= 2;
      if (!is_full) *response.add_events() = std::move(event);
    }
    response.mutable_header()->set_revision(state_.store.revision());
  }
  if (response.events().empty()) return true;
  next_ = response.events().rbegin()->kv().mod_revision() + 1;
  response.set_fragment(fault_ == Fault::kDropBefore);
  stream_.Write(response);
  if (fault_ != Fault::kDropBefore) return true;
  std::this_thread::sleep_for(10 * kStep);  // gives the client time to read the fragment first
  DropConnection(context_.peer());
  return false;
}

void WatchSession::SendProgress() {
  --progress_requests_;
  etcdserverpb::WatchResponse response;
  response.set_watch_id(-1);
  {
    const std::lock_guard lock(state_.mutex);
    response.mutable_header()->set_revision(state_.store.revision());
  }
  stream_.Write(response);
}

class WatchService final : public Sharing<etcdserverpb::Watch::Service> {
 public:
  using Sharing::Sharing;

  grpc::Status Watch(grpc::ServerContext* context, WatchServerStream* stream) override {
    return WatchSession(state_, *context, *stream).Run();
  }
};

}  // namespace

Fault FakeState::Take(Faults& faults) {
  const std::lock_guard lock(mutex);
  if (faults.empty()) return Fault::kNone;
  const Fault fault = faults.front();
  faults.pop_front();
  return fault;
}

std::vector<std::unique_ptr<grpc::Service>> MakeFakeServices(FakeState& state) {
  std::vector<std::unique_ptr<grpc::Service>> services;
  services.push_back(std::make_unique<KvService>(state));
  services.push_back(std::make_unique<LeaseService>(state));
  services.push_back(std::make_unique<MaintenanceService>(state));
  services.push_back(std::make_unique<ClusterService>(state));
  services.push_back(std::make_unique<AuthService>(state));
  services.push_back(std::make_unique<WatchService>(state));
  return services;
}

}  // namespace fairlock::storage::etcd

#include "storage/etcd/etcd_watch.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "storage/etcd/session.h"
#include "storage/etcd/watch_cursor.h"
#include "storage/etcd/watch_stream.h"

namespace fairlock::storage::etcd {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPauseMin{100};
constexpr milliseconds kPauseMax{1'000};
constexpr std::string_view kNoAnswer = "the watch did not answer in time";

// Whether the reason can mean that the token is invalid. For a watch, etcd 3.4 reports that as a
// lack of permission.
bool MayBeLoggedOut(std::string_view reason) {
  return reason.find("permission denied") != std::string_view::npos ||
         reason.find("auth token") != std::string_view::npos;
}

}  // namespace

class EtcdWatch::Follower {
 public:
  Follower(const EtcdOptions& options, const Credentials& credentials, WatchTarget target,
           WatchReports reports)
      : target_(std::move(target)),
        reports_(std::move(reports)),
        attempt_timeout_(options.attempt_timeout),
        session_(options),
        cursor_(target_.revision) {
    for (const EtcdEndpoint& each : options.endpoints) {
      endpoints_.push_back(std::make_unique<Endpoint>(each, credentials, options));
    }
    thread_ = std::thread([this] { Run(); });
  }

  void Stop();

 private:
  void Run();
  std::string FollowAt(Endpoint& endpoint);
  std::string ReadAll(WatchStream& stream);
  bool Take(etcdserverpb::WatchResponse&& response);
  void PauseAfterFailures();
  bool is_stopping();

  const GrpcRuntime runtime_;
  const WatchTarget target_;
  const WatchReports reports_;
  const milliseconds attempt_timeout_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  Session session_;
  WatchCursor cursor_;
  std::size_t failures_ = 0;  // how many failures there were since a stream last worked
  bool is_compacted_ = false;

  std::mutex mutex_;
  std::condition_variable stopped_;
  WatchStream* stream_ = nullptr;  // used by Stop
  bool is_stopping_ = false;
  std::thread thread_;
};

void EtcdWatch::Follower::Stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    if (stream_ != nullptr) stream_->Cancel();
  }
  stopped_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool EtcdWatch::Follower::is_stopping() {
  const std::lock_guard lock(mutex_);
  return is_stopping_;
}

void EtcdWatch::Follower::Run() {
  for (std::size_t current = 0;; current = (current + 1) % endpoints_.size()) {
    const std::string reason = FollowAt(*endpoints_[current]);
    if (is_compacted_ || is_stopping()) return;
    ++failures_;
    if (MayBeLoggedOut(reason)) session_.ForgetToken();
    reports_.lost(reason);
    PauseAfterFailures();
    if (is_stopping()) return;
  }
}

void EtcdWatch::Follower::PauseAfterFailures() {
  if (failures_ < endpoints_.size()) return;
  const auto doublings = std::min<std::size_t>(failures_ - endpoints_.size(), 4);
  std::unique_lock lock(mutex_);
  stopped_.wait_for(lock, std::min(kPauseMin * (1 << doublings), kPauseMax),
                    [this] { return is_stopping_; });
}

// Follows one stream, and returns the reason why it ended.
std::string EtcdWatch::Follower::FollowAt(Endpoint& endpoint) {
  WatchStream stream;
  const auto prepared = session_.Prepare(endpoint, attempt_timeout_, stream.context());
  if (prepared.verdict.outcome != Outcome::kDone) return prepared.message;
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) return {};
    stream_ = &stream;
  }
  etcdserverpb::WatchCreateRequest request;
  request.set_key(target_.key);
  request.set_range_end(target_.range_end);
  request.set_start_revision(cursor_.next_revision());
  request.set_fragment(true);
  cursor_.BeginStream();
  stream.Begin(endpoint.watch(), request);
  const std::string reason = ReadAll(stream);
  const std::lock_guard lock(mutex_);
  stream_ = nullptr;
  return MessageOf(endpoint, reason);
}

std::string EtcdWatch::Follower::ReadAll(WatchStream& stream) {
  bool is_answer_due = true;
  while (true) {
    etcdserverpb::WatchResponse response;
    const auto read = stream.Next(is_answer_due ? attempt_timeout_ : kQuietTime, response);
    if (read == WatchStream::Read::kEnd) return stream.Finish().error_message();
    if (read == WatchStream::Read::kSilence) {
      if (is_answer_due) return std::string(kNoAnswer);
      stream.RequestProgress();
      is_answer_due = true;
      continue;
    }
    is_answer_due = false;
    std::string reason = response.cancel_reason();
    if (!Take(std::move(response))) return reason;
  }
}

// Handles a response. Returns false if it ends the watch.
bool EtcdWatch::Follower::Take(etcdserverpb::WatchResponse&& response) {
  if (response.compact_revision() != 0) {
    is_compacted_ = true;
    reports_.compacted(response.compact_revision());
    return false;
  }
  if (response.canceled()) return false;
  const bool is_created = response.created();
  if (!is_created) failures_ = 0;
  const std::int64_t revision = response.header().revision();
  const std::vector<WatchEvent> events = cursor_.Take(std::move(response));
  if (is_created) reports_.began(revision);
  if (!events.empty()) reports_.events(events);
  return true;
}

EtcdWatch::EtcdWatch(std::unique_ptr<Follower> follower) : follower_(std::move(follower)) {}

EtcdWatch::~EtcdWatch() { Stop(); }

Result<std::unique_ptr<EtcdWatch>> EtcdWatch::Begin(const EtcdOptions& options, WatchTarget target,
                                                    WatchReports reports) {
  if (Status status = CheckOptions(options); !status.ok()) return status;
  const GrpcRuntime runtime;
  auto credentials = LoadCredentials(options);
  if (!credentials.ok()) return credentials.status();
  return std::unique_ptr<EtcdWatch>(new EtcdWatch(std::make_unique<Follower>(
      options, credentials.value(), std::move(target), std::move(reports))));
}

void EtcdWatch::Stop() { follower_->Stop(); }

}  // namespace fairlock::storage::etcd

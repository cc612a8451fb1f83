#include "storage/etcd/watch_stream.h"

#include <utility>

#include "storage/etcd/endpoint.h"

namespace fairlock::storage::etcd {

WatchStream::~WatchStream() {
  if (stream_ != nullptr) {
    Cancel();
    Finish();
  }
  queue_.Shutdown();
  void* tag = nullptr;
  bool is_ok = false;
  while (queue_.Next(&tag, &is_ok)) {
  }
}

void* WatchStream::Tag(Operation operation) {
  in_flight_ |= operation;
  return reinterpret_cast<void*>(
      operation);  // NOLINT(performance-no-int-to-ptr): a tag, not an address
}

void WatchStream::Begin(etcdserverpb::Watch::StubInterface& watch,
                        const etcdserverpb::WatchCreateRequest& request) {
  unsent_ = std::make_unique<etcdserverpb::WatchRequest>();
  *unsent_->mutable_create_request() = request;
  stream_ = watch.AsyncWatch(&context_, &queue_, Tag(kStart));
}

void WatchStream::RequestProgress() {
  unsent_ = std::make_unique<etcdserverpb::WatchRequest>();
  unsent_->mutable_progress_request();
  WriteIfIdle();
}

void WatchStream::WriteIfIdle() {
  if (unsent_ == nullptr || has_ended_ || (in_flight_ & (kStart | kWrite)) != 0) return;
  const auto request = std::exchange(unsent_, nullptr);
  stream_->Write(*request, Tag(kWrite));
}

WatchStream::Read WatchStream::Next(std::chrono::milliseconds time,
                                    etcdserverpb::WatchResponse& response) {
  const gpr_timespec end = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), FromNow(time));
  while (!has_response_) {
    if (has_ended_) return Read::kEnd;
    if ((in_flight_ & (kStart | kRead)) == 0) stream_->Read(&response_, Tag(kRead));
    void* tag = nullptr;
    bool is_ok = false;
    if (queue_.AsyncNext(&tag, &is_ok, end) != grpc::CompletionQueue::GOT_EVENT) {
      return Read::kSilence;
    }
    Complete(static_cast<Operation>(reinterpret_cast<std::uintptr_t>(tag)), is_ok);
  }
  has_response_ = false;
  response = std::move(response_);
  response_.Clear();
  return Read::kResponse;
}

void WatchStream::Complete(Operation operation, bool is_ok) {
  in_flight_ &= ~operation;
  if (!is_ok) has_ended_ = true;
  if (operation == kRead) has_response_ = is_ok;
  WriteIfIdle();
}

grpc::Status WatchStream::Finish() {
  has_ended_ = true;
  grpc::Status status;
  void* tag = nullptr;
  bool is_ok = false;
  while (in_flight_ != 0 && queue_.Next(&tag, &is_ok)) {
    in_flight_ &= ~reinterpret_cast<std::uintptr_t>(tag);
  }
  stream_->Finish(&status, Tag(kFinish));
  while (in_flight_ != 0 && queue_.Next(&tag, &is_ok)) {
    in_flight_ &= ~reinterpret_cast<std::uintptr_t>(tag);
  }
  stream_ = nullptr;
  return status;
}

}  // namespace fairlock::storage::etcd

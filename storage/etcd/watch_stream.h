// One stream of a watch: its requests and responses, each within a bounded time.
#pragma once

#include <etcd.grpc.pb.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <memory>

namespace fairlock::storage::etcd {

// One thread must call all functions except Cancel. It also does the work of the connection.
class WatchStream {
 public:
  enum class Read : std::uint8_t { kResponse, kSilence, kEnd };

  WatchStream() = default;
  WatchStream(const WatchStream&) = delete;
  WatchStream& operator=(const WatchStream&) = delete;
  ~WatchStream();

  // The context to which the token and other metadata can be added before Begin.
  grpc::ClientContext& context() { return context_; }

  void Begin(etcdserverpb::Watch::StubInterface& watch,
             const etcdserverpb::WatchCreateRequest& request);
  void RequestProgress();

  // Waits for the next response. kSilence if none arrived in time; a later call continues to wait.
  Read Next(std::chrono::milliseconds time, etcdserverpb::WatchResponse& response);

  // Call this after kEnd. Returns the reason why the stream ended.
  grpc::Status Finish();

  // Ends the stream soon. Thread-safe.
  void Cancel() { context_.TryCancel(); }

 private:
  // At most one operation of each kind is in progress. Its bit also serves as its tag.
  enum Operation : std::uintptr_t { kStart = 1, kWrite = 2, kRead = 4, kFinish = 8 };

  void* Tag(Operation operation);
  void WriteIfIdle();
  void Complete(Operation operation, bool is_ok);

  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReaderWriterInterface<etcdserverpb::WatchRequest,
                                                         etcdserverpb::WatchResponse>>
      stream_;
  std::uintptr_t in_flight_ = 0;
  std::unique_ptr<etcdserverpb::WatchRequest> unsent_;
  etcdserverpb::WatchResponse response_;
  bool has_response_ = false;
  bool has_ended_ = false;
};

}  // namespace fairlock::storage::etcd

// A node that waits for the leadership of a partition.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>

#include "storage/etcd/etcd_client.h"
#include "storage/replicated/frame_writer.h"
#include "storage/replicated/leadership.h"

namespace fairlock::storage::replicated {

struct StandbyOptions {
  LeadershipOptions leadership;
  std::string canary_key;    // a key of this node alone
  std::string accepted_key;  // of what an operator accepted as lost
  std::chrono::milliseconds look_every{100};
  std::chrono::milliseconds call_timeout{1'000};
  // A clock that counts while the machine is suspended; called by the thread of AwaitLeadership.
  std::function<TimeMs()> now_ms;
};

// Reads the beat again and again, and takes over when the rules of Leadership say so.
class Standby {
 public:
  // All must outlive the standby. `writer` has not taken over.
  Standby(etcd::EtcdClient& client, FrameWriter& writer, StandbyOptions options);

  // Blocks until this node leads. kRefused: Stop was called. kFailed: etcd refuses the requests for
  // good, for example because of permissions.
  Status AwaitLeadership();

  // These may be called by any thread:

  void Stop() { is_stopped_ = true; }
  // Its place among the nodes that stand by: the first one takes over first.
  void set_rank(std::uint32_t rank) { rank_ = rank; }
  // The beat that was seen last; it does not exist before the first look.
  Beat Seen() const;
  // The register went back, because etcd was restored from a backup. This node takes over when an
  // operator accepts that, at this node or at another one.
  bool AwaitsAcceptance() const { return awaits_acceptance_; }
  void AcceptRestore() { is_accept_asked_ = true; }
  // After the take-over: it was that of a restored register.
  bool is_restored() const { return is_restored_; }
  // The last failure to reach etcd; empty: the last call succeeded.
  std::string LastError() const;

 private:
  Status Look();
  Status LookWhetherAccepted();
  Status ReadAcceptedEpoch();
  Status WriteCanary();
  Status TakeOver();
  Status Judge(const etcd::Answer& answer);

  etcd::EtcdClient& client_;
  FrameWriter& writer_;
  const StandbyOptions options_;
  Leadership leadership_;
  std::uint64_t accepted_epoch_ = 0;  // an operator accepted that all up to it may be lost
  std::atomic<bool> is_stopped_ = false;
  std::atomic<std::uint32_t> rank_ = 0;
  std::atomic<bool> awaits_acceptance_ = false;
  std::atomic<bool> is_accept_asked_ = false;
  std::atomic<bool> is_restored_ = false;
  mutable std::mutex mutex_;
  Beat seen_;
  std::string last_error_;
};

}  // namespace fairlock::storage::replicated

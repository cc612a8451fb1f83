#include "bench/load_generator/crowd.h"

#include <unistd.h>

#include <memory>
#include <vector>

#include "bench/load_generator/dialect.h"
#include "bench/load_generator/failure.h"
#include "bench/load_generator/process_meter.h"
#include "protocol/request_writer.h"

namespace fairlock::bench {

namespace {

constexpr std::size_t kOwnerBytes = 32;
constexpr std::size_t kMembersAtOnce = 500;

class Crowd {
 public:
  explicit Crowd(const CrowdOptions& options) : options_(options), control_(options.endpoint) {
    control_.Ask(kPing);
  }

  CrowdResult Gather();

 private:
  std::string Owner(std::size_t number) const;
  void OpenAll();
  void WaitAll();
  // Whether `count` clients, beginning with number `first`, are in the queue.
  bool AreQueued(std::size_t first, std::size_t count);
  double Grown(std::uint64_t since) const;

  const CrowdOptions& options_;
  Connection control_;
  std::vector<std::unique_ptr<Connection>> members_;
};

std::string Crowd::Owner(std::size_t number) const {
  return options_.owner_prefix + OwnerName(number, kOwnerBytes - options_.owner_prefix.size());
}

void Crowd::OpenAll() {
  for (std::size_t i = 0; i < options_.connections; ++i) {
    members_.push_back(std::make_unique<Connection>(options_.endpoint));
    if (members_.back()->Ask(kPing).text != "PONG") Fail("PING was not answered");
  }
}

bool Crowd::AreQueued(std::size_t first, std::size_t count) {
  std::string requests;
  for (std::size_t i = first; i < first + count; ++i) {
    protocol::AppendRequest(requests, {"POSITION", options_.wait_for, Owner(i)});
  }
  control_.Send(requests);
  bool are_queued = true;
  for (std::size_t i = 0; i < count; ++i) {
    const auto reply = control_.AwaitReply();
    if (reply.type != protocol::ReplyType::kInteger) are_queued = false;
    if (reply.integer == 0 && are_queued) Fail("the key to wait for is not held");
  }
  return are_queued;
}

void Crowd::WaitAll() {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    std::string request;
    protocol::AppendRequest(
        request, {"LOCK", options_.wait_for, Owner(i), "PX", "30000", "WAIT", "FOREVER"});
    members_[i]->Send(request);
  }
  for (std::size_t first = 0; first < members_.size(); first += kMembersAtOnce) {
    const std::size_t count = std::min(kMembersAtOnce, members_.size() - first);
    for (int tries = 0; !AreQueued(first, count); ++tries) {
      if (tries == 1000) Fail("not all clients joined the queue");
      usleep(10'000);
    }
  }
}

double Crowd::Grown(std::uint64_t since) const {
  return (static_cast<double>(ResidentBytes(options_.server_pid)) - static_cast<double>(since)) /
         static_cast<double>(members_.size());
}

CrowdResult Crowd::Gather() {
  CrowdResult result;
  const std::uint64_t alone = ResidentBytes(options_.server_pid);
  OpenAll();
  result.resident_per_connection = Grown(alone);
  if (options_.wait_for.empty()) return result;
  const std::uint64_t idle = ResidentBytes(options_.server_pid);
  WaitAll();
  result.resident_per_waiter = Grown(idle);
  return result;
}

}  // namespace

void StandInCrowd(const CrowdOptions& options, void (*when_ready)(const CrowdResult&)) {
  Crowd crowd(options);
  when_ready(crowd.Gather());
  for (;;) pause();
}

}  // namespace fairlock::bench

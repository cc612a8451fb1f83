#include "storage/replicated/cluster_home.h"

#include <algorithm>
#include <utility>

namespace fairlock::storage::replicated {

namespace {

std::string PrefixOf(const ClusterOptions& options) { return "/fairlock/" + options.fleet + "/"; }

}  // namespace

PartitionKeys KeysOf(const ClusterOptions& options) {
  return PartitionKeys(PrefixOf(options) + "p/00/");
}

ClusterHome::ClusterHome(std::unique_ptr<etcd::EtcdClient> client, const ClusterOptions& options)
    : client_(std::move(client)),
      writer_(KeysOf(options), NewRunId(), options.node, options.address),
      standby_(*client_, writer_,
               {.leadership = {.node = options.node},
                .canary_key = PrefixOf(options) + "n/" + options.node,
                .now_ms = options.now_ms}),
      store_(*client_, writer_, {.compact_every = options.compacts ? 20'000 : 0}) {}

Result<std::unique_ptr<ClusterHome>> ClusterHome::Open(ClusterOptions options) {
  auto client = etcd::EtcdClient::Open(options.etcd);
  if (!client.ok()) return client.status();
  return std::unique_ptr<ClusterHome>(new ClusterHome(std::move(client.value()), options));
}

Status ClusterHome::AwaitLeadership(ChangeSink& sink) {
  Status status = standby_.AwaitLeadership();
  if (!status.ok()) return status;
  // Before the first heading there is no frame either, so the log begins with this leader.
  if (writer_.committed().beat.next_frame == 1) {
    auto heading = store_.HasHeading();
    if (!heading.ok()) return heading.status();
    if (!heading.value()) {
      LogId log_id;
      std::ranges::copy(NewRunId(), log_id.begin());
      status = BeginLog(store_, log_id);
      if (!status.ok()) return status;
    }
  }
  auto end = LoadLog(store_, sink);
  if (!end.ok()) return end.status();
  end_ = end.value();
  return {};
}

void ClusterHome::Stop() {
  standby_.Stop();
  store_.LimitAttempts(3);
}

std::string ClusterHome::LastError() const {
  std::string error = standby_.LastError();
  return error.empty() ? store_.LastError() : error;
}

}  // namespace fairlock::storage::replicated

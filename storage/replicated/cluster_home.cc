#include "storage/replicated/cluster_home.h"

#include <algorithm>
#include <utility>

#include "storage/replicated/fleet_record.h"

namespace fairlock::storage::replicated {

namespace {

// The interval of beats while loading: much shorter than the silence that makes a standby doubt the
// leader.
constexpr std::chrono::milliseconds kBeatWhileLoading{250};

}  // namespace

ClusterHome::ClusterHome(std::unique_ptr<etcd::EtcdClient> client,
                         std::unique_ptr<etcd::EtcdClient> reading_client,
                         const ClusterOptions& options)
    : prefix_(FleetPrefix(options.fleet)),
      client_(std::move(client)),
      writer_(PartitionKeys(PartitionPrefix(prefix_, 0)), NewRunId(), options.node, options.address,
              options.tls_port),
      standby_(*client_, writer_,
               {.leadership = {.node = options.node, .highest = options.highest},
                .canary_key = prefix_ + "canary/" + options.node,
                .now_ms = options.now_ms,
                .on_leader = options.on_leader}),
      store_(*client_, writer_, {.compact_every = options.compacts ? 20'000 : 0}),
      tail_(std::move(reading_client), writer_.keys(),
            {.etcd = options.etcd,
             .now_ms = options.now_ms,
             .on_beat = [this](const SeenBeat& seen) { standby_.Hear(seen); }}) {}

Result<std::unique_ptr<ClusterHome>> ClusterHome::Open(ClusterOptions options) {
  auto client = etcd::EtcdClient::Open(options.etcd);
  if (!client.ok()) return client.status();
  auto reading_client = etcd::EtcdClient::Open(options.etcd);
  if (!reading_client.ok()) return reading_client.status();
  return std::unique_ptr<ClusterHome>(
      new ClusterHome(std::move(client.value()), std::move(reading_client.value()), options));
}

void ClusterHome::UsePartition(std::uint32_t partition) {
  {
    const std::lock_guard lock(partition_.mutex);
    partition_.number = partition;
  }
  partition_.changed.notify_one();
}

Status ClusterHome::AwaitPartition() {
  std::unique_lock lock(partition_.mutex);
  partition_.changed.wait(lock, [this] { return partition_.number || partition_.is_stopped; });
  if (!partition_.number) return Refused("the server stops");
  writer_.UsePartition(PartitionKeys(PartitionPrefix(prefix_, *partition_.number)));
  return {};
}

Status ClusterHome::AwaitLeadership(NewSink new_sink) {
  if (Status assigned = AwaitPartition(); !assigned.ok()) return assigned;
  tail_.Begin(std::move(new_sink));
  Status status = standby_.AwaitLeadership();
  if (status.ok()) status = BeginLogIfNew();
  if (status.ok()) status = ReadRest();
  tail_.Stop();
  return status;
}

Status ClusterHome::BeginLogIfNew() {
  epoch_ = writer_.committed().beat.epoch;
  // Before the first heading, there is no frame either, so the log begins with this leader.
  if (writer_.committed().beat.next_frame != 1) return {};
  auto heading = store_.HasHeading();
  if (!heading.ok()) return heading.status();
  if (heading.value()) return {};
  LogId log_id;
  std::ranges::copy(NewRunId(), log_id.begin());
  return BeginLog(store_, log_id);
}

Status ClusterHome::ReadRest() {
  const PinnedLog log{.revision = writer_.committed().revision,
                      .end = writer_.committed().beat.next_frame};
  store_.BeginBeats(kBeatWhileLoading);
  tail_.Stop();
  auto end = tail_.Finish(log, [this] { return store_.newest_write(); });
  if (!end.ok()) {
    store_.EndBeats();
    return end.status();
  }
  store_.SetGroups(tail_.TakeGroups());
  end_ = end.value();
  return {};
}

void ClusterHome::Stop(int attempts_max) {
  {
    const std::lock_guard lock(partition_.mutex);
    partition_.is_stopped = true;
  }
  partition_.changed.notify_one();
  standby_.Stop();
  tail_.Abandon();
  store_.LimitAttempts(attempts_max);
}

const Beat& ClusterHome::HighestSeen() const {
  const Beat& own = writer_.committed().beat;
  const Beat& other = writer_.other().beat;
  return IsBefore(own, other) ? other : own;
}

std::string ClusterHome::LastError() const {
  std::string error = standby_.LastError();
  return error.empty() ? store_.LastError() : error;
}

}  // namespace fairlock::storage::replicated

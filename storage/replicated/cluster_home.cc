#include "storage/replicated/cluster_home.h"

#include <algorithm>
#include <utility>

namespace fairlock::storage::replicated {

namespace {

// The interval of beats while loading: much shorter than the silence that makes a standby doubt the
// leader.
constexpr std::chrono::milliseconds kBeatWhileLoading{250};

std::string PrefixOf(const ClusterOptions& options) { return FleetPrefix(options.fleet); }

}  // namespace

std::string FleetPrefix(const std::string& fleet) { return "/fairlock/" + fleet + "/"; }

PartitionKeys KeysOf(const ClusterOptions& options) {
  return PartitionKeys(PrefixOf(options) + "p/00/");
}

ClusterHome::ClusterHome(std::unique_ptr<etcd::EtcdClient> client,
                         std::unique_ptr<etcd::EtcdClient> reading_client,
                         const ClusterOptions& options)
    : client_(std::move(client)),
      writer_(KeysOf(options), NewRunId(), options.node, options.address, options.tls_port),
      standby_(*client_, writer_,
               {.leadership = {.node = options.node, .highest = options.highest},
                .canary_key = PrefixOf(options) + "canary/" + options.node,
                .accepted_key = PrefixOf(options) + "p/00/accepted",
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

Status ClusterHome::AwaitLeadership(NewSink new_sink) {
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
  auto end = tail_.Finish(log, [this] { return store_.beat_failure(); });
  if (!end.ok()) {
    store_.EndBeats();
    return end.status();
  }
  store_.SetGroups(tail_.TakeGroups());
  end_ = end.value();
  return {};
}

void ClusterHome::Stop(int attempts_max) {
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

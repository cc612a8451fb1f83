#include "server/http/schema.h"

#include <algorithm>
#include <array>

#include "protocol/lock_columns.h"
#include "server/command/locks/lock_fields.h"

namespace fairlock::http {

namespace {

using enum FieldType;

constexpr bool kMayBeNull = true;
constexpr bool kMayBeMissing = true;

template <std::size_t... kSizes>
consteval auto Joined(const std::array<Field, kSizes>&... parts) {
  std::array<Field, (kSizes + ...)> joined{};
  auto* end = joined.begin();
  ((end = std::copy(parts.begin(), parts.end(), end)), ...);
  return joined;
}

constexpr auto kErrorFields = std::to_array<Field>({
    {"code", kText, "A stable word, such as ERR or NOPERM"},
    {"message", kText, "What is wrong, and what is allowed"},
});
constexpr Schema kErrorDetail = {"ErrorDetail", kErrorFields};
constexpr auto kErrorEnvelope = std::to_array<Field>({
    {"error", kObject, "", false, false, &kErrorDetail},
});

constexpr auto kFleetNodeFields = std::to_array<Field>({
    {"name", kText, ""},
    {"address", kText, "Where clients and other nodes reach it; port 0: only over TLS"},
    {"tls_port", kInteger, "0: none"},
    {"sentinel_port", kInteger, "0: none"},
    {"version", kText, ""},
    {"partition", kInteger, "Which part of the keys it serves, from 0"},
    {"role", kText,
     "leader or standby; lost: it led, but is not heard of, or is deposed; unsure: this node "
     "leads, but etcd does not confirm it"},
    {"in_sync", kInteger, "1: it has the whole log except what is still in transit"},
    {"frames_behind", kInteger, "Frames of the leader's log that it does not have yet"},
    {"started_at", kInteger, "Unix time in milliseconds"},
    {"options", kText, "Those that must be the same on all nodes, as words NAME=VALUE"},
    {"unreachable", kInteger, "1: most other nodes cannot connect to its address"},
    {"refused_etcd", kText, "Members in its cluster_etcd that belong to another etcd cluster"},
});
constexpr Schema kFleetNode = {"FleetNode", kFleetNodeFields};
constexpr auto kEtcdMemberFields = std::to_array<Field>({
    {"endpoint", kText, ""},
    {"error", kText, "Why it serves nothing; null: it serves", kMayBeNull},
    {"version", kText, "", kMayBeNull},
    {"leader", kInteger, "1: it leads the etcd cluster"},
    {"size_bytes", kInteger, "Size of its database file"},
    {"size_in_use_bytes", kInteger, "Defragmenting would free the rest"},
});
constexpr Schema kEtcdMember = {"EtcdMember", kEtcdMemberFields};
constexpr auto kFleetFields = std::to_array<Field>({
    {"fleet", kText, "Its name"},
    {"node", kText, "The node that answers"},
    {"dialect", kText, "plain, or cluster: clients must know Redis Cluster"},
    {"partition", kInteger, "That of the node that answers; null: not known yet", kMayBeNull},
    {"partitions", kInteger, "How many share the keys; 0: not known yet"},
    {"role", kText, "leader or standby"},
    {"epoch", kInteger, "Increases with each take-over"},
    {"leader", kText, "The node that leads that partition; null: none that this node knows",
     kMayBeNull},
    {"leader_address", kText, "", kMayBeNull},
    {"leader_since", kInteger, "When this node first saw it lead, in Unix milliseconds",
     kMayBeNull},
    {"awaits_acceptance", kInteger,
     "1: etcd was restored from a backup, and no node leads until an operator accepts that"},
    {"unsure", kInteger, "1: this node leads, but has had no confirmation from etcd for 2 s"},
    {"age_ms", kInteger, "Age of the lists of nodes and members; null: not read yet", kMayBeNull},
    {"error", kText, "Why the lists could not be updated; null: they were", kMayBeNull},
    {"commits", kInteger, "Transactions that this process has committed as leader"},
    {"commits_us", kInteger, "How long they took in total"},
    {"committed_bytes", kInteger, ""},
    {"quota_bytes", kInteger, "Of etcd's database; 0: not checked"},
    {"short_of_quota", kInteger, "1: no new locks are granted"},
    {"no_space", kInteger, "1: etcd accepts no writes, because its NOSPACE alarm is raised"},
    {"nodes", kObjects, "By name", false, false, &kFleetNode},
    {"etcd", kObjects, "The members of etcd", false, false, &kEtcdMember},
    {"last_leader", kText, "If none leads: the node that led last; null: not known", kMayBeNull},
    {"leader_heard_ms", kInteger,
     "How long ago this node heard of the leader, or of the last one; null: it leads, or has heard "
     "of none",
     kMayBeNull},
});
constexpr Schema kFleet = {"Fleet", kFleetFields};
constexpr auto kClusterFields = std::to_array<Field>({
    {"cluster", kObject, "null: this server is not a node of a fleet", kMayBeNull, false, &kFleet},
});

constexpr Schema kLockRow = {"LockRow", protocol::kLockColumns};
constexpr auto kLocksFields = std::to_array<Field>({
    {"locks", kObjects, "", false, false, &kLockRow},
    {"cursor", kText, "Where the next page begins; 0: there is none"},
    {"found", kInteger, "With sort: the total number", false, kMayBeMissing},
});

constexpr auto kLineFields = std::to_array<Field>({
    {"line", kObjects, "The places in order", false, false, &command::kPlaceSchema},
});
constexpr auto kLockFields = Joined(
    std::to_array<Field>({{"key", kText, ""}, {"db", kInteger, ""}}), command::kLockInfoFields,
    std::to_array<Field>({
        {"holder_count", kInteger, "How many there are"},
        {"line", kObjects, "The first 100 places", false, false, &command::kPlaceSchema},
    }));

constexpr auto kEventFields = std::to_array<Field>({
    {"at", kInteger, "Unix time in milliseconds"},
    {"last_at", kInteger, "Time of the last of the events that were combined into this one"},
    {"count", kInteger, ""},
    {"event", kText, "granted, released, expired, broken ..."},
    {"key", kText, ""},
    {"db", kInteger, ""},
    {"owner", kText, "", kMayBeNull},
    {"token", kInteger, "", kMayBeNull},
    {"reason", kText, "", kMayBeNull},
    {"holder", kText, "The holder then", kMayBeNull},
    {"holder_token", kInteger, "", kMayBeNull},
    {"waited_ms", kInteger, "", kMayBeNull},
    {"held_ms", kInteger, "", kMayBeNull},
    {"by", kText, "Who did it, for events forced by an operator", kMayBeNull},
    {"comment", kText, "Why", kMayBeNull},
    {"grace_ms", kInteger, "For leaving: how long the hold may still last"},
    {"source", kText,
     "memory; file: read back from history_file at startup; lock: the history has lost the event, "
     "but it follows from a present hold or place"},
});
constexpr Schema kEvent = {"Event", kEventFields};
constexpr auto kHistoryFields = std::to_array<Field>({
    {"oldest", kInteger, "Time of the oldest event kept", kMayBeNull},
    {"next_until", kInteger, "Set if not everything was examined: the time of the next event",
     kMayBeNull},
    {"events", kObjects, "The newest first", false, false, &kEvent},
    {"next_before", kInteger,
     "Set if not everything was examined: pass this as before in the next request", kMayBeNull},
    {"complete_since", kInteger, "Every event is known from this time on"},
    {"rare_since", kInteger,
     "expired, disconnected, broken, undone, refused and leaving events, denials because of a "
     "deadlock, and what BREAK caused: all are known from this time on"},
    {"denied_since", kInteger, "Every other denial is known from this time on"},
});
constexpr Schema kHistory = {"History", kHistoryFields};
constexpr auto kHistoryEnvelope = std::to_array<Field>({
    {"history", kObject, "", false, false, &kHistory},
});

constexpr auto kStatisticsRowFields = std::to_array<Field>({
    {"label", kText, "null: events without a label", kMayBeNull},
    {"since", kInteger, "Unix time in milliseconds"},
    {"acquired", kInteger, ""},
    {"denied", kInteger, ""},
    {"queued", kInteger, ""},
    {"granted_after_wait", kInteger, ""},
    {"reacquired", kInteger, ""},
    {"released", kInteger, ""},
    {"expired", kInteger, ""},
    {"timed_out", kInteger, ""},
    {"broken", kInteger, ""},
    {"disconnected", kInteger, ""},
    {"wait_p50_ms", kInteger, "", kMayBeNull},
    {"wait_p90_ms", kInteger, "", kMayBeNull},
    {"wait_p99_ms", kInteger, "", kMayBeNull},
    {"wait_p999_ms", kInteger, "", kMayBeNull},
    {"wait_max_ms", kInteger, "", kMayBeNull},
    {"hold_p50_ms", kInteger, "", kMayBeNull},
    {"hold_p90_ms", kInteger, "", kMayBeNull},
    {"hold_p99_ms", kInteger, "", kMayBeNull},
    {"hold_p999_ms", kInteger, "", kMayBeNull},
    {"hold_max_ms", kInteger, "", kMayBeNull},
});
constexpr Schema kStatisticsRow = {"StatisticsRow", kStatisticsRowFields};
constexpr auto kStatisticsFields = std::to_array<Field>({
    {"complete_since", kInteger, "Nothing is missing from this time on"},
    {"labels", kObjects, "", false, false, &kStatisticsRow},
    {"total", kObject, "Total over all rows", false, false, &kStatisticsRow},
});
constexpr Schema kStatistics = {"Statistics", kStatisticsFields};
constexpr auto kStatisticsEnvelope = std::to_array<Field>({
    {"statistics", kObject, "", false, false, &kStatistics},
});

constexpr auto kMinutesFields = std::to_array<Field>({
    {"at", kIntegers, "Start of each one, in Unix milliseconds; the last one is not over yet"},
    {"span_ms", kIntegers, "Length of each one"},
    {"requests", kIntegers, ""},
    {"granted", kIntegers, ""},
    {"granted_after_wait", kIntegers, ""},
    {"denied", kIntegers, ""},
    {"released", kIntegers, ""},
    {"expired", kIntegers, ""},
    {"timed_out", kIntegers, ""},
    {"broken", kIntegers, ""},
    {"waiting", kIntegers, "At its end"},
    {"held", kIntegers, "At its end"},
    {"connections", kIntegers, "At its end"},
});

constexpr auto kClientFields = std::to_array<Field>({
    {"id", kInteger, ""},
    {"addr", kText, ""},
    {"name", kText, ""},
    {"age", kInteger, "Seconds"},
    {"idle", kInteger, "Seconds"},
    {"db", kInteger, ""},
    {"cmd", kText, "The last command"},
    {"user", kText, ""},
    {"wait-key", kText, "What it waits for; empty: nothing"},
    {"waited-ms", kInteger, ""},
});
constexpr Schema kClient = {"Client", kClientFields};
constexpr auto kClientsFields = std::to_array<Field>({
    {"clients", kObjects, "By rising number", false, false, &kClient},
    {"connected", kInteger, "How many there are"},
    {"next", kInteger, "Where the next page begins (after); 0: there is none"},
});

constexpr auto kOptionFields = std::to_array<Field>({
    {"name", kText, ""},
    {"value", kText, "As in the configuration file; a password is hidden"},
    {"default", kText, ""},
    {"changeable", kFlag, "Whether it can be changed while the server runs"},
    {"secret", kFlag, "It is a password"},
    {"redis_name", kText, "Its name in Redis", kMayBeNull},
    {"description", kText, ""},
});
constexpr Schema kOption = {"Option", kOptionFields};
constexpr auto kSettingsFields = std::to_array<Field>({
    {"settings", kObject, "Options by name, including their Redis names", false, false,
     &kStatusSchema},
    {"options", kObjects, "Each option once", false, false, &kOption},
});

constexpr auto kAccessFields = std::to_array<Field>({
    {"user", kText, "null: the token, which allows everything", kMayBeNull},
    {"may", kTexts, "Which of break, cancel, limits, clients and settings are allowed"},
});

constexpr Schema kLimit = {"Limit", command::kOverrideFields};
constexpr auto kLimitsFields = std::to_array<Field>({
    {"limits", kObjects, "", false, false, &kLimit},
});

constexpr auto kKeyFields = std::to_array<Field>({{"key", kText, ""}});
constexpr Schema kKeySchema = {"Key", kKeyFields};
constexpr auto kBrokenMatchingFields = std::to_array<Field>({
    {"dry_run", kFlag, ""},
    {"locks", kInteger, "How many match and are held"},
    {"broken", kInteger, "Holds that ended, or would end"},
    {"keys", kObjects, "The first 100", false, false, &kKeySchema},
});
constexpr auto kBrokenFields = std::to_array<Field>(
    {{"broken", kInteger, "How many holds ended, or with grace: how many leave"}});
constexpr auto kCancelledFields =
    std::to_array<Field>({{"cancelled", kInteger, "1: it had a place"}});
constexpr auto kLimitSetFields = std::to_array<Field>({{"limit", kText, "OK"}});
constexpr auto kDeletedFields = std::to_array<Field>({{"deleted", kInteger, "1: there was one"}});
constexpr auto kKilledFields = std::to_array<Field>({{"killed", kInteger, "How many"}});
constexpr auto kAcquiredFields = std::to_array<Field>({
    {"status", kText, "granted or already; with 409: denied, queued or timeout"},
    {"reason", kText, "What blocks the request", kMayBeNull},
    {"token", kInteger, "The token of the hold", kMayBeNull},
    {"ttl_ms", kInteger, "Of the hold, or of the one that ends first", kMayBeNull},
    {"position", kInteger, "The place in the queue", kMayBeNull},
    {"waiters", kInteger, "How many wait"},
    {"eta_ms", kInteger, "When it is probably granted", kMayBeNull},
    {"holders", kObjects, "The first holders", false, false, &command::kHolderSchema},
});
constexpr auto kRenewedFields = std::to_array<Field>({{"renewed", kInteger, "1: it was held"}});
constexpr auto kReleasedFields = std::to_array<Field>({{"released", kInteger, "1: it was held"}});
constexpr auto kHeldFields = std::to_array<Field>({{"held", kInteger, "1: the token holds it"}});
constexpr auto kChangedFields = std::to_array<Field>({{"changed", kText, "OK"}});

}  // namespace

constinit const Schema kErrorSchema = {"Error", kErrorEnvelope};
constinit const Schema kStatusSchema = {"Status", {}};
constinit const Schema kClusterSchema = {"Cluster", kClusterFields};
constinit const Schema kClientsSchema = {"Clients", kClientsFields};
constinit const Schema kSettingsSchema = {"Settings", kSettingsFields};
constinit const Schema kAccessSchema = {"Access", kAccessFields};
constinit const Schema kLocksSchema = {"Locks", kLocksFields};
constinit const Schema kLockSchema = {"Lock", kLockFields};
constinit const Schema kLineSchema = {"Line", kLineFields};
constinit const Schema kHistorySchema = {"HistoryAnswer", kHistoryEnvelope};
constinit const Schema kStatisticsSchema = {"StatisticsAnswer", kStatisticsEnvelope};
constinit const Schema kMinutesSchema = {"Minutes", kMinutesFields};
constinit const Schema kLimitsSchema = {"Limits", kLimitsFields};
constinit const Schema kBrokenSchema = {"Broken", kBrokenFields};
constinit const Schema kBrokenMatchingSchema = {"BrokenMatching", kBrokenMatchingFields};
constinit const Schema kCancelledSchema = {"Cancelled", kCancelledFields};
constinit const Schema kLimitSetSchema = {"LimitSet", kLimitSetFields};
constinit const Schema kDeletedSchema = {"Deleted", kDeletedFields};
constinit const Schema kKilledSchema = {"Killed", kKilledFields};
constinit const Schema kChangedSchema = {"Changed", kChangedFields};
constinit const Schema kAcquiredSchema = {"Acquired", kAcquiredFields};
constinit const Schema kRenewedSchema = {"Renewed", kRenewedFields};
constinit const Schema kReleasedSchema = {"Released", kReleasedFields};
constinit const Schema kHeldSchema = {"Held", kHeldFields};
constinit const Schema kDescriptionSchema = {"Description", {}};

}  // namespace fairlock::http

// `cluster`: shows and controls the fleet that a server belongs to.
#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/arguments/command.h"
#include "cli/commands/all_commands.h"
#include "cli/commands/fairlockd_program.h"
#include "cli/connection/reply_fields.h"
#include "cli/connection/server_list.h"
#include "cli/output/duration.h"
#include "cli/views/fleet_view.h"
#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

constexpr DurationMs kFailoverWaitMs = 30'000;
constexpr DurationMs kStatusPatienceMs = 5'000;
constexpr std::chrono::milliseconds kNextLook{100};
constexpr std::string_view kServerConfig = "/etc/fairlock/fairlock.yaml";

struct ClusterOptions {
  std::optional<std::int64_t> partition;
  std::optional<std::string> to;
  std::optional<DurationMs> wait_ms;
  std::string folder;
  std::string fleet;  // the fleet to copy
  std::optional<std::string> from_etcd;
  std::optional<std::int64_t> partitions;
  std::optional<std::string> etcd;
  std::optional<std::string> name;
  std::optional<std::string> config;
  bool is_yes = false;
  bool is_forced = false;
  bool is_all = false;
  bool is_json = false;
};

bool HasSeveralPartitions(const protocol::Reply& status) {
  return IntegerOr(status, "partitions") > 1;
}

// A partition that nobody leads is shown as such; only a leader that does not answer counts as
// failed.
Result<int> ShowPartitions(const protocol::Reply& status, const ClusterOptions& options,
                           Context& context) {
  FleetLeaders leaders = FleetLeaders::Of(status, context.settings, context.login);
  std::map<std::size_t, protocol::Reply> of_leaders;
  bool has_failed = false;
  for (std::size_t partition = 0; partition < leaders.size(); ++partition) {
    Client* const client = leaders.leader(partition).client;
    if (client == nullptr) continue;
    Result<protocol::Reply> own = client->Ask({"CLUSTER", "STATUS"});
    has_failed = has_failed || !own;
    if (own) {
      of_leaders.emplace(partition, std::move(*own));
    } else {
      leaders.Fail(partition, own.failure());
    }
  }
  const std::vector<PartitionView> partitions = PartitionsOf(status, of_leaders);
  if (options.is_json) {
    boost::json::object object = json::ObjectOf(status);
    object["leaders"] = ArrayOf(partitions);
    AddFailed(object, leaders);
    context.PrintJson(object);
  } else {
    context.Print(FleetText(status, partitions, UnixTimeMs(), context.out));
  }
  if (has_failed) return context.Conclude(leaders, kExitDone);
  const bool is_led = std::ranges::none_of(partitions, &std::string::empty, &PartitionView::leader);
  return is_led ? kExitDone : kExitNo;
}

// For the first seconds after a leader has died, standbys neither relay nor answer. So the request
// is repeated until they do.
Result<protocol::Reply> AskForStatus(Client& client) {
  const TimeMs until = NowMs() + kStatusPatienceMs;
  for (;;) {
    Result<protocol::Reply> status = client.Ask({"CLUSTER", "STATUS"});
    const bool may_pass = !status && status.failure().exit_code == kExitUnreachable;
    if (!may_pass || !client.has_choice() || NowMs() > until) return status;
    std::this_thread::sleep_for(kNextLook);
    client.Reconnect();
  }
}

Result<int> ShowCluster(const ClusterOptions& options, Context& context) {
  context.client.AcceptStandby();
  const Result<protocol::Reply> status = AskForStatus(context.client);
  if (!status) return status.failure();
  if (HasSeveralPartitions(*status)) return ShowPartitions(*status, options, context);
  if (options.is_json) {
    context.PrintJson(json::ObjectOf(*status));
  } else {
    context.Print(FleetText(*status, UnixTimeMs(), context.out));
  }
  return TextField(*status, "leader").empty() ? kExitNo : kExitDone;
}

// FAILOVER

struct Leadership {
  std::string leader;
  std::int64_t epoch = 0;
};

Result<Leadership> AskForLeader(Client& client) {
  const Result<protocol::Reply> status = client.Ask({"CLUSTER", "STATUS"});
  if (!status) return status.failure();
  return Leadership{TextField(*status, "leader"), IntegerOr(*status, "epoch")};
}

// Asks the node that leads the partition, according to the node that `client` is connected to.
Result<Leadership> AskForLeaderOf(std::size_t partition, Client& client, const Context& context) {
  const Result<protocol::Reply> status = client.Ask({"CLUSTER", "STATUS"});
  if (!status) return status.failure();
  if (!HasSeveralPartitions(*status)) {
    return Leadership{TextField(*status, "leader"), IntegerOr(*status, "epoch")};
  }
  const FleetLeaders leaders = FleetLeaders::Of(*status, context.settings, context.login);
  if (partition >= leaders.size() || leaders.leader(partition).failure) return Leadership{};
  return AskForLeader(*leaders.leader(partition).client);
}

// Waits until a node leads the partition with a higher epoch. Returns nullopt if none does by
// `until`.
std::optional<Leadership> AwaitSuccessor(const Leadership& before, std::size_t partition,
                                         TimeMs until, const Context& context) {
  // Uses a new client instead of the one that asked for the hand-over: the old leader closes its
  // connections, and at first it may be the only node that knows its successor.
  Client client(context.settings, context.login);
  client.AcceptStandby();
  while (NowMs() < until) {
    const Result<Leadership> now = AskForLeaderOf(partition, client, context);
    if (now && !now->leader.empty() && now->epoch > before.epoch) return *now;
    std::this_thread::sleep_for(kNextLook);
    if (!now) client.Reconnect();
  }
  return std::nullopt;
}

void PrintSuccessor(const Leadership& before, const Leadership& after, DurationMs took_ms,
                    bool is_json, const Context& context) {
  if (is_json) {
    boost::json::object object;
    json::AddText(object, "from", before.leader);
    json::AddText(object, "to", after.leader);
    object["epoch"] = after.epoch;
    object["took_ms"] = took_ms;
    context.PrintJson(object);
    return;
  }
  context.Print(context.out.Printable(after.leader) +
                (after.leader == before.leader ? " leads again" : " leads") + ", epoch " +
                std::to_string(after.epoch) + ", after " + ShowDuration(took_ms) + ".\n");
}

// While no standby has read the leader's log, the request is repeated, but not after `until`.
Result<protocol::Reply> AskForHandOver(Client& leader, const std::vector<std::string_view>& words,
                                       TimeMs until) {
  for (;;) {
    Result<protocol::Reply> reply = leader.Ask(words);
    const bool is_early = !reply && reply.failure().exit_code == kExitNotObtained;
    if (!is_early || NowMs() + kNextLook.count() > until) return reply;
    std::this_thread::sleep_for(kNextLook);
  }
}

Result<int> FailOver(const ClusterOptions& options, Context& context) {
  Result<FleetLeaders> leaders = context.FindLeaders();
  if (!leaders) return leaders.failure();
  const auto partition =
      ChoosePartition(options.partition, *leaders, "each has a leader that can hand over");
  if (!partition) return partition.failure();
  Client& leader = *leaders->leader(*partition).client;
  const Result<Leadership> before = AskForLeader(leader);
  if (!before) return before.failure();
  std::vector<std::string_view> words = {"CLUSTER", "FAILOVER"};
  if (options.to) words.insert(words.end(), {"TO", *options.to});
  if (options.is_forced) words.emplace_back("FORCE");
  const TimeMs began_at = NowMs();
  const DurationMs wait_ms = options.wait_ms.value_or(kFailoverWaitMs);
  const Result<protocol::Reply> reply = AskForHandOver(leader, words, began_at + wait_ms);
  if (!reply) return reply.failure();
  if (wait_ms == 0) {
    if (options.is_json) PrintSuccessor(*before, {}, 0, true, context);
    return kExitDone;
  }
  const auto after = AwaitSuccessor(*before, *partition, began_at + wait_ms, context);
  if (!after) {
    return Failure{kExitNotObtained, "the hand-over has begun, but no node has taken over within " +
                                         ShowDuration(wait_ms) +
                                         "; `fairlockctl cluster status` shows the fleet"};
  }
  PrintSuccessor(*before, *after, NowMs() - began_at, options.is_json, context);
  return after->leader == before->leader ? kExitNo : kExitDone;
}

// ACCEPT-RESTORE

// The outcome of asking the nodes of one partition.
struct Acceptance {
  bool is_accepted = false;        // a node has accepted
  bool has_answered = false;       // a node has answered, perhaps that there is nothing to accept
  std::optional<Failure> failure;  // why another one has not answered
};

// Asks every node that `status` lists. Nodes that await no acceptance answer with an error.
std::map<std::int64_t, Acceptance> AcceptOnNodes(const protocol::Reply& status,
                                                 const Context& context) {
  std::map<std::int64_t, Acceptance> partitions;
  for (std::int64_t i = 0; i < IntegerOr(status, "partitions"); ++i) partitions[i];
  const protocol::Reply* const nodes = FindField(status, "nodes");
  if (nodes == nullptr) return partitions;
  for (const protocol::Reply& node : nodes->elements) {
    Acceptance& acceptance = partitions[IntegerOr(node, "partition")];
    Client client(SettingsFor(AddressOf(node, UsesTls(context.settings)), context.settings),
                  context.login);
    client.StayAtServer();
    client.AcceptStandby();
    const Result<protocol::Reply> reply = client.Ask({"CLUSTER", "ACCEPT-RESTORE"});
    acceptance.is_accepted = acceptance.is_accepted || reply;
    const bool is_answered = reply || reply.failure().exit_code == kExitRefused;
    acceptance.has_answered = acceptance.has_answered || is_answered;
    if (!is_answered && !acceptance.failure) acceptance.failure = reply.failure();
  }
  return partitions;
}

Result<int> AcceptRestoreOfAll(const ClusterOptions& options, Context& context) {
  const Result<protocol::Reply> status = context.client.Ask({"CLUSTER", "STATUS"});
  if (!status) return status.failure();
  boost::json::array accepted;
  boost::json::array failed;
  std::string text;
  std::optional<Failure> failure;
  for (const auto& [partition, acceptance] : AcceptOnNodes(*status, context)) {
    const std::string name = "partition " + std::to_string(partition);
    if (acceptance.is_accepted) {
      accepted.push_back(partition);
      text += name + ": accepted\n";
    } else if (acceptance.has_answered) {
      text += name + ": nothing to accept\n";
    } else {
      const Failure why = acceptance.failure.value_or(
          Failure{kExitUnreachable, "the fleet has no node of this partition"});
      failed.push_back(boost::json::object{{"partition", partition}, {"error", why.text}});
      text += name + " failed: " + why.text + "\n";
      if (!failure) failure = Failure{why.exit_code, name + " failed: " + why.text};
    }
  }
  if (accepted.empty() && !failure) {
    return Failure{kExitRefused, "there is nothing to accept: etcd was not restored"};
  }
  if (options.is_json) {
    context.PrintJson(boost::json::object{{"accepted", accepted}, {"failed", failed}});
  } else {
    context.Print(text);
  }
  if (failure) return *failure;
  return kExitDone;
}

Result<int> AcceptRestore(const ClusterOptions& options, Context& context) {
  if (options.is_json && !options.is_yes) {
    return Failure{kExitWrongUse, "--json needs --yes, because it cannot ask for confirmation"};
  }
  context.client.AcceptStandby();
  if (!options.is_yes) {
    context.Print(
        "The fleet continues with the locks that are in the backup of etcd. Locks that were "
        "granted "
        "after the backup are lost, and those that were released after it are held again.\n");
    const Result<bool> is_sure = Confirm(context, "Accept the restored state?");
    if (!is_sure) return is_sure.failure();
    if (!*is_sure) return kExitNo;
  }
  if (options.is_all) return AcceptRestoreOfAll(options, context);
  const Result<protocol::Reply> reply = context.client.Ask({"CLUSTER", "ACCEPT-RESTORE"});
  if (!reply) return reply.failure();
  if (options.is_json) {
    context.PrintJson(boost::json::object{{"accepted", true}});
  } else {
    context.Print("Accepted; a node will take over soon.\n");
  }
  return kExitDone;
}

// IMPORT

// The arguments of a fairlockd that reads the configuration of a node.
std::vector<std::string> ArgumentsOfNode(const ClusterOptions& options) {
  std::error_code ignored;
  if (options.config) return {"--config", *options.config};
  if (!std::filesystem::exists(kServerConfig, ignored)) return {};
  return {"--config", std::string(kServerConfig)};
}

Result<int> Import(const ClusterOptions& options, Context& context) {
  std::vector<std::string> arguments = ArgumentsOfNode(options);
  arguments.insert(arguments.end(), {"--import", options.folder});
  const Result<int> done = RunFairlockd(arguments, options.is_json);
  if (!done) return done.failure();
  if (options.is_json) {
    boost::json::object object;
    json::AddText(object, "imported", options.folder);
    context.PrintJson(object);
  }
  return kExitDone;
}

// CREATE

// REQUIRES: the number of partitions was given.
std::vector<std::string> ArgumentsOfNewFleet(const ClusterOptions& options) {
  std::vector<std::string> arguments = ArgumentsOfNode(options);
  if (options.etcd) arguments.insert(arguments.end(), {"--cluster-etcd", *options.etcd});
  if (options.name) arguments.insert(arguments.end(), {"--cluster-name", *options.name});
  arguments.insert(arguments.end(), {"--create-fleet", std::to_string(*options.partitions)});
  return arguments;
}

Result<int> Create(const ClusterOptions& options, Context& context) {
  if (!options.partitions) {
    return Failure{kExitWrongUse, "--partitions is missing: how many partitions share the keys"};
  }
  const Result<int> done = RunFairlockd(ArgumentsOfNewFleet(options), options.is_json);
  if (!done) return done.failure();
  if (options.is_json) {
    context.PrintJson(boost::json::object{{"partitions", *options.partitions}});
  }
  return kExitDone;
}

// COPY

Result<int> Copy(const ClusterOptions& options, Context& context) {
  if (!options.partitions) {
    return Failure{kExitWrongUse, "--partitions is missing: how many the new fleet has"};
  }
  std::vector<std::string> arguments = ArgumentsOfNewFleet(options);
  arguments.insert(arguments.end(), {"--copy-from", options.fleet});
  if (options.from_etcd)
    arguments.insert(arguments.end(), {"--copy-from-etcd", *options.from_etcd});
  const Result<int> done = RunFairlockd(arguments, options.is_json);
  if (!done) return done.failure();
  if (options.is_json) {
    boost::json::object object;
    json::AddText(object, "copied", options.fleet);
    object["partitions"] = *options.partitions;
    context.PrintJson(object);
  }
  return kExitDone;
}

Action DescribeClusterStatus(Arguments& arguments) {
  auto options = std::make_shared<ClusterOptions>();
  arguments.Flag("--json", options->is_json, "Print JSON: the map of CLUSTER STATUS");
  return [options](Context& context) { return ShowCluster(*options, context); };
}

Action DescribeFailover(Arguments& arguments) {
  auto options = std::make_shared<ClusterOptions>();
  arguments.Number("--partition", options->partition, {0, kPartitionMax},
                   "The partition whose leader is to hand over, if there are several");
  arguments.Text("--to", options->to, "Name of the node that is to lead (any standby)");
  arguments.Flag("--force", options->is_forced,
                 "Hand over even to a standby that has not read the leader's log yet");
  arguments.Duration("--wait,-w", options->wait_ms,
                     "How long to wait until another node leads (30s; 0 for not at all)");
  arguments.Flag("--json", options->is_json, "Print JSON: both leaders, and how long it took");
  return [options](Context& context) { return FailOver(*options, context); };
}

Action DescribeAcceptRestore(Arguments& arguments) {
  auto options = std::make_shared<ClusterOptions>();
  arguments.Flag("--all", options->is_all,
                 "Accept for all partitions, by asking every node; otherwise for the partition of "
                 "the node that is asked");
  arguments.Flag("--yes,-y", options->is_yes, "Do not ask for confirmation");
  arguments.Flag("--json", options->is_json, "Print JSON; needs --yes");
  return [options](Context& context) { return AcceptRestore(*options, context); };
}

void DescribeNewFleet(Arguments& arguments, ClusterOptions& options,
                      const std::string& partitions) {
  arguments.Number("--partitions", options.partitions, {1, 64}, partitions);
  arguments.Text("--etcd", options.etcd, "Members of etcd, instead of cluster_etcd in the file");
  arguments.Text("--name", options.name, "Name of the fleet, instead of cluster_name in the file");
  arguments.Text("--config", options.config,
                 "Configuration file of a node of the fleet (/etc/fairlock/fairlock.yaml)");
}

Action DescribeCopy(Arguments& arguments) {
  auto options = std::make_shared<ClusterOptions>();
  arguments.Required("FLEET", options->fleet, "Name of a fleet whose nodes are stopped");
  DescribeNewFleet(arguments, *options, "How many partitions the new fleet has");
  arguments.Text("--from-etcd", options->from_etcd,
                 "Members of the etcd that stores FLEET, if it is another one");
  arguments.Flag("--json", options->is_json, "Print JSON: the copied fleet, and the partitions");
  return [options](Context& context) { return Copy(*options, context); };
}

Action DescribeCreate(Arguments& arguments) {
  auto options = std::make_shared<ClusterOptions>();
  DescribeNewFleet(arguments, *options,
                   "How many partitions share the keys; `cluster copy` can change this later");
  arguments.Flag("--json", options->is_json, "Print JSON: the number of partitions");
  return [options](Context& context) { return Create(*options, context); };
}

Action DescribeImport(Arguments& arguments) {
  auto options = std::make_shared<ClusterOptions>();
  arguments.Required("DIR", options->folder, "Data folder of a server that is stopped");
  arguments.Text("--config", options->config,
                 "Configuration file of a node of the fleet (/etc/fairlock/fairlock.yaml)");
  arguments.Flag("--json", options->is_json, "Print JSON: the imported folder");
  return [options](Context& context) { return Import(*options, context); };
}

constexpr auto kClusterCommands = std::to_array<CommandRow>({
    {"cluster", kServer, "Inspects and manages a fleet of servers", nullptr},
    {"cluster status", kServer, "Shows the leaders, the nodes and etcd", DescribeClusterStatus},
    {"cluster failover", kServer, "Makes the leader hand over to a standby", DescribeFailover},
    {"cluster accept-restore", kServer, "Continues on an etcd restored from a backup",
     DescribeAcceptRestore},
    {"cluster create", kServer, "Creates a fleet whose partitions share the keys", DescribeCreate},
    {"cluster copy", kServer, "Copies a stopped fleet to a new one with other partitions",
     DescribeCopy},
    {"cluster import", kServer, "Starts a new fleet with the locks from a data folder",
     DescribeImport},
});

}  // namespace

std::span<const CommandRow> ClusterCommands() { return kClusterCommands; }

}  // namespace fairlock::cli

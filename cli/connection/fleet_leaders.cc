#include "cli/connection/fleet_leaders.h"

#include <algorithm>

#include "cli/connection/reply_fields.h"
#include "cli/connection/server_list.h"
#include "cli/output/printable.h"

namespace fairlock::cli {

namespace {

Failure NobodyLeads(std::size_t partition) {
  return {kExitUnreachable,
          "no node leads partition " + std::to_string(partition) + "; try again in a moment"};
}

}  // namespace

// The address is "10.0.0.1:3247" or "[::1]:3247"; its port is 0 if the node has only a TLS port.
ServerAddress AddressOf(const protocol::Reply& node, bool is_tls) {
  const std::string text = TextField(node, "address");
  const auto tls_port = static_cast<std::uint16_t>(IntegerOr(node, "tls_port"));
  const bool has_plain = !text.ends_with(":0");
  const auto servers = ParseServers(has_plain ? text : text.substr(0, text.size() - 2));
  if (!servers) return {};
  ServerAddress address = servers->front();
  if (tls_port != 0 && (is_tls || !has_plain)) address.port = tls_port;
  return address;
}

std::vector<LeaderAddress> LeadersOf(const protocol::Reply& status, bool is_tls) {
  const std::int64_t partitions = std::clamp<std::int64_t>(IntegerOr(status, "partitions"), 0, 64);
  std::vector<LeaderAddress> leaders(static_cast<std::size_t>(partitions));
  const protocol::Reply* const nodes = FindField(status, "nodes");
  if (nodes == nullptr) return leaders;
  for (const protocol::Reply& node : nodes->elements) {
    const auto partition = static_cast<std::size_t>(IntegerOr(node, "partition"));
    if (TextField(node, "role") != "leader" || partition >= leaders.size()) continue;
    leaders[partition] = {TextField(node, "name"), AddressOf(node, is_tls)};
  }
  return leaders;
}

Result<FleetLeaders> FleetLeaders::Find(Client& entry, const Settings& settings,
                                        const Login& login) {
  if (const auto failure = entry.Connect()) return *failure;
  if (!entry.is_in_cluster()) return FleetLeaders(entry);
  const Result<protocol::Reply> status = entry.Ask({"CLUSTER", "STATUS"});
  if (!status) return status.failure();
  const std::int64_t partitions = IntegerOr(*status, "partitions");
  if (partitions == 1) return FleetLeaders(entry);
  if (partitions == 0) {
    return Failure{kExitUnreachable, entry.ServerName() +
                                         " does not know the fleet's partitions yet; try again in "
                                         "a moment"};
  }
  FleetLeaders found = Of(*status, settings, login);
  if (found.TotalFailure()) {
    return Failure{kExitUnreachable, "no node leads any of the " + std::to_string(partitions) +
                                         " partitions; `fairlockctl cluster status` shows the "
                                         "fleet"};
  }
  return found;
}

FleetLeaders FleetLeaders::Of(const protocol::Reply& status, const Settings& settings,
                              const Login& login) {
  FleetLeaders found;
  for (const LeaderAddress& leader : LeadersOf(status, UsesTls(settings))) {
    found.leaders_.push_back({.node = leader.node, .client = nullptr, .failure = {}});
    if (leader.address.host.empty()) {
      found.leaders_.back().failure = NobodyLeads(found.leaders_.size() - 1);
      continue;
    }
    found.clients_.emplace_back(SettingsFor(leader.address, settings), login);
    found.clients_.back().StayAtServer();
    found.leaders_.back().client = &found.clients_.back();
  }
  return found;
}

void FleetLeaders::Fail(std::size_t partition, Failure failure) {
  if (!leaders_[partition].failure) leaders_[partition].failure = std::move(failure);
}

std::optional<Failure> FleetLeaders::TotalFailure() const {
  const bool is_total = std::ranges::all_of(
      leaders_, [](const Leader& leader) { return leader.failure.has_value(); });
  return is_total ? FirstFailure() : std::nullopt;
}

std::optional<Failure> FleetLeaders::FirstFailure() const {
  const auto first = std::ranges::find_if(
      leaders_, [](const Leader& leader) { return leader.failure.has_value(); });
  return first == leaders_.end() ? std::nullopt : first->failure;
}

std::string FleetLeaders::NameOf(std::size_t partition) const {
  const Leader& leader = leaders_[partition];
  const std::string text = "partition " + std::to_string(partition);
  if (leader.client == nullptr) return text;
  return text + " (" + PrintableText(leader.node, Charset::kUtf8) + " at " +
         leader.client->ServerName() + ")";
}

std::vector<std::string> FleetLeaders::FailureTexts() const {
  std::vector<std::string> texts;
  for (std::size_t partition = 0; is_several() && partition < size(); ++partition) {
    const auto& failure = leaders_[partition].failure;
    if (failure) texts.push_back(NameOf(partition) + " failed: " + failure->text);
  }
  return texts;
}

Result<protocol::Reply> FleetLeaders::AskLeader(Client& client,
                                                std::span<const std::string_view> request) {
  if (!is_several()) return client.Ask(request);
  if (const auto failure = client.Connect()) return *failure;
  if (client.is_at_standby()) {
    return Failure{kExitUnreachable, "it does not lead any more; try again in a moment"};
  }
  return client.Ask(request);
}

Result<std::vector<FleetLeaders::LeaderReply>> FleetLeaders::AskAll(
    std::span<const std::string_view> request) {
  std::vector<LeaderReply> replies;
  for (std::size_t partition = 0; partition < leaders_.size(); ++partition) {
    if (leaders_[partition].failure) continue;
    Result<protocol::Reply> reply = AskLeader(*leaders_[partition].client, request);
    if (reply) {
      replies.push_back({partition, std::move(*reply)});
    } else {
      Fail(partition, reply.failure());
    }
  }
  if (auto failure = TotalFailure()) return *failure;
  return replies;
}

}  // namespace fairlock::cli

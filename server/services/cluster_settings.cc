#include "server/services/cluster_settings.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "server/command/table/text.h"
#include "server/config/config_options.h"
#include "server/net/relay/leader_route.h"
#include "storage/replicated/fleet_record.h"
#include "text/address.h"

namespace fairlock::server {

namespace {

constexpr std::size_t kNameBytesMax = 64;
constexpr std::uint64_t kPartOfQuotaKeptFree = 5;
// If a node is paused between its claim and its hand-over, its record disappears before this time
// has passed. That counts as a change, so no other node hands over meanwhile.
constexpr std::chrono::milliseconds kBalanceAfterMin{10'000};

std::string MachineName() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string NodeName(const Config& config) {
  return config.cluster_node.empty() ? MachineName() : config.cluster_node;
}

// Whether the name is allowed. The rules are strict because names become part of keys in etcd.
bool IsName(std::string_view name) {
  const auto may_be_in_a_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= kNameBytesMax &&
         std::ranges::all_of(name, may_be_in_a_name);
}

std::string WrongName(std::string_view option, const std::string& name) {
  return std::string(option) + " must have 1 to 64 letters, digits and . _ -, got \"" + name + "\"";
}

// The environment variable that contains what is remembered, as "PARTITION EPOCH SEQUENCE ETCD",
// the last of which is the id of the etcd cluster.
constexpr const char* kRememberedBeat = "FAIRLOCK_REMEMBERED_BEAT";

struct Remembered {
  std::uint32_t partition = 0;
  storage::replicated::Beat beat;
  std::uint64_t etcd_cluster = 0;
};

std::optional<Remembered> RememberedBeat() {
  const char* const text = std::getenv(kRememberedBeat);
  if (text == nullptr) return std::nullopt;
  Remembered remembered;
  std::istringstream(text) >> remembered.partition >> remembered.beat.epoch >>
      remembered.beat.sequence >> remembered.etcd_cluster;
  return remembered;
}

// Reads cluster_partition, and what is remembered. A process that was executed again continues with
// its partition, unless the option now names another one.
void ReadPartition(const std::string& option, ClusterSettings& settings) {
  if (option != "auto") {
    const auto number = command::ParseInteger(option);
    if (!number || *number < 0 || *number >= storage::replicated::FleetRecord::kPartitionsMax) {
      settings.error = "cluster_partition must be auto, or a number from 0 to " +
                       std::to_string(storage::replicated::FleetRecord::kPartitionsMax - 1) +
                       ", got \"" + option + "\"";
      return;
    }
    settings.partition = static_cast<std::uint32_t>(*number);
  }
  const auto remembered = RememberedBeat();
  settings.options.etcd.pin =
      std::make_shared<storage::etcd::ClusterPin>(remembered ? remembered->etcd_cluster : 0);
  if (!remembered || settings.partition.value_or(remembered->partition) != remembered->partition) {
    return;
  }
  settings.partition = remembered->partition;
  settings.options.highest = remembered->beat;
}

}  // namespace

void RememberBeat(std::uint32_t partition, const storage::replicated::Beat& beat,
                  std::uint64_t etcd_cluster) {
  const std::string text = std::to_string(partition) + " " + std::to_string(beat.epoch) + " " +
                           std::to_string(beat.sequence) + " " + std::to_string(etcd_cluster);
  ::setenv(kRememberedBeat, text.c_str(), 1);
}

std::uint64_t FreeQuotaMin(const ClusterSettings& settings) {
  return settings.quota_bytes / kPartOfQuotaKeptFree;
}

std::string ComparedOptions(const Config& config) {
  constexpr auto kCompared = std::to_array<std::string_view>(
      {"cluster_keep_lines", "restart_grace", "start_delay", "reconnect_grace", "max_keep",
       "max_locks", "max_places", "max_places_per_key", "max_memory", "value_elements_max",
       "value_bytes_max"});
  std::string words;
  for (const std::string_view name : kCompared) {
    const Option* const option = FindOption(name);
    if (option == nullptr) continue;
    words += words.empty() ? "" : " ";
    words.append(name).append("=").append(ShowOption(*option, config));
  }
  return words;
}

std::string OwnAddress(const Config& config) {
  std::string address = config.cluster_announce;
  if (address.empty()) address = NodeName(config) + ":" + std::to_string(config.port);
  // Only the TLS port is announced in this case, and separately from the address.
  if (config.port == 0) address = std::string(text::SplitAddress(address).host) + ":0";
  return address;
}

ClusterSettings ReadClusterSettings(const Config& config) {
  ClusterSettings settings;
  storage::replicated::ClusterOptions& options = settings.options;
  auto endpoints = storage::etcd::ParseEndpoints(config.cluster_etcd);
  if (!endpoints.ok()) {
    settings.error = "cluster_etcd " + endpoints.status().message();
    return settings;
  }
  options.etcd.endpoints = std::move(endpoints.value());
  options.etcd.ca_file = config.cluster_etcd_ca;
  options.etcd.cert_file = config.cluster_etcd_cert;
  options.etcd.key_file = config.cluster_etcd_key;
  options.etcd.user = config.cluster_etcd_user;
  if (!config.cluster_etcd_password_file.empty()) {
    options.etcd.password_file = config.cluster_etcd_password_file;
    auto password = storage::etcd::ReadPasswordFile(options.etcd.password_file);
    if (password.ok()) {
      options.etcd.password = std::move(password.value());
    } else {
      settings.error = "cluster_etcd_password_file: " + password.status().message();
    }
  }
  options.fleet = config.cluster_name;
  options.node = NodeName(config);
  options.address = OwnAddress(config);
  options.tls_port = static_cast<std::uint16_t>(config.tls_port);
  ReadPartition(config.cluster_partition, settings);
  settings.dialect = config.cluster_dialect;
  settings.machine = config.cluster_machine.empty() ? MachineName() : config.cluster_machine;
  settings.balance_after = std::chrono::milliseconds(config.cluster_balance);
  if (config.cluster_balance != 0 && settings.balance_after < kBalanceAfterMin) {
    settings.error = "cluster_balance must be 0, or at least 10s, got " +
                     std::to_string(config.cluster_balance) + "ms";
  }
  settings.compared_options = ComparedOptions(config);
  options.compacts = config.cluster_compaction;
  settings.sentinel_port = static_cast<std::uint16_t>(config.sentinel_port);
  settings.http_port = static_cast<std::uint16_t>(config.http_port);
  settings.is_https = config.http_tls;
  settings.relays = config.cluster_relay;
  settings.quota_bytes = static_cast<std::uint64_t>(config.cluster_etcd_quota);
  if (!IsName(options.fleet)) settings.error = WrongName("cluster_name", options.fleet);
  if (!IsName(options.node)) settings.error = WrongName("cluster_node", options.node);
  if (!net::ParseLeaderAddress(options.address)) {
    settings.error = "cluster_announce must be host:port, got \"" + options.address + "\"";
  }
  return settings;
}

std::string CheckCluster(const Config& config) {
  return config.cluster_etcd.empty() ? "" : ReadClusterSettings(config).error;
}

}  // namespace fairlock::server

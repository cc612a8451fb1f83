#include <algorithm>

#include "tests/simulation/fleet/fleet.h"
#include "tests/simulation/random.h"

namespace fairlock::fleet {

namespace {

// The choices made here do not change what seeds without partitions choose.
void ChooseFleet(Setting& setting, bool has_partitions) {
  simulation::Random random(setting.seed ^ 0x70617274);
  if (!random.OneIn(4) && !has_partitions) return;
  setting.partitions = 3;
  setting.nodes = static_cast<int>(random.Between(3, 7));
  setting.late_nodes = static_cast<int>(random.Between(0, 2));
  setting.machines = static_cast<int>(random.Between(1, setting.nodes));
  setting.lost_nodes_max = static_cast<int>(random.Between(0, setting.nodes - 1));
  setting.has_fixed_nodes = random.OneIn(4);
  setting.created_at = random.OneIn(2) ? 0 : random.Between(0, 1'500 * kMs);
  setting.clients = static_cast<int>(random.Between(3, 6));
  setting.keys = static_cast<int>(random.Between(3, 4));  // in all partitions
  setting.trouble_every = random.Between(300 * kMs, 3 * kSecond);
  setting.restores_backup = random.OneIn(3);
  if (setting.restores_backup) setting.wall_skew = 0;
  setting.listeners = 0;  // the channel of a NOTIFY would need the slot of each key
}

// Every other fleet of several partitions spreads its leaders over the machines. Nodes fail less
// often, because this needs some calm.
void ChooseBalance(Setting& setting) {
  simulation::Random random(setting.seed ^ 0x62616c61);
  if (setting.partitions == 1 || random.OneIn(2)) return;
  setting.balance_after = random.Between(7 * kSecond, 9 * kSecond);
  setting.machines = static_cast<int>(random.Between(2, 3));
  setting.trouble_every = random.Between(2 * kSecond, 6 * kSecond);
  // Then leaders on one machine often claim a hand-over at the same time.
  setting.has_only_slow_etcd = random.OneIn(3);
  if (!setting.has_only_slow_etcd) return;
  setting.nodes = static_cast<int>(random.Between(5, 7));
  setting.machines = 2;
  setting.late_nodes = 0;
  setting.restores_backup = false;
  setting.network = {};
  setting.trouble_every = random.Between(kSecond, 3 * kSecond);
}

// The nodes of some fleets of one partition write records too. One of the nodes that do may not be
// reachable.
void ChooseRecords(Setting& setting) {
  simulation::Random random(setting.seed ^ 0x7265636f);
  setting.has_records = setting.partitions > 1 || random.OneIn(8);
  if (!setting.has_records || setting.has_only_slow_etcd) return;
  if (setting.partitions == 1) setting.nodes = static_cast<int>(random.Between(3, 4));
  setting.breaks_watches = random.OneIn(4);
  const auto node = static_cast<int>(random.Below(static_cast<std::uint64_t>(setting.nodes)));
  if (random.OneIn(4)) setting.unreachable = node;
}

// In some fleets, snapshots begin when the log has many small frames, as in those with few locks.
void ChooseFrames(Setting& setting) {
  simulation::Random random(setting.seed ^ 0x6672616d);
  if (!random.OneIn(8)) return;
  setting.batches_max = static_cast<std::uint64_t>(random.Between(10, 60));
  setting.batch_bytes_max = 64 << 20;
  setting.frame_bytes_max = 1 << 20;
}

// More trouble with etcd. The choices made here do not change those above.
void ChooseEtcdTrouble(Setting& setting) {
  simulation::Random random(setting.seed ^ 0x65746364);
  if (setting.has_only_slow_etcd) return;
  setting.changes_passwords = random.OneIn(8);
  setting.has_second_endpoint = random.OneIn(8);
  setting.cuts_off_for_long = random.OneIn(8);
  setting.fails_at_take_overs = random.OneIn(8);
  // The leader must last until etcd is back.
  if (setting.fails_at_take_overs) setting.trouble_every = 10 * kSecond;
}

}  // namespace

Setting MakeSetting(std::uint64_t seed, bool has_partitions) {
  simulation::Random random(seed);
  const auto some = [&](std::uint64_t often) {
    return random.OneIn(2) ? std::uint64_t{0} : often + random.Below(often * 4);
  };
  Setting setting;
  setting.seed = seed;
  setting.clients = static_cast<int>(random.Between(2, 5));
  setting.keys = static_cast<int>(random.Between(1, 2));
  setting.think = random.Between(20 * kMs, 600 * kMs);
  setting.restart_grace = random.Between(3 * kSecond, 15 * kSecond);
  setting.turn = random.Between(50, 3 * kMs);
  setting.wall_skew = random.OneIn(2) ? 0 : random.Between(kSecond, 100 * kSecond);
  setting.keeps_lines = !random.OneIn(5);
  setting.etcd_revision = random.OneIn(2) ? 1 : random.Between(1, 60'000);
  setting.compact_every = random.OneIn(2) ? 20'000 : random.Between(5, 200);
  setting.frame_bytes_max =
      static_cast<std::size_t>(random.OneIn(2) ? 1 << 20 : random.Between(60, 400));
  setting.restores_backup = random.OneIn(4);
  if (setting.restores_backup) setting.wall_skew = 0;
  setting.trouble_every = random.Between(400 * kMs, 5 * kSecond);
  setting.network = {.lost_request = some(20),
                     .lost_answer = some(15),
                     .repeated = some(15),
                     .refused = some(30),
                     .slow = some(10),
                     .very_slow = some(40),
                     .cut_stream = some(20)};
  setting.restore_spares_standbys = !random.OneIn(3);
  setting.listeners = static_cast<int>(random.Between(0, 2));
  setting.batch_bytes_max = static_cast<std::uint64_t>(random.Between(200, 4 << 10));
  // Half of the fleets keep everything, a quarter nothing, and a quarter a little.
  setting.kept_bytes_max = static_cast<std::size_t>(
      random.OneIn(2) ? 64 << 20 : std::max<std::int64_t>(random.Between(-400, 400), 0));
  ChooseFleet(setting, has_partitions);
  ChooseBalance(setting);
  ChooseRecords(setting);
  ChooseFrames(setting);
  ChooseEtcdTrouble(setting);
  return setting;
}

std::string TextOf(const Setting& setting) {
  return "seed " + std::to_string(setting.seed) + ": " + std::to_string(setting.partitions) +
         (setting.partitions == 1 ? " partition, " : " partitions, ") +
         std::to_string(setting.nodes) + " nodes and " + std::to_string(setting.late_nodes) +
         " later, cluster_balance " + std::to_string(setting.balance_after / kMs) + " ms, " +
         std::to_string(setting.clients) + " clients, " + std::to_string(setting.keys) +
         " keys, restart_grace " + std::to_string(setting.restart_grace / kMs) +
         " ms, cluster_keep_lines " + (setting.keeps_lines ? "yes" : "no") +
         ", etcd's first revision " + std::to_string(setting.etcd_revision);
}

}  // namespace fairlock::fleet

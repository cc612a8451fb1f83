#include "storage/replicated/fleet_record.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "text/number.h"

namespace fairlock::storage::replicated {

namespace {

constexpr std::size_t kRecordBytesMax = 4'096;

// The number in the object's member `name`; 0 if it is not such a number.
std::uint32_t NumberIn(const boost::json::object& object, std::string_view name) {
  const boost::json::value* const value = object.if_contains(name);
  if (value == nullptr || !value->is_number()) return 0;
  boost::system::error_code error;
  const auto number = value->to_number<std::uint32_t>(error);
  return error ? 0 : number;
}

// The number in the object's member `name`, which has hexadecimal digits; 0 if there is none.
std::uint64_t HexIn(const boost::json::object& object, std::string_view name) {
  const boost::json::value* const value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return 0;
  const boost::json::string& text = value->get_string();
  return text::ParseNumber<std::uint64_t>({text.data(), text.size()}, 16).value_or(0);
}

}  // namespace

std::string FleetKey(const std::string& fleet_prefix) { return fleet_prefix + "fleet"; }

std::string FleetPrefix(std::string_view fleet) { return "/fairlock/" + std::string(fleet) + "/"; }

std::string PartitionPrefix(std::string_view fleet_prefix, std::uint32_t partition) {
  const std::string number = std::to_string(partition);
  return std::string(fleet_prefix) + "p/" + (number.size() < 2 ? "0" : "") + number + "/";
}

std::string EncodeFleet(const FleetRecord& record) {
  boost::json::object object{{"format", record.format}, {"partitions", record.partitions}};
  if (record.etcd_cluster != 0) {
    object["etcd_cluster"] = etcd::ShowClusterId(record.etcd_cluster);
  }
  return boost::json::serialize(object);
}

Result<FleetRecord> DecodeFleet(std::string_view json) {
  if (json.size() > kRecordBytesMax) return Damaged("a fleet's record has more than 4096 bytes");
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse({json.data(), json.size()}, error);
  if (error || !value.is_object()) return Damaged("a fleet's record is not a JSON object");
  const FleetRecord record{.format = NumberIn(value.get_object(), "format"),
                           .partitions = NumberIn(value.get_object(), "partitions"),
                           .etcd_cluster = HexIn(value.get_object(), "etcd_cluster")};
  if (record.format == 0 || record.partitions == 0 ||
      record.partitions > FleetRecord::kPartitionsMax) {
    return Damaged("a fleet's record has no valid format, or no valid number of partitions");
  }
  return record;
}

Result<FleetRecord> ReadFleet(etcd::EtcdClient& client, const std::string& fleet_prefix,
                              std::chrono::milliseconds call_timeout) {
  const etcd::RangeAnswer answer =
      client.Range({.key = FleetKey(fleet_prefix), .range_end = {}}, call_timeout);
  if (answer.outcome != etcd::Outcome::kDone) return Failed(answer.message);
  if (answer.found.empty()) {
    return Refused("the fleet does not exist; create it with `fairlockctl cluster create`");
  }
  return DecodeFleet(answer.found.front().value);
}

Result<FoundFleet> CreateOrReadFleet(etcd::EtcdClient& client, const std::string& fleet_prefix,
                                     const FleetRecord& record,
                                     std::chrono::milliseconds call_timeout) {
  const std::string key = FleetKey(fleet_prefix);
  etcd::Txn txn;
  txn.compares.push_back({.key = key, .target = etcd::Compare::Target::kCreateRevision});
  txn.then.push_back(etcd::Put{.key = key, .value = EncodeFleet(record)});
  txn.otherwise.push_back(etcd::Get{.key = key});
  const etcd::TxnAnswer answer = client.Transact(txn, call_timeout);
  if (answer.outcome == etcd::Outcome::kDone) {
    return FoundFleet{.record = record, .is_new = true};
  }
  if (answer.outcome != etcd::Outcome::kRefused) return Failed(answer.message);
  // The guard refuses only if the key exists, and the same transaction reads it.
  if (answer.found.empty()) return Failed("etcd did not return the key " + key);
  auto found = DecodeFleet(answer.found.front().value);
  if (!found.ok()) return found.status();
  return FoundFleet{.record = found.value()};
}

}  // namespace fairlock::storage::replicated

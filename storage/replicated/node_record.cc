#include "storage/replicated/node_record.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

namespace fairlock::storage::replicated {

namespace {

constexpr std::size_t kRecordBytesMax = 4'096;

std::string TextIn(const boost::json::object& object, std::string_view name) {
  const boost::json::value* const value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

// The number in the object's member `name`; 0 if it is not a number in the range of the type.
template <typename Number>
Number NumberIn(const boost::json::object& object, std::string_view name) {
  const boost::json::value* const value = object.if_contains(name);
  if (value == nullptr || !value->is_number()) return 0;
  boost::system::error_code error;
  const auto number = value->to_number<Number>(error);
  return error ? 0 : number;
}

bool IsTrueIn(const boost::json::object& object, std::string_view name) {
  const boost::json::value* const value = object.if_contains(name);
  return value != nullptr && value->is_bool() && value->get_bool();
}

}  // namespace

std::string EncodeNode(const NodeRecord& record) {
  return boost::json::serialize(
      boost::json::object{{"run", record.run},
                          {"address", record.address},
                          {"tls_port", record.tls_port},
                          {"sentinel_port", record.sentinel_port},
                          {"http_port", record.http_port},
                          {"https", record.is_https},
                          {"version", record.version},
                          {"machine", record.machine},
                          {"partition", record.partition},
                          {"epoch", record.epoch},
                          {"leads", record.leads},
                          {"in_sync", record.is_in_sync},
                          {"frames_behind", record.frames_behind},
                          {"started_unix_ms", record.started_unix_ms},
                          {"leads_since_unix_ms", record.leads_since_unix_ms},
                          {"options", record.options},
                          {"unreached", record.unreached},
                          {"refused_etcd", record.refused_etcd}});
}

Result<NodeRecord> DecodeNode(std::string_view name, std::string_view json) {
  if (json.size() > kRecordBytesMax) return Damaged("a node's record has more than 4096 bytes");
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse({json.data(), json.size()}, error);
  if (error || !value.is_object()) return Damaged("a node's record is not a JSON object");
  const boost::json::object& object = value.get_object();
  return NodeRecord{.name = std::string(name),
                    .run = TextIn(object, "run"),
                    .address = TextIn(object, "address"),
                    .tls_port = NumberIn<std::uint16_t>(object, "tls_port"),
                    .sentinel_port = NumberIn<std::uint16_t>(object, "sentinel_port"),
                    .http_port = NumberIn<std::uint16_t>(object, "http_port"),
                    .is_https = IsTrueIn(object, "https"),
                    .version = TextIn(object, "version"),
                    .machine = TextIn(object, "machine"),
                    .partition = NumberIn<std::uint32_t>(object, "partition"),
                    .epoch = NumberIn<std::uint64_t>(object, "epoch"),
                    .leads = IsTrueIn(object, "leads"),
                    .is_in_sync = IsTrueIn(object, "in_sync"),
                    .frames_behind = NumberIn<std::uint64_t>(object, "frames_behind"),
                    .started_unix_ms = NumberIn<std::int64_t>(object, "started_unix_ms"),
                    .leads_since_unix_ms = NumberIn<std::int64_t>(object, "leads_since_unix_ms"),
                    .options = TextIn(object, "options"),
                    .unreached = TextIn(object, "unreached"),
                    .refused_etcd = TextIn(object, "refused_etcd")};
}

}  // namespace fairlock::storage::replicated

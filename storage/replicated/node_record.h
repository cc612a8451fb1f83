// The record that a node writes about itself to etcd. It is for display, and a hint where clients
// are redirected and which partition a new node chooses; who leads does not depend on it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/status.h"

namespace fairlock::storage::replicated {

struct NodeRecord {
  std::string name = {};     // the end of its key
  std::string run = {};      // hexadecimal digits, different for each process
  std::string address = {};  // host:port at which others reach it
  std::uint16_t tls_port = 0;
  std::uint16_t sentinel_port = 0;
  std::uint16_t http_port = 0;  // on the host of its address; 0 if there is none
  bool is_https = false;        // whether http_port is for TLS
  std::string version = {};
  std::string machine = {};  // the name of the machine that it runs on
  std::uint32_t partition = 0;
  std::uint64_t epoch = 0;  // its epoch while it leads
  bool leads = false;
  bool is_in_sync = false;
  std::uint64_t frames_behind = 0;
  std::int64_t started_unix_ms = 0;
  std::int64_t leads_since_unix_ms = 0;  // 0 if it stands by
  // The options of the node that must be the same in a fleet, as words NAME=VALUE, separated by
  // spaces; empty if its version does not write them.
  std::string options = {};
  // The names of the other nodes of its partition that accept no connection from it at the address
  // that they announce, in order and separated by spaces.
  std::string unreached = {};
  // Its etcd endpoints that belong to another etcd cluster, separated by spaces.
  std::string refused_etcd = {};

  bool operator==(const NodeRecord&) const = default;
};

// Encodes the record as a JSON object, which is readable in the output of `etcdctl get`.
std::string EncodeNode(const NodeRecord& record);
// Ignores unknown members, which a newer version may write.
Result<NodeRecord> DecodeNode(std::string_view name, std::string_view json);

}  // namespace fairlock::storage::replicated

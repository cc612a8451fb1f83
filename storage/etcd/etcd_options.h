// The endpoints of etcd, and how a client connects and logs in.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/etcd/cluster_pin.h"
#include "storage/status.h"

namespace fairlock::storage::etcd {

struct EtcdEndpoint {
  std::string address = {};  // host:port, or [IPv6 address]:port
  bool is_tls = false;

  bool operator==(const EtcdEndpoint&) const = default;
};

struct EtcdOptions {
  std::vector<EtcdEndpoint> endpoints = {};

  // For endpoints with https. Without a CA file, the CAs of the machine are trusted. The files are
  // read when a client is created, and again when a connection has failed.
  std::string ca_file = {};
  std::string cert_file = {};  // the client's certificate; requires key_file
  std::string key_file = {};

  std::string user = {};  // empty means no login
  std::string password = {};
  // If set, the password is the first line of this file, which is read at each login. If it cannot
  // be read, `password` counts.
  std::string password_file = {};

  // Shared by all clients that must use the same cluster. Null means that endpoints are not
  // checked.
  std::shared_ptr<ClusterPin> pin = {};

  // How long a client waits for one endpoint before it turns to the next one.
  std::chrono::milliseconds attempt_timeout{700};
};

// Parses a list of addresses such as "host:2379,https://host2:2379". There may be spaces, and each
// address may begin with http:// or https://. The error message is the rest of a sentence that
// begins with the name of the option.
Result<std::vector<EtcdEndpoint>> ParseEndpoints(std::string_view text);

// Returns an error if the options contradict each other.
Status CheckOptions(const EtcdOptions& options);

// Returns the first line of the file.
Result<std::string> ReadPasswordFile(const std::string& path);

}  // namespace fairlock::storage::etcd

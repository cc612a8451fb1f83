// Where etcd is and how a client logs in.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

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
  // read when a client is made.
  std::string ca_file = {};
  std::string cert_file = {};  // of the client; needs key_file
  std::string key_file = {};

  std::string user = {};  // empty: no login
  std::string password = {};

  // How long a client waits for one endpoint before it turns to the next one.
  std::chrono::milliseconds attempt_timeout{700};
};

// Reads "host:2379,https://host2:2379": a list with or without spaces, of addresses with or without
// http:// or https://. The error is the rest of a sentence that begins with an option's name.
Result<std::vector<EtcdEndpoint>> ParseEndpoints(std::string_view text);

// Whether the options fit together.
Status CheckOptions(const EtcdOptions& options);

}  // namespace fairlock::storage::etcd

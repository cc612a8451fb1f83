// Turns error replies of the server into failures of the tool.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/base/result.h"
#include "cli/connection/server_list.h"
#include "protocol/reply.h"

namespace fairlock::cli {

// The error code, which is the first word: "ERR", for instance.
std::string_view ErrorWord(std::string_view error);

// Whether the error is transient: the server is starting, stopping, or cannot write, and the same
// request may succeed a little later.
bool IsTransient(std::string_view error);

// Whether the server has executed nothing because it is not serving locks at the moment: it is a
// standby, has lost etcd, or is loading. Another server in the list may serve them.
bool IsRefusalToServe(const protocol::Reply& reply);

// Returns where a server in a fleet of several partitions redirects a request for keys that it does
// not serve, without having executed it. Returns nullopt if the reply is no such redirect.
std::optional<ServerAddress> MovedTo(const protocol::Reply& reply);

// The server's own text, plus advice on what to try next if the text has none.
Failure ServerFailure(std::string_view error, const std::string& server_name);

}  // namespace fairlock::cli

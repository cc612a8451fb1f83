// A route: a row that describes one operation of the HTTP API.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "protocol/reply.h"
#include "server/engine/api/types.h"
#include "server/http/exchange.h"

namespace fairlock::protocol {
struct Schema;
}

namespace fairlock::http {

class CommandCaller;
struct Figures;
class Inputs;
struct Route;

enum class ValueType : std::uint8_t {
  kText,       // any bytes; in a body, a value n that is not UTF-8 is given as n_base64
  kNumber,     // an integer
  kDuration,   // "250", "10s", "5m", as in commands
  kDatabase,   // 0 to 15
  kDatabases,  // 0 to 15, or "*" for all
  kFlag,       // "true" or "false"
};

// A value in the path, in the query or, for POST, in the body.
struct Parameter {
  std::string_view name;
  ValueType type = ValueType::kText;
  bool is_required = false;
  std::string_view word = {};  // the option of the command that receives the value
  std::string_view description = {};
};

inline constexpr Parameter kDatabase = {"db", ValueType::kDatabase, false, "",
                                        "The database, 0 if not given"};

enum class Access : std::uint8_t {
  kOpen,   // everyone, even without read access: monitors and load balancers
  kRead,   // anyone who may connect
  kSteer,  // anyone who has the token
};

// Work that takes several turns, in bounded steps.
class Job {
 public:
  virtual ~Job() = default;
  // Returns nullopt while there is more to do.
  virtual std::optional<Answer> Step(engine::TimeMs now) = 0;
};

// The command waits. Its reply comes later, and `answer` makes the answer of it.
struct AwaitedReply {
  std::function<Answer(const protocol::Reply&)> answer;
};

using Outcome = std::variant<Answer, std::unique_ptr<Job>, Elsewhere, AwaitedReply>;

// What requests for locks may ask for.
struct LockingLimits {
  engine::DurationMs wait_ms_max = 0;     // http_wait_max
  std::string_view terraform_lease = {};  // in milliseconds; 0 for the longest
  bool has_room_to_wait = true;           // for one more request
};

struct RouteCall {
  const Inputs& inputs;
  CommandCaller& commands;  // outlives the job
  Figures& figures;
  std::span<const Route* const> routes;  // the whole API
  const LockingLimits& limits;
  std::string_view body;
  engine::TimeMs now;
};

// Named values for the last fields of a route.
inline constexpr bool kWithoutLocks = false;
inline constexpr bool kIsWebSocket = true;

struct Route {
  Verb verb;
  std::string_view path;  // "/api/v1/locks/{db}/{key}"
  Access access;
  Outcome (*handler)(const RouteCall& call);
  std::string_view name;     // of the operation; unique
  std::string_view summary;  // one sentence without a full stop
  std::span<const Parameter> parameters;
  const protocol::Schema* answer = nullptr;  // schema of the JSON; null: the answer is text
  bool needs_locks = true;                   // refused while locks are loaded from the disk
  bool is_web_socket = false;                // its handler answers requests without Upgrade
  std::string_view plain_503 = {};  // the meaning of a 503 in plain text; empty: there is none
  // Its body is not read for parameters, and need not be JSON.
  bool takes_any_body = false;
  // Answered by the leader of the key's partition: the parameter `name` with this in front. Null if
  // the node that was asked answers, or the one that the path names.
  const char* key_prefix = nullptr;
};

// Each family is defined at the bottom of its file.
std::span<const Route> StatusRoutes();
std::span<const Route> FigureRoutes();
std::span<const Route> LockRoutes();
std::span<const Route> HistoryRoutes();
std::span<const Route> SteeringRoutes();
std::span<const Route> LockingRoutes();

}  // namespace fairlock::http

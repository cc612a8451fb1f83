// One row for everything that can be asked for over HTTP.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "server/engine/api/types.h"
#include "server/http/exchange.h"

namespace fairlock::http {

class CommandCaller;
struct Figures;
class Inputs;
struct Route;
struct Schema;

enum class ValueType : std::uint8_t {
  kText,       // any bytes; of a name n that is not UTF-8 in a body, n_base64
  kNumber,     // an integer
  kDuration,   // "250", "10s", "5m", as in commands
  kDatabase,   // 0 to 15
  kDatabases,  // the same, or "*" for all
  kFlag,       // "true" or "false"
};

// A value in the path, the query or, of a POST, the body.
struct Parameter {
  std::string_view name;
  ValueType type = ValueType::kText;
  bool is_required = false;
  std::string_view word = {};  // the option of the command that it becomes
  std::string_view description = {};
};

inline constexpr Parameter kDatabase = {"db", ValueType::kDatabase, false, "",
                                        "The database, 0 if not given"};

enum class Access : std::uint8_t {
  kOpen,   // also who may not read: monitors and load balancers
  kRead,   // who may connect
  kSteer,  // who has the token
};

// Something that takes several turns, a bounded step in each.
class Job {
 public:
  virtual ~Job() = default;
  // None: not done yet.
  virtual std::optional<Answer> Step(engine::TimeMs now) = 0;
};

using Outcome = std::variant<Answer, std::unique_ptr<Job>>;

struct RouteCall {
  const Inputs& inputs;
  CommandCaller& commands;  // outlives the job
  Figures& figures;
  std::span<const Route* const> routes;  // all that there are
  engine::TimeMs now;
};

// For the last fields of a route.
inline constexpr bool kWithoutLocks = false;
inline constexpr bool kIsWebSocket = true;

struct Route {
  Verb verb;
  std::string_view path;  // "/api/v1/locks/{db}/{key}"
  Access access;
  Outcome (*handler)(const RouteCall& call);
  std::string_view name;     // of the operation, unique
  std::string_view summary;  // one sentence without full stop
  std::span<const Parameter> parameters;
  const Schema* answer = nullptr;  // of JSON; null: it is text
  bool needs_locks = true;         // while they are read from the disk it is refused
  bool is_web_socket = false;      // its handler answers those who ask without Upgrade
};

// Each family is defined at the bottom of its file.
std::span<const Route> StatusRoutes();
std::span<const Route> FigureRoutes();
std::span<const Route> LockRoutes();
std::span<const Route> HistoryRoutes();
std::span<const Route> SteeringRoutes();

}  // namespace fairlock::http

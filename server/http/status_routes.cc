// The state of the server: health, figures, clients, settings.

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/reply_json.h"
#include "server/command/table/text.h"
#include "server/http/answers.h"
#include "server/http/command_caller.h"
#include "server/http/inputs.h"
#include "server/http/openapi.h"
#include "server/http/route.h"
#include "server/http/schema.h"

namespace fairlock::http {

namespace {

// How many connections one turn examines, and how many it describes.
constexpr std::size_t kLookedAtPerStep = 2000;
constexpr std::size_t kDescribedPerStep = 100;

// These fields remain strings even if they consist of digits.
constexpr auto kTextFields = std::to_array<std::string_view>(
    {"addr", "laddr", "name", "flags", "events", "cmd", "user", "lib-name", "lib-ver"});
constexpr std::string_view kWaitKey = "wait-key";

// Decodes the \xHH that CLIENT LIST writes for backslashes and for bytes that would split a line.
std::string Unescaped(std::string_view text) {
  constexpr std::size_t kEscapeBytes = 4;
  std::string bytes;
  while (!text.empty()) {
    unsigned code = 0;
    const bool is_escape =
        text.starts_with("\\x") && text.size() >= kEscapeBytes &&
        std::from_chars(text.data() + 2, text.data() + kEscapeBytes, code, 16).ptr ==
            text.data() + kEscapeBytes;
    bytes += is_escape ? static_cast<char>(code) : text.front();
    text.remove_prefix(is_escape ? kEscapeBytes : 1);
  }
  return bytes;
}

// Converts a line of the form "name=value name=value ..." to an object.
boost::json::object ClientOf(std::string_view line) {
  boost::json::object client;
  while (!line.empty()) {
    std::string_view value = TakeUpTo(line, " ");
    const std::string_view name = TakeUpTo(value, "=");
    if (name == kWaitKey) {
      json::AddText(client, name, Unescaped(value));
    } else if (std::find(kTextFields.begin(), kTextFields.end(), name) != kTextFields.end()) {
      json::AddText(client, name, value);
    } else {
      AddNumberOrText(client, name, value);
    }
  }
  return client;
}

struct ClientQuery {
  std::uint64_t after = 0;  // lists only connections with a higher id
  std::size_t count_max = 100;
  bool is_only_waiting = false;  // only connections with a waiting request
};

class ClientPages final : public Job {
 public:
  ClientPages(CommandCaller& commands, const ClientQuery& query)
      : commands_(commands), query_(query), last_(query.after) {}

  std::optional<Answer> Step(engine::TimeMs now) override {
    const bool is_end = FindNext();
    if (!ids_.empty()) {
      std::vector<std::string_view> arguments = {"CLIENT", "LIST", "ID"};
      arguments.insert(arguments.end(), ids_.begin(), ids_.end());
      const protocol::Reply list = commands_.Call(arguments, now);
      if (list.IsError()) return RefusalOf(list);
      for (std::string_view rest = list.text; !rest.empty();) {
        clients_.push_back(ClientOf(TakeUpTo(rest, "\n")));
      }
    }
    const bool is_full = clients_.size() >= query_.count_max;
    if (!is_end && !is_full) return std::nullopt;
    return JsonAnswer({{"clients", std::move(clients_)},
                       {"connected", commands_.server().clients.size()},
                       {"next", is_end ? 0 : last_}});
  }

 private:
  // Returns true if there are no more connections.
  bool FindNext() {
    ids_.clear();
    const auto& clients = commands_.server().clients.all();
    auto client = clients.upper_bound(last_);
    std::size_t looked_at = 0;
    while (client != clients.end() && looked_at++ < kLookedAtPerStep &&
           ids_.size() < kDescribedPerStep && clients_.size() + ids_.size() < query_.count_max) {
      last_ = client->first;
      const bool is_wanted = !query_.is_only_waiting || client->second->wait.is_waiting();
      if (is_wanted) ids_.push_back(std::to_string(client->first));
      ++client;
    }
    return client == clients.end();
  }

  CommandCaller& commands_;
  const ClientQuery query_;
  std::uint64_t last_;
  std::vector<std::string> ids_;
  boost::json::array clients_;
};

std::unique_ptr<Job> ListClients(CommandCaller& commands, const ClientQuery& query) {
  return std::make_unique<ClientPages>(commands, query);
}

constexpr std::int64_t kClientsMax = 200;

constexpr std::string_view kPlainText = "text/plain; charset=utf-8";

// Converts the sections of INFO, "# Name" and lines "field:value", to objects.
boost::json::object SectionsOf(std::string_view report) {
  boost::json::object sections;
  boost::json::object* section = nullptr;
  while (!report.empty()) {
    std::string_view line = TakeUpTo(report, "\r\n");
    if (line.starts_with("# ")) {
      section = &sections.emplace(command::Lowered(line.substr(2)), boost::json::object())
                     .first->value()
                     .as_object();
    } else if (section != nullptr && !line.empty()) {
      const std::string_view name = TakeUpTo(line, ":");
      AddNumberOrText(*section, name, line);
    }
  }
  return sections;
}

Outcome ShowStatus(const RouteCall& call) {
  const protocol::Reply info = call.commands.Call({"INFO"}, call.now);
  return info.IsError() ? RefusalOf(info) : JsonAnswer(SectionsOf(info.text));
}

// A single server answers with null, because asking is not an error.
Outcome ShowCluster(const RouteCall& call) {
  if (call.commands.server().environment.fleet != nullptr) {
    return AnswerWith("cluster", call.commands.Call({"CLUSTER", "STATUS"}, call.now));
  }
  if (auto refusal = RefuseDenied(call.commands, {"CLUSTER", "STATUS"})) return *std::move(refusal);
  return JsonAnswer({{"cluster", nullptr}});
}

Outcome ShowClients(const RouteCall& call) {
  if (auto refusal = RefuseCount(call.inputs, kClientsMax)) return *std::move(refusal);
  const std::int64_t count = call.inputs.Number("count", kRowsDefault);
  const std::int64_t after = call.inputs.Number("after", 0);
  if (auto refusal = RefuseDenied(call.commands, {"CLIENT", "LIST"})) return *std::move(refusal);
  if (after < 0) return Refusal(400, "ERR", "after must be the number of a connection, or 0");
  return ListClients(call.commands, {.after = static_cast<std::uint64_t>(after),
                                     .count_max = static_cast<std::size_t>(count),
                                     .is_only_waiting = call.inputs.Flag("waiting")});
}

Outcome ShowDescription(const RouteCall& call) {
  const std::string& version = call.commands.server().environment.facts.version;
  return Answer{.body = Describe(call.routes, version) + "\n"};
}

// Passwords are never shown: the answer may be stored in caches and logs.
constexpr std::string_view kHidden = "(hidden)";

// Lists each option once, under its own name.
boost::json::array OptionsOf(const std::vector<command::Setting>& settings) {
  boost::json::array options;
  for (const command::Setting& setting : settings) {
    if (setting.name == setting.name_of_option) {
      boost::json::object option{{"name", setting.name},
                                 {"redis_name", nullptr},
                                 {"default", setting.default_value},
                                 {"changeable", setting.is_changeable},
                                 {"secret", setting.is_secret},
                                 {"description", setting.comment}};
      json::AddText(option, "value", setting.value);
      options.push_back(std::move(option));
    } else if (!options.empty()) {
      // The Redis name of an option follows the option itself.
      options.back().as_object()["redis_name"] = setting.name;
    }
  }
  return options;
}

Outcome ListSettings(const RouteCall& call) {
  const protocol::Reply reply = call.commands.Call({"CONFIG", "GET", "*"}, call.now);
  if (reply.IsError()) return RefusalOf(reply);
  auto settings = call.commands.server().environment.settings.FindSettings(engine::Glob("*"));
  boost::json::object values = json::ObjectOf(reply);
  for (command::Setting& setting : settings) {
    if (!setting.is_secret || setting.value.empty()) continue;
    setting.value = kHidden;
    values[setting.name] = kHidden;
  }
  return JsonAnswer({{"settings", std::move(values)}, {"options", OptionsOf(settings)}});
}

Outcome ShowAccess(const RouteCall& call) {
  const CommandCaller& commands = call.commands;
  const access::User& user = commands.user();
  const bool writes_keys = user.written_keys.is_all() || !user.written_keys.globs().empty();
  boost::json::array may;
  const auto add = [&may](std::string_view operation, bool is_allowed) {
    if (is_allowed) may.push_back(boost::json::value(operation));
  };
  add("break", writes_keys && commands.MayRun("BREAK"));
  add("cancel", writes_keys && commands.MayRun("CANCEL"));
  add("limits", commands.Judge({"LIMIT", "SET", "*", "0"}).empty());
  add("clients", commands.Judge({"CLIENT", "KILL", "ID", "1"}).empty());
  add("settings", commands.Judge({"CONFIG", "SET", "name", "value"}).empty());
  boost::json::object answer{{"user", nullptr}, {"may", std::move(may)}};
  if (commands.has_logged_in()) json::AddText(answer, "user", user.name);
  return JsonAnswer(answer);
}

// Checks nothing: if this function runs, the server is alive.
Outcome ShowHealth(const RouteCall&) { return Answer{.content_type = kPlainText, .body = "ok\n"}; }

Answer PlainText(unsigned status, std::string text) {
  return {.status = status, .content_type = kPlainText, .body = std::move(text) + "\n"};
}

// Returns nullopt if this server is not a node of a fleet.
std::optional<command::FleetReport> FleetOf(const RouteCall& call) {
  const command::Fleet* const fleet = call.commands.server().environment.fleet;
  if (fleet == nullptr) return std::nullopt;
  return fleet->Report();
}

std::string Seconds(std::int64_t ms) { return std::to_string(ms / 1'000) + " s"; }

std::string DescribeDoubt(const command::FleetReport& report) {
  return "etcd has not confirmed for " + Seconds(report.leader_heard_ms) + " that this node leads";
}

std::string DescribeLeader(const command::FleetReport& report) {
  if (report.awaits_acceptance) {
    return "etcd was restored from a backup, and no node leads until an operator accepts that";
  }
  if (report.leader.empty()) {
    const std::string last = report.last_leader.empty() || report.leader_heard_ms < 0
                                 ? ""
                                 : "; " + report.last_leader + " did, and was heard of " +
                                       Seconds(report.leader_heard_ms) + " ago";
    return "no node leads, as far as this node knows" + last;
  }
  return report.leader + " at " + report.leader_host + ":" + std::to_string(report.leader_port) +
         " leads";
}

Outcome ShowReadiness(const RouteCall& call) {
  const auto fleet = FleetOf(call);
  if (fleet && fleet->role == command::FleetRole::kStandby && fleet->relays) {
    const bool is_ready = !fleet->leader.empty();
    return is_ready ? PlainText(200, "ready") : PlainText(503, DescribeLeader(*fleet));
  }
  if (fleet && fleet->is_unsure) return PlainText(503, DescribeDoubt(*fleet));
  command::ServerParts& server = call.commands.server();
  server.availability.LookAtMemory(call.now);
  if (server.availability.takes_locks()) return PlainText(200, "ready");
  const protocol::Reply why =
      ReplyOf([&](protocol::ReplyWriter& writer) { server.availability.RefuseLock(writer); });
  return PlainText(503, why.text);
}

Outcome ShowLeadership(const RouteCall& call) {
  const auto fleet = FleetOf(call);
  const bool leads = !fleet || fleet->role == command::FleetRole::kLeader;
  if (leads && fleet && fleet->is_unsure) return PlainText(503, DescribeDoubt(*fleet));
  return leads ? PlainText(200, "leader") : PlainText(503, "standby; " + DescribeLeader(*fleet));
}

constexpr auto kClientParameters = std::to_array<Parameter>({
    {"after", ValueType::kNumber, false, "", "Only connections with greater numbers"},
    {"count", ValueType::kNumber, false, "", "How many; 100 if not given, 200 at most"},
    {"waiting", ValueType::kFlag, false, "", "Only those whose request is waiting"},
});

constexpr auto kStatusRoutes = std::to_array<Route>({
    {Verb::kGet,
     "/healthz",
     Access::kOpen,
     ShowHealth,
     "showHealth",
     "Whether the server is alive",
     {},
     nullptr,
     kWithoutLocks},
    {Verb::kGet,
     "/readyz",
     Access::kOpen,
     ShowReadiness,
     "showReadiness",
     "Whether locks can be taken now",
     {},
     nullptr,
     kWithoutLocks,
     false,
     "Locks cannot be taken now; the text says why"},
    {Verb::kGet,
     "/leaderz",
     Access::kOpen,
     ShowLeadership,
     "showLeadership",
     "Whether this server leads its fleet; a single server does",
     {},
     nullptr,
     kWithoutLocks,
     false,
     "This server is a standby, or etcd does not confirm that it leads; the text says which"},
    {Verb::kGet,
     "/api/v1/status",
     Access::kRead,
     ShowStatus,
     "showStatus",
     "All that INFO tells, by section",
     {},
     &kStatusSchema,
     kWithoutLocks},
    {Verb::kGet,
     "/api/v1/cluster",
     Access::kRead,
     ShowCluster,
     "showCluster",
     "The fleet as this node knows it, as in CLUSTER STATUS",
     {},
     &kClusterSchema,
     kWithoutLocks},
    {Verb::kGet, "/api/v1/clients", Access::kRead, ShowClients, "listClients",
     "The connections, as in CLIENT LIST", kClientParameters, &kClientsSchema, kWithoutLocks},
    {Verb::kGet,
     "/api/v1/settings",
     Access::kRead,
     ListSettings,
     "listSettings",
     "Every option with its value",
     {},
     &kSettingsSchema,
     kWithoutLocks},
    {Verb::kGet,
     "/api/v1/access",
     Access::kSteer,
     ShowAccess,
     "showAccess",
     "Whether the credentials of the request are right, and what they allow",
     {},
     &kAccessSchema,
     kWithoutLocks},
    {Verb::kGet,
     "/api/v1/openapi.json",
     Access::kRead,
     ShowDescription,
     "showDescription",
     "This description",
     {},
     &kDescriptionSchema,
     kWithoutLocks},
});

}  // namespace

std::span<const Route> StatusRoutes() { return kStatusRoutes; }

}  // namespace fairlock::http

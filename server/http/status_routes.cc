// How the server is: health, figures, clients, settings.

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "json/reply_json.h"
#include "server/command/text.h"
#include "server/http/answers.h"
#include "server/http/client_pages.h"
#include "server/http/command_caller.h"
#include "server/http/inputs.h"
#include "server/http/openapi.h"
#include "server/http/route.h"
#include "server/http/schema.h"
#include "server/http/text_parts.h"

namespace fairlock::http {

namespace {

constexpr std::int64_t kClientsDefault = 100;
constexpr std::int64_t kClientsMax = 1000;

constexpr std::string_view kPlainText = "text/plain; charset=utf-8";

// The sections of INFO, "# Name" and lines "field:value", as objects.
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

Outcome ShowClients(const RouteCall& call) {
  const std::int64_t count = call.inputs.Number("count", kClientsDefault);
  if (count < 1 || count > kClientsMax) {
    return Refusal(400, "ERR", "count is from 1 to " + std::to_string(kClientsMax));
  }
  const std::int64_t after = call.inputs.Number("after", 0);
  if (after < 0) return Refusal(400, "ERR", "after is the number of a connection, or 0");
  return ListClients(call.commands, {.after = static_cast<std::uint64_t>(after),
                                     .count_max = static_cast<std::size_t>(count),
                                     .is_only_waiting = call.inputs.Flag("waiting")});
}

Outcome ShowDescription(const RouteCall& call) {
  const std::string& version = call.commands.dispatcher().environment().Facts().version;
  return Answer{.body = Describe(call.routes, version) + "\n"};
}

Outcome ListSettings(const RouteCall& call) {
  return AnswerWith("settings", call.commands.Call({"CONFIG", "GET", "*"}, call.now));
}

// Whoever executes this is alive.
Outcome ShowHealth(const RouteCall&) { return Answer{.content_type = kPlainText, .body = "ok\n"}; }

Outcome ShowReadiness(const RouteCall& call) {
  const protocol::Reply ping = call.commands.Call({"PING"}, call.now);
  if (!ping.IsError()) return Answer{.content_type = kPlainText, .body = "ready\n"};
  return Answer{.status = 503, .content_type = kPlainText, .body = ping.text + "\n"};
}

constexpr auto kClientParameters = std::to_array<Parameter>({
    {"after", ValueType::kNumber, false, "", "Only connections with greater numbers"},
    {"count", ValueType::kNumber, false, "", "How many; 100 if not given, 1,000 at most"},
    {"waiting", ValueType::kFlag, false, "", "Only those whose request waits"},
});

constexpr auto kStatusRoutes = std::to_array<Route>({
    {Verb::kGet,
     "/healthz",
     Access::kOpen,
     ShowHealth,
     "showHealth",
     "Whether the server lives",
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
     nullptr},
    {Verb::kGet,
     "/api/v1/status",
     Access::kRead,
     ShowStatus,
     "showStatus",
     "All that INFO tells, by section",
     {},
     &kStatusSchema,
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

// How the server is: health, figures, clients, settings.

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "json/reply_json.h"
#include "server/command/text.h"
#include "server/http/answers.h"
#include "server/http/command_caller.h"
#include "server/http/inputs.h"
#include "server/http/metrics_page.h"
#include "server/http/route.h"

namespace fairlock::http {

namespace {

constexpr std::string_view kPlainText = "text/plain; charset=utf-8";

std::string_view TakeUpTo(std::string_view& rest, std::string_view end) {
  const std::size_t at = std::min(rest.find(end), rest.size());
  const std::string_view taken = rest.substr(0, at);
  rest.remove_prefix(std::min(at + end.size(), rest.size()));
  return taken;
}

void AddValue(boost::json::object& object, std::string_view name, std::string_view value) {
  if (const auto number = command::ParseInteger(value)) {
    object[name] = *number;
  } else {
    json::AddText(object, name, value);
  }
}

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
      AddValue(*section, name, line);
    }
  }
  return sections;
}

Outcome ShowStatus(const RouteCall& call) {
  const protocol::Reply info = call.commands.Call({"INFO"}, call.now);
  return info.IsError() ? RefusalOf(info) : JsonAnswer(SectionsOf(info.text));
}

// Lines "name=value name=value ...".
Outcome ListClients(const RouteCall& call) {
  const protocol::Reply list = call.commands.Call({"CLIENT", "LIST"}, call.now);
  if (list.IsError()) return RefusalOf(list);
  boost::json::array clients;
  std::string_view rest = list.text;
  while (!rest.empty()) {
    std::string_view line = TakeUpTo(rest, "\n");
    boost::json::object client;
    while (!line.empty()) {
      std::string_view value = TakeUpTo(line, " ");
      const std::string_view name = TakeUpTo(value, "=");
      AddValue(client, name, value);
    }
    clients.push_back(std::move(client));
  }
  return JsonAnswer({{"clients", std::move(clients)}});
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

Outcome ShowMetrics(const RouteCall& call) {
  return Answer{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                .body = MetricsPage(call.commands.dispatcher(), call.now)};
}

constexpr auto kRoutes = std::to_array<Route>({
    {Verb::kGet,
     "/healthz",
     Access::kOpen,
     ShowHealth,
     "showHealth",
     "Whether the server lives",
     {}},
    {Verb::kGet,
     "/readyz",
     Access::kOpen,
     ShowReadiness,
     "showReadiness",
     "Whether locks can be taken now",
     {}},
    {Verb::kGet,
     "/metrics",
     Access::kOpen,
     ShowMetrics,
     "showMetrics",
     "All figures in the text format of Prometheus",
     {}},
    {Verb::kGet,
     "/api/v1/status",
     Access::kRead,
     ShowStatus,
     "showStatus",
     "All that INFO tells, by section",
     {}},
    {Verb::kGet,
     "/api/v1/clients",
     Access::kRead,
     ListClients,
     "listClients",
     "The connections, as in CLIENT LIST",
     {}},
    {Verb::kGet,
     "/api/v1/settings",
     Access::kRead,
     ListSettings,
     "listSettings",
     "Every option with its value",
     {}},
});

}  // namespace

std::span<const Route> StatusRoutes() { return kRoutes; }

}  // namespace fairlock::http

// `ping`, `backup` and `config`: commands for the server itself.
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/all_commands.h"
#include "cli/output/table.h"
#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

constexpr std::int64_t kPingsMax = 1'000'000;

struct ServerOptions {
  std::optional<std::int64_t> count;
  std::optional<std::string> glob;
  std::string name;
  std::string value;
  bool is_json = false;
};

std::string PingText(const std::vector<std::int64_t>& times_us, const std::string& server) {
  const auto [least, most] = std::ranges::minmax(times_us);
  std::string text = server + " answers in " + std::to_string(times_us.front()) + " us";
  if (times_us.size() > 1) {
    const std::int64_t sum = std::accumulate(times_us.begin(), times_us.end(), std::int64_t{0});
    text = server + " answered " + std::to_string(times_us.size()) + " times in " +
           std::to_string(least) + " to " + std::to_string(most) + " us, average " +
           std::to_string(sum / static_cast<std::int64_t>(times_us.size())) + " us";
  }
  return text + "\n";
}

Result<int> Ping(const ServerOptions& options, Context& context) {
  // The first PING also opens the connection.
  const Result<protocol::Reply> first = context.client.Ask({"PING"});
  if (!first) return first.failure();
  std::vector<std::int64_t> times_us;
  for (std::int64_t i = 0; i < options.count.value_or(1); ++i) {
    const std::int64_t begin_ns = NowNs();
    const Result<protocol::Reply> pong = context.client.Ask({"PING"});
    if (!pong) return pong.failure();
    times_us.push_back((NowNs() - begin_ns) / 1000);
  }
  if (options.is_json) {
    const boost::json::object object = {
        {"server", context.client.ServerName()},
        {"times_us", boost::json::array(times_us.begin(), times_us.end())}};
    context.PrintJson(object);
  } else {
    context.Print(PingText(times_us, context.client.ServerName()));
  }
  return kExitDone;
}

std::string SettingsText(const protocol::Reply& map, const Screen& screen) {
  Table table({{.title = "OPTION"}, {.title = "VALUE", .may_shrink = true}}, screen);
  for (std::size_t i = 0; i + 1 < map.elements.size(); i += 2) {
    table.Add(
        {{screen.Printable(map.elements[i].text)}, {screen.Printable(map.elements[i + 1].text)}});
  }
  return table.Flush();
}

Result<int> GetSettings(const ServerOptions& options, Context& context) {
  const std::string glob = options.glob.value_or("*");
  const Result<protocol::Reply> reply = context.client.Ask({"CONFIG", "GET", glob});
  if (!reply) return reply.failure();
  if (options.is_json) {
    context.PrintJson(json::ObjectOf(*reply));
    return kExitDone;
  }
  if (reply->elements.empty()) {
    context.Say("no option matches " + context.errors.Quoted(glob) +
                "; `fairlockctl config get` lists the options");
    return kExitNo;
  }
  context.Print(SettingsText(*reply, context.out));
  return kExitDone;
}

Result<int> SetSetting(const ServerOptions& options, Context& context) {
  Result<FleetLeaders> leaders = context.FindLeaders();
  if (!leaders) return leaders.failure();
  const std::vector<std::string_view> words = {"CONFIG", "SET", options.name, options.value};
  const auto replies = leaders->AskAll(words);
  if (!replies) return replies.failure();
  if (options.is_json) {
    boost::json::object object;
    json::AddText(object, "option", options.name);
    json::AddText(object, "value", options.value);
    AddFailed(object, *leaders);
    context.PrintJson(object);
  }
  return context.Conclude(*leaders, kExitDone);
}

struct BackupOptions {
  std::optional<std::string> folder;
  std::optional<std::int64_t> keep;
  bool is_json = false;
};

Result<int> Backup(const BackupOptions& options, Context& context) {
  std::vector<std::string> words = {"BACKUP"};
  if (options.folder) words.insert(words.end(), {"IN", *options.folder});
  if (options.keep) words.insert(words.end(), {"KEEP", std::to_string(*options.keep)});
  const std::vector<std::string_view> request(words.begin(), words.end());
  const Result<protocol::Reply> reply = context.client.Ask(request, kForever / 2);
  if (!reply) return reply.failure();
  if (options.is_json) {
    boost::json::object object;
    json::AddText(object, "backup", reply->text);
    context.Print(json::Written(object) + "\n");
  } else {
    context.Print("The server has written " + context.out.Printable(reply->text) +
                  "; `fairlockd --restore` makes a data folder from it.\n");
  }
  return kExitDone;
}

Action DescribeBackup(Arguments& arguments) {
  constexpr std::int64_t kKeptMax = 10'000;
  auto options = std::make_shared<BackupOptions>();
  arguments.Optional("DIR", options->folder,
                     "Folder on the server's machine (the server's backup_dir)");
  arguments.Number("--keep,-k", options->keep, {1, kKeptMax},
                   "Keep this many backups of this server there; remove older ones");
  arguments.Flag("--json", options->is_json, "Print JSON");
  return [options](Context& context) { return Backup(*options, context); };
}

Action DescribePing(Arguments& arguments) {
  auto options = std::make_shared<ServerOptions>();
  arguments.Number("--count,-n", options->count, {1, kPingsMax}, "Number of pings (1)");
  arguments.Flag("--json", options->is_json, "Print JSON: the time of each ping");
  return [options](Context& context) { return Ping(*options, context); };
}

Action DescribeGet(Arguments& arguments) {
  auto options = std::make_shared<ServerOptions>();
  arguments.Optional("GLOB", options->glob, "Only options that match: * ? [a-z]");
  arguments.Flag("--json", options->is_json, "Print JSON");
  return [options](Context& context) { return GetSettings(*options, context); };
}

Action DescribeSet(Arguments& arguments) {
  auto options = std::make_shared<ServerOptions>();
  arguments.Required("OPTION", options->name, "Name of the option");
  arguments.Required("VALUE", options->value, "New value, as in the server's configuration file");
  arguments.Flag("--json", options->is_json, "Print JSON: the option and its value");
  return [options](Context& context) { return SetSetting(*options, context); };
}

constexpr auto kServerCommands = std::to_array<CommandRow>({
    {"ping", kServer, "Measures how fast the server replies", DescribePing},
    {"backup", kServer, "Makes a dated copy of the running server's data", DescribeBackup},
    {"config", kServer, "Shows or changes the server's options", nullptr},
    {"config get", kServer, "Shows the options and their values", DescribeGet},
    {"config set", kServer, "Changes an option until the server stops", DescribeSet},
});

}  // namespace

std::span<const CommandRow> ServerCommands() { return kServerCommands; }

}  // namespace fairlock::cli

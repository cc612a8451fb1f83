// `clients` and `kill`: lists and closes connections.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <memory>

#include "cli/arguments/command.h"
#include "cli/commands/all_commands.h"
#include "cli/output/duration.h"
#include "cli/output/table.h"
#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

constexpr std::int64_t kIdMax = INT64_MAX;

struct ClientOptions {
  std::int64_t id = 0;
  std::optional<std::int64_t> partition;
  bool is_waiting_only = false;
  bool is_json = false;
};

// One line of CLIENT LIST: "name=value name=value ...".
class ClientLine {
 public:
  explicit ClientLine(std::string_view line) {
    while (!line.empty()) {
      const std::size_t end = std::min(line.find(' '), line.size());
      const std::string_view field = line.substr(0, end);
      line.remove_prefix(std::min(end + 1, line.size()));
      const std::size_t equals = field.find('=');
      if (equals == std::string_view::npos) continue;
      fields_.emplace_back(field.substr(0, equals), field.substr(equals + 1));
    }
  }

  std::string Text(std::string_view name) const {
    for (const auto& [field, value] : fields_) {
      if (field == name) return value;
    }
    return "";
  }

  std::int64_t Number(std::string_view name) const {
    const std::string text = Text(name);
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }

  DurationMs Seconds(std::string_view name) const { return Number(name) * 1000; }

  // Adds fields at the end.
  void Add(std::string name, std::string value) {
    fields_.emplace_back(std::move(name), std::move(value));
  }

  bool waits() const { return Text("flags").find('b') != std::string::npos; }

  boost::json::object Object() const {
    boost::json::object object;
    for (const auto& [field, value] : fields_) json::AddText(object, field, value);
    return object;
  }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

std::vector<ClientLine> ReadLines(std::string_view text, const ClientOptions& options) {
  std::vector<ClientLine> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    ClientLine line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!options.is_waiting_only || line.waits()) lines.push_back(std::move(line));
  }
  return lines;
}

std::string ClientsText(const std::vector<ClientLine>& lines, bool has_partitions,
                        const Screen& screen) {
  std::vector<Column> columns;
  if (has_partitions) columns.push_back({.title = "PARTITION", .is_right_aligned = true});
  const bool has_keys = std::ranges::any_of(lines, &ClientLine::waits);
  columns.insert(columns.end(), {{.title = "ID", .is_right_aligned = true},
                                 {.title = "ADDRESS", .may_shrink = true},
                                 {.title = "NAME", .may_shrink = true},
                                 {.title = "USER", .may_shrink = true},
                                 {.title = "DB", .is_right_aligned = true},
                                 {.title = "CONNECTED", .is_right_aligned = true},
                                 {.title = "IDLE", .is_right_aligned = true},
                                 {.title = "STATE"},
                                 {.title = "LAST COMMAND", .may_shrink = true},
                                 {.title = "LIBRARY", .may_shrink = true}});
  if (has_keys) {
    columns.push_back({.title = "WAITS FOR", .may_shrink = true});
    columns.push_back({.title = "WAITED", .is_right_aligned = true});
  }
  Table table(columns, screen);
  for (const ClientLine& line : lines) {
    const auto text = [&](std::string_view name) { return screen.Printable(line.Text(name)); };
    const bool is_subscribed = line.Text("sub") != "0" || line.Text("psub") != "0";
    std::vector<Cell> cells;
    if (has_partitions) cells.push_back({text("partition")});
    cells.insert(cells.end(), {{text("id")},
                               {text("addr")},
                               {text("name")},
                               {text("user")},
                               {text("db")},
                               {ShowDuration(line.Seconds("age"))},
                               {ShowDuration(line.Seconds("idle"))},
                               {line.waits()    ? "waiting"
                                : is_subscribed ? "subscribed"
                                                : "-",
                                line.waits() ? Tint::kWarning : Tint::kNone},
                               {text("cmd")},
                               {text("lib-name") +
                                (line.Text("lib-ver").empty() ? "" : " " + text("lib-ver"))}});
    if (has_keys) {
      cells.push_back({line.waits() ? PrintableText(line.Text("wait-key"), screen.charset) : "-"});
      cells.push_back({line.waits() ? ShowDuration(line.Number("waited-ms")) : "-"});
    }
    table.Add(std::move(cells));
  }
  return table.Flush();
}

Result<std::vector<ClientLine>> FindClients(const ClientOptions& options, FleetLeaders& leaders) {
  constexpr auto kRequest = std::to_array<std::string_view>({"CLIENT", "LIST"});
  const auto replies = leaders.AskAll(kRequest);
  if (!replies) return replies.failure();
  std::vector<ClientLine> found;
  for (const auto& [partition, reply] : *replies) {
    for (ClientLine& line : ReadLines(reply.text, options)) {
      if (leaders.is_several()) {
        line.Add("partition", std::to_string(partition));
        line.Add("node", leaders.leader(partition).node);
      }
      found.push_back(std::move(line));
    }
  }
  return found;
}

Result<int> ListClients(const ClientOptions& options, Context& context) {
  Result<FleetLeaders> leaders = context.FindLeaders();
  if (!leaders) return leaders.failure();
  const Result<std::vector<ClientLine>> found = FindClients(options, *leaders);
  if (!found) return found.failure();
  const std::vector<ClientLine>& lines = *found;
  if (options.is_json) {
    boost::json::array array;
    for (const ClientLine& line : lines) array.push_back(line.Object());
    boost::json::object object = {{"clients", array}};
    AddFailed(object, *leaders);
    context.PrintJson(object);
  } else if (lines.empty()) {
    context.Print("No client is waiting.\n");
  } else {
    context.Print(ClientsText(lines, leaders->is_several(), context.out));
  }
  return context.Conclude(*leaders, kExitDone);
}

Result<int> Kill(const ClientOptions& options, Context& context) {
  Result<FleetLeaders> leaders = context.FindLeaders();
  if (!leaders) return leaders.failure();
  const auto partition =
      ChoosePartition(options.partition, *leaders, "each of their leaders numbers its connections");
  if (!partition) return partition.failure();
  const std::string id = std::to_string(options.id);
  Client& node = *leaders->leader(*partition).client;
  const Result<protocol::Reply> reply = node.Ask({"CLIENT", "KILL", "ID", id});
  if (!reply) return reply.failure();
  if (options.is_json) {
    context.PrintJson(boost::json::object{{"id", options.id}, {"closed", reply->integer}});
  }
  if (reply->integer > 0) return kExitDone;
  context.Say("there is no connection " + id + "; `fairlockctl clients` lists them");
  return kExitNo;
}

Action DescribeClients(Arguments& arguments) {
  auto options = std::make_shared<ClientOptions>();
  arguments.Flag("--waiting,-w", options->is_waiting_only,
                 "Only connections whose request is waiting");
  arguments.Flag("--json", options->is_json, "Print JSON: every field of CLIENT LIST, as text");
  return [options](Context& context) { return ListClients(*options, context); };
}

Action DescribeKill(Arguments& arguments) {
  auto options = std::make_shared<ClientOptions>();
  arguments.RequiredNumber("ID", options->id, {1, kIdMax},
                           "ID of the connection, as `clients` shows it");
  arguments.Number("--partition", options->partition, {0, kPartitionMax},
                   "The partition whose leader has the connection, if there are several");
  arguments.Flag("--json", options->is_json, "Print JSON: whether the connection existed");
  return [options](Context& context) { return Kill(*options, context); };
}

constexpr auto kClientCommands = std::to_array<CommandRow>({
    {"clients", kServer, "Lists connections, and which of them wait for a lock", DescribeClients},
    {"kill", kServer, "Closes a connection: its leases stay, its sessions end", DescribeKill},
});

}  // namespace

std::span<const CommandRow> ClientCommands() { return kClientCommands; }

}  // namespace fairlock::cli

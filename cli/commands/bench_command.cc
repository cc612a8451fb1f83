// `bench`: measures how fast the server is from this machine.
#include <unistd.h>

#include <array>
#include <memory>

#include "cli/bench/bench_load.h"
#include "cli/commands/all_commands.h"
#include "cli/output/duration.h"
#include "cli/views/info_report.h"
#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

constexpr std::int64_t kConnectionsDefault = 16;
constexpr std::int64_t kConnectionsMax = 1000;
constexpr DurationMs kDurationDefaultMs = 3000;
constexpr DurationMs kDurationMaxMs = 600'000;
// When the tool is busier than this, the result measures the tool rather than the server.
constexpr double kBusyPart = 0.9;

struct BenchOptions {
  std::optional<std::int64_t> connections;
  std::optional<DurationMs> duration_ms;
  bool is_json = false;
};

// One kind of load and its result.
struct Measured {
  std::string_view name;
  std::string_view title;
  BenchResult result;
  double server_cpu_seconds = 0;
};

double PerSecond(const BenchResult& result) {
  return static_cast<double>(result.pairs) * 1000 / static_cast<double>(result.took_ms);
}

std::int64_t QuantileUs(const BenchResult& result, double part) {
  if (result.latencies_us.empty()) return 0;
  const auto count = static_cast<double>(result.latencies_us.size());
  return result.latencies_us[static_cast<std::size_t>(part * (count - 1))];
}

double ServerCpuUs(const Measured& measured) {
  if (measured.result.pairs == 0) return 0;
  return measured.server_cpu_seconds * 1e6 / static_cast<double>(measured.result.pairs);
}

bool WasClientBusy(const BenchResult& result) {
  return result.own_cpu_seconds * 1000 > kBusyPart * static_cast<double>(result.took_ms);
}

Result<double> ServerCpuSeconds(Context& context) {
  const Result<InfoReport> info = FetchInfo(context.client);
  if (!info) return info.failure();
  return std::strtod(info->Text("used_cpu_user").c_str(), nullptr) +
         std::strtod(info->Text("used_cpu_sys").c_str(), nullptr);
}

// In a fleet of several partitions, connects the client to the leader that serves the keys.
Result<Settings> FindServer(const BenchLoad& load, Context& context) {
  if (const auto failure = context.client.Connect()) return *failure;
  if (!context.client.is_in_cluster()) return context.settings;
  const Result<protocol::Reply> found = context.client.Ask({"EXISTS", load.key_prefix});
  if (!found) return found.failure();
  return context.client.SettingsOfServer();
}

Result<Measured> Measure(std::string_view name, std::string_view title, const BenchLoad& load,
                         const Settings& settings, Context& context) {
  const Result<double> before = ServerCpuSeconds(context);
  if (!before) return before.failure();
  Result<BenchResult> result = RunLoad(load, settings, context.login);
  if (!result) return result.failure();
  const Result<double> after = ServerCpuSeconds(context);
  if (!after) return after.failure();
  return Measured{name, title, std::move(*result), *after - *before};
}

std::string Tenths(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", number);
  return text.data();
}

std::string MeasuredText(const Measured& measured, const Screen& screen) {
  const BenchResult& result = measured.result;
  std::string text =
      screen.Tinted(measured.title, Tint::kHeading) + "\n  " +
      ShowCount(static_cast<std::int64_t>(PerSecond(result))) +
      " pairs of LOCK and UNLOCK per second; LOCK took " + std::to_string(QuantileUs(result, 0.5)) +
      " us (p50), " + std::to_string(QuantileUs(result, 0.99)) + " us (p99), " +
      std::to_string(QuantileUs(result, 1)) + " us (maximum)\n  " + Tenths(ServerCpuUs(measured)) +
      " us of the server's processor time per pair\n";
  if (WasClientBusy(result)) {
    text += "  fairlockctl was the bottleneck: the server can do more.\n";
  }
  if (!result.is_in_order) text += "  TOKENS DID NOT INCREASE: this is a bug in the server.\n";
  return text;
}

boost::json::object MeasuredObject(const Measured& measured) {
  const BenchResult& result = measured.result;
  return {{"load", measured.name},
          {"pairs", result.pairs},
          {"took_ms", result.took_ms},
          {"lock_p50_us", QuantileUs(result, 0.5)},
          {"lock_p99_us", QuantileUs(result, 0.99)},
          {"lock_max_us", QuantileUs(result, 1)},
          {"server_cpu_us_per_pair", ServerCpuUs(measured)},
          {"was_client_busy", WasClientBusy(result)},
          {"is_in_order", result.is_in_order}};
}

Result<int> Bench(const BenchOptions& options, Context& context) {
  const auto connections = static_cast<int>(options.connections.value_or(kConnectionsDefault));
  BenchLoad load{.connections = connections,
                 .duration_ms = options.duration_ms.value_or(kDurationDefaultMs),
                 .key_prefix = "{fairlockctl-bench:" + std::to_string(::getpid()) + "}",
                 .is_one_key = false};
  const Result<Settings> settings = FindServer(load, context);
  if (!settings) return settings.failure();
  const std::string count = std::to_string(connections) + " connections, ";
  const std::string own = count + "each with its own key";
  const Result<Measured> apart = Measure("own_keys", own, load, *settings, context);
  if (!apart) return apart.failure();
  load.is_one_key = true;
  const std::string one = count + "all queueing for one key: hand-overs";
  const Result<Measured> together = Measure("one_key", one, load, *settings, context);
  if (!together) return together.failure();
  if (options.is_json) {
    const boost::json::object object = {
        {"server", context.client.ServerName()},
        {"connections", connections},
        {"loads", {MeasuredObject(*apart), MeasuredObject(*together)}}};
    context.PrintJson(object);
  } else {
    context.Print(MeasuredText(*apart, context.out) + MeasuredText(*together, context.out));
  }
  return apart->result.is_in_order && together->result.is_in_order ? kExitDone : kExitNo;
}

Action DescribeBench(Arguments& arguments) {
  auto options = std::make_shared<BenchOptions>();
  arguments.Number("--connections,-c", options->connections, {1, kConnectionsMax},
                   "Number of connections (16)");
  arguments.Duration("--for", options->duration_ms, "Duration of each of the two loads (3s)");
  arguments.Flag("--json", options->is_json, "Print JSON");
  return [options](Context& context) -> Result<int> {
    if (options->duration_ms &&
        (*options->duration_ms <= 0 || *options->duration_ms > kDurationMaxMs)) {
      return Failure{kExitWrongUse, "--for must be longer than 0 and at most 10m, got " +
                                        ShowDuration(*options->duration_ms)};
    }
    return Bench(*options, context);
  };
}

constexpr auto kBenchCommands = std::to_array<CommandRow>({
    {"bench", kServer, "Measures the live server's speed from this machine", DescribeBench},
});

}  // namespace

std::span<const CommandRow> BenchCommands() { return kBenchCommands; }

}  // namespace fairlock::cli

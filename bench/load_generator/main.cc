// fairlock_load: puts load on a RESP server, checks every reply, and reports the cost.
//
// Prints one figure per line, with its name and value; compare.sh combines them.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "bench/load_generator/contended.h"
#include "bench/load_generator/crowd.h"
#include "bench/load_generator/held.h"
#include "bench/load_generator/pages.h"
#include "bench/load_generator/pairs.h"
#include "bench/load_generator/probe.h"
#include "bench/load_generator/steady.h"

namespace {

using namespace fairlock::bench;  // NOLINT(google-build-using-namespace)

void Print(const char* name, double value) { std::printf("%s %.3f\n", name, value); }
void Print(const char* name, std::uint64_t value) {
  std::printf("%s %llu\n", name, static_cast<unsigned long long>(value));
}

// Options about the server that every command has.
struct ServerOptions {
  std::string address;
  std::string dialect = "fairlock";
  pid_t pid = 0;
};

void AddServerOptions(CLI::App& command, ServerOptions& server) {
  command.add_option("--server", server.address, "ADDRESS:PORT, or the path of a unix socket")
      ->required();
  command.add_option("--server-pid", server.pid, "process whose CPU time or memory is read")
      ->required();
  command.add_option("--dialect", server.dialect, "fairlock, redis or script")
      ->capture_default_str();
}

void AddPairs(CLI::App& app, ServerOptions& server) {
  CLI::App* command = app.add_subcommand("pairs", "acquire and release free locks");
  AddServerOptions(*command, server);
  auto options = std::make_shared<PairsOptions>();
  command->add_option("--connections", options->connections)->capture_default_str();
  command->add_option("--pipeline", options->pipeline, "requests sent at once; 1 or even")
      ->capture_default_str();
  command->add_option("--commands", options->commands)->capture_default_str();
  command->add_option("--warm-up", options->warm_up_commands)->capture_default_str();
  command->add_option("--keys", options->keys)->capture_default_str();
  command->add_option("--key-prefix", options->key_prefix,
                      "for example a hash tag, which chooses the partition of a fleet");
  command->add_option("--key-bytes", options->key_bytes, "without the prefix")
      ->capture_default_str();
  command->add_option("--owner-bytes", options->owner_bytes)->capture_default_str();
  command
      ->add_option("--ahead", options->ahead,
                   "locks that each connection always holds: a key is released this many pairs "
                   "after it was acquired")
      ->capture_default_str();
  command->callback([options, &server] {
    options->endpoint = ParseEndpoint(server.address);
    options->dialect = &DialectNamed(server.dialect);
    options->server_pid = server.pid;
    const PairsResult result = MeasurePairs(*options);
    Print("commands", result.commands);
    Print("commands_per_second", static_cast<double>(result.commands) / result.seconds);
    Print("server_cpu_us_per_command", result.server_cpu_us);
    Print("client_cpu_us_per_command", result.client_cpu_us);
  });
}

void AddContended(CLI::App& app, ServerOptions& server) {
  CLI::App* command = app.add_subcommand("contended", "many clients take turns on one key");
  AddServerOptions(*command, server);
  auto options = std::make_shared<ContendedOptions>();
  command->add_option("--clients", options->clients)->capture_default_str();
  command->add_option("--seconds", options->seconds)->capture_default_str();
  command->add_option("--owner-bytes", options->owner_bytes)->capture_default_str();
  command
      ->add_option("--observe-every-us", options->observe_every_us,
                   "interval between checks of the order; 0 for no checks")
      ->capture_default_str();
  command->callback([options, &server] {
    options->endpoint = ParseEndpoint(server.address);
    options->dialect = &DialectNamed(server.dialect);
    options->server_pid = server.pid;
    const ContendedResult result = MeasureContended(*options);
    Print("hand_overs", result.hand_overs);
    Print("hand_overs_per_second", result.per_second);
    Print("hand_over_p50_us", result.latency_p50_us);
    Print("hand_over_p99_us", result.latency_p99_us);
    Print("server_cpu_us_per_hand_over", result.server_cpu_us);
    Print("order_observations", result.observations);
    Print("order_inversions", result.order_inversions);
  });
}

void AddHold(CLI::App& app, ServerOptions& server) {
  CLI::App* command = app.add_subcommand("hold", "acquire many locks and leave them held");
  AddServerOptions(*command, server);
  auto options = std::make_shared<HeldOptions>();
  command->add_option("--locks", options->locks)->capture_default_str();
  command->add_option("--lease-ms", options->lease_ms)->capture_default_str();
  command->add_flag("--ends-together", options->ends_together,
                    "all leases end this long after the first request");
  command->add_option("--key-bytes", options->key_bytes)->capture_default_str();
  command->add_option("--owner-bytes", options->owner_bytes)->capture_default_str();
  command->callback([options, &server] {
    options->endpoint = ParseEndpoint(server.address);
    options->dialect = &DialectNamed(server.dialect);
    options->server_pid = server.pid;
    const HeldResult result = TakeAndLeave(*options);
    Print("seconds", result.seconds);
    Print("resident_bytes_per_lock", result.resident_per_lock);
    Print("ends_at_ns", result.ends_at_ns);
  });
}

void PrintCrowd(const CrowdResult& result) {
  Print("resident_bytes_per_connection", result.resident_per_connection);
  Print("resident_bytes_per_waiter", result.resident_per_waiter);
  std::printf("ready 1\n");
  std::fflush(stdout);
}

void AddCrowd(CLI::App& app, ServerOptions& server) {
  CLI::App* command =
      app.add_subcommand("crowd", "keep many connections open, idle or in one queue, until killed");
  AddServerOptions(*command, server);
  auto options = std::make_shared<CrowdOptions>();
  command->add_option("--connections", options->connections)->capture_default_str();
  command->add_option("--wait-for", options->wait_for, "a held key that all connections wait for");
  command->add_option("--owner-prefix", options->owner_prefix, "at most 8 bytes");
  command->callback([options, &server] {
    options->endpoint = ParseEndpoint(server.address);
    options->server_pid = server.pid;
    StandInCrowd(*options, PrintCrowd);
  });
}

void AddPages(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("pages", "poll a server over HTTP like dashboards, until SIGTERM");
  auto options = std::make_shared<PagesOptions>();
  auto address = std::make_shared<std::string>();
  auto pages = std::make_shared<std::vector<std::string>>();
  command->add_option("--http", *address, "ADDRESS:PORT")->required();
  command
      ->add_option("--page", *pages,
                   "\"SECONDS PATH [PATH ...]\": requests these paths over one connection at this "
                   "interval; give the option once per page")
      ->required();
  command->callback([options, address, pages] {
    options->endpoint = ParseEndpoint(*address);
    for (const std::string& page : *pages) options->pages.push_back(ParsePage(page));
    Print("requests", static_cast<std::uint64_t>(LookAtPages(*options)));
  });
}

void AddProbe(CLI::App& app, ServerOptions& server) {
  CLI::App* command = app.add_subcommand("probe", "send PING at a fixed rate");
  AddServerOptions(*command, server);
  auto options = std::make_shared<ProbeOptions>();
  command->add_option("--interval-us", options->interval_us)->capture_default_str();
  command->add_option("--seconds", options->seconds, "maximum duration")->capture_default_str();
  command->add_option("--begin-at-ns", options->begin_at_ns, "start time by the monotonic clock");
  command->add_flag("--until-empty", options->until_empty, "stop soon after DBSIZE is 0");
  command->callback([options, &server] {
    options->endpoint = ParseEndpoint(server.address);
    const ProbeResult result = Probe(*options);
    Print("pings", static_cast<std::uint64_t>(result.pings));
    Print("ping_p50_us", result.p50_us);
    Print("ping_p99_us", result.p99_us);
    Print("ping_p999_us", result.p999_us);
    Print("ping_max_us", result.max_us);
    Print("empty_at_ns", result.empty_at_ns);
  });
}

void PrintPeriod(const SteadyPeriod& period) {
  Print("commands", static_cast<std::uint64_t>(period.commands));
  Print("seconds", period.seconds);
  Print("p50_us", period.p50_us);
  Print("p99_us", period.p99_us);
  Print("p999_us", period.p999_us);
  Print("max_us", period.max_us);
  std::printf("period %s\n", period.name.c_str());
  std::fflush(stdout);
}

void AddSteady(CLI::App& app, ServerOptions& server) {
  CLI::App* command = app.add_subcommand(
      "steady",
      "acquire and release locks at a fixed rate until standard input ends; each line "
      "of it ends a period, which is printed with that name");
  command->add_option("--server", server.address, "ADDRESS:PORT, or the path of a unix socket")
      ->required();
  auto options = std::make_shared<SteadyOptions>();
  command->add_option("--connections", options->connections)->capture_default_str();
  command->add_option("--rate", options->rate, "commands per second of all connections together")
      ->capture_default_str();
  command->callback([options, &server] {
    options->endpoint = ParseEndpoint(server.address);
    RunSteadily(*options, PrintPeriod);
  });
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Puts load on a lock server or on Redis, checks every reply, and reports the cost.");
  app.require_subcommand(1);
  ServerOptions server;
  AddPairs(app, server);
  AddContended(app, server);
  AddHold(app, server);
  AddCrowd(app, server);
  AddPages(app);
  AddProbe(app, server);
  AddSteady(app, server);
  CLI11_PARSE(app, argc, argv);
  return 0;
}

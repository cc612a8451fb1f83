// fairlock_scenarios: plays scenarios in virtual time, or on a running server.

#include <CLI/CLI.hpp>
#include <charconv>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/scenarios/live_stage.h"
#include "tests/scenarios/player.h"
#include "tests/scenarios/scenario_reader.h"
#include "tests/scenarios/server_process.h"
#include "tests/scenarios/virtual_stage.h"

namespace fairlock::scenarios {
namespace {

constexpr int kBadArguments = 2;

struct Arguments {
  std::vector<std::string> paths;
  std::string server;   // HOST:PORT
  std::string program;  // a fairlockd to start
  std::int64_t slack_ms = 1'000;
};

struct Tally {
  int played = 0;
  int failed = 0;
  int skipped = 0;
};

void Report(const Case& played, const std::optional<std::string>& failure, std::string_view how,
            Tally& tally) {
  ++tally.played;
  if (!failure) return;
  ++tally.failed;
  std::cout << *failure << "\n    in '" << played.title << "', " << how << "\n";
}

// Plays the case in each protocol version that it applies to, and again with bytes that arrive one
// by one.
void PlayVirtually(const Scenario& scenario, Tally& tally) {
  struct Way {
    int resp_version;
    std::size_t piece_bytes;
    std::string_view name;
  };
  engine::EngineOptions engine;
  if (!ApplyOptions(scenario.options, engine)) {
    ++tally.failed;
    std::cout << scenario.path << ": in virtual time there is no such option\n";
    return;
  }
  for (const Way& way : {Way{2, 0, "in virtual time, RESP2"}, Way{3, 0, "in virtual time, RESP3"},
                         Way{2, 1, "in virtual time, byte by byte"}}) {
    VirtualStage stage({.engine = engine, .piece_bytes = way.piece_bytes});
    for (const Case& each : scenario.cases) {
      if (each.resp_version != 0 && each.resp_version != way.resp_version) continue;
      const PlayOptions options{.path = scenario.path, .resp_version = way.resp_version};
      Report(each, Play(each, stage, options), way.name, tally);
    }
  }
}

void PlayLive(const Scenario& scenario, const LiveStageOptions& options, Tally& tally) {
  LiveStage stage(options);
  for (const Case& each : scenario.cases) {
    if (each.is_virtual_only) {
      ++tally.skipped;
      continue;
    }
    const int version = each.resp_version == 3 ? 3 : 2;
    const PlayOptions play{.path = scenario.path, .resp_version = version};
    Report(each, Play(each, stage, play), "on a running server", tally);
  }
}

// Each file gets its own server.
void PlayOnOwnServer(const Scenario& scenario, const Arguments& arguments, Tally& tally) {
  ServerProcess server(arguments.program, scenario.options);
  std::string wrong = server.Start();
  if (wrong.empty()) {
    PlayLive(scenario, {.server = server.address(), .slack_ms = arguments.slack_ms}, tally);
    wrong = server.Stop();
  }
  if (wrong.empty()) return;
  ++tally.failed;
  std::cout << scenario.path << ": " << wrong << "\n";
}

bool ParseAddress(const std::string& text, Address& address) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return false;
  address.host = text.substr(0, colon);
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + colon + 1, end, address.port);
  return read.ec == std::errc() && read.ptr == end && address.port != 0;
}

bool ReadAll(const std::vector<std::string>& paths, std::vector<Scenario>& scenarios) {
  for (const std::string& path : paths) {
    std::ifstream file(path);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) {
      std::cerr << path << ": cannot be read\n";
      return false;
    }
    ReadResult result = ReadScenario(path, text.str());
    if (!result.error.empty()) {
      std::cerr << result.error << "\n";
      return false;
    }
    scenarios.push_back(std::move(result.scenario));
  }
  return true;
}

int Run(const Arguments& arguments) {
  LiveStageOptions live{.server = {}, .slack_ms = arguments.slack_ms};
  if (!arguments.server.empty() && !ParseAddress(arguments.server, live.server)) {
    std::cerr << "fairlock_scenarios: --server '" << arguments.server << "' is not HOST:PORT\n";
    return kBadArguments;
  }
  std::vector<Scenario> scenarios;
  if (!ReadAll(arguments.paths, scenarios)) return kBadArguments;
  Tally tally;
  for (const Scenario& scenario : scenarios) {
    if (!arguments.server.empty() && !scenario.options.empty()) {
      std::cout << scenario.path << ": needs a server with options of its own, not played\n";
    } else if (!arguments.server.empty()) {
      PlayLive(scenario, live, tally);
    } else if (!arguments.program.empty()) {
      PlayOnOwnServer(scenario, arguments, tally);
    } else {
      PlayVirtually(scenario, tally);
    }
  }
  std::cout << tally.played << " played, " << tally.failed << " failed, " << tally.skipped
            << " are for virtual time only\n";
  return tally.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace fairlock::scenarios

int main(int argc, char** argv) {
  using namespace fairlock::scenarios;
  CLI::App app("Plays scenarios, in virtual time if no server is named.");
  Arguments arguments;
  app.add_option("FILE", arguments.paths, "scenarios")->required();
  auto* const server = app.add_option("--server", arguments.server,
                                      "HOST:PORT of a running server; all its locks are broken");
  app.add_option("--start", arguments.program, "a fairlockd, started anew for each file")
      ->excludes(server);
  app.add_option("--slack-ms", arguments.slack_ms,
                 "on a server: how much later than said things may happen")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return Run(arguments);
}

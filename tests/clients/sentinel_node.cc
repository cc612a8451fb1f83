// A node of a fleet without etcd: it has a real RESP port and a real Sentinel port, and the test
// says which node leads. For testing how client libraries use the Sentinel port.
//
//   sentinel_node NAME PASSWORD NODE=PORT:SENTINEL_PORT ...
//
// Prints "ready". Each line of the standard input names the node that leads from then on; after an
// empty line, no node leads. A leader that is deposed closes its connections. Ends when its input
// ends.

#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "server/access/user_table.h"
#include "server/command/handlers/command_families.h"
#include "server/command/server_parts.h"
#include "server/config/config.h"
#include "server/logging/connection_log.h"
#include "server/logging/logging.h"
#include "server/net/clock.h"
#include "server/net/loop/turn_loop.h"
#include "server/net/sockets/listening_socket.h"
#include "server/services/sentinel_service.h"
#include "tests/unit/server/command/command_test_support.h"
#include "tests/unit/server/command/fake_fleet_test_support.h"

namespace fairlock {
namespace {

command::FleetNode ParseNode(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::size_t colon = text.find(':');
  command::FleetNode node;
  node.name = text.substr(0, equals);
  node.host = "127.0.0.1";
  node.port = static_cast<std::uint16_t>(std::stoi(text.substr(equals + 1)));
  node.sentinel_port = static_cast<std::uint16_t>(std::stoi(text.substr(colon + 1)));
  node.is_in_sync = true;
  return node;
}

class Node {
 public:
  Node(const std::string& name, const std::string& password, command::FleetReport report,
       server::Log& log)
      : log_(log) {
    fleet_.report = std::move(report);
    fleet_.report.node = name;
    parts_.environment.fleet = &fleet_;
    if (!password.empty()) RequirePassword(password);
    Lead("");
  }

  // Returns an error, or an empty string.
  std::string Start() {
    for (const command::FleetNode& node : fleet_.report.nodes) {
      if (node.name != fleet_.report.node) continue;
      server::Config config = server::DefaultConfig();
      config.bind = {"127.0.0.1"};
      config.sentinel_port = node.sentinel_port;
      net::ListenResult listening =
          net::Listen({.bind = config.bind, .port = node.port, .unix_path = ""});
      if (!listening.error.empty()) return listening.error;
      loop_.StartListening(std::move(listening.sockets));
      if (std::string error = sentinel_.Start(config); !error.empty()) return error;
    }
    ReadLine();
    return "";
  }

  void Run() { loop_.Run(); }

 private:
  void RequirePassword(const std::string& password) {
    access::UsersRead read = access::ReadUsers(
        {.acl_text = std::nullopt, .default_password = password}, parts_.access.vocabulary());
    if (!read.error.empty()) std::abort();
    parts_.access_review.SetUsers(std::move(read.users), net::BoottimeMs());
  }

  void Lead(std::string_view leader) {
    const bool led = fleet_.report.leader == fleet_.report.node;
    fleet_.SetLeader(leader);
    ++fleet_.report.epoch;
    const bool leads = leader == fleet_.report.node;
    parts_.availability.set_service(leads ? command::Service::kWorking
                                          : command::Service::kClusterDown);
    if (led && !leads) loop_.connections().CloseAll(net::CloseReason::kLeaderIsElsewhere);
  }

  void ReadLine() {
    boost::asio::async_read_until(
        input_, boost::asio::dynamic_buffer(received_), '\n',
        [this](const boost::system::error_code& error, std::size_t bytes) {
          if (error) {
            sentinel_.Close();
            return loop_.RequestStop();
          }
          Lead(received_.substr(0, bytes - 1));
          received_.erase(0, bytes);
          ReadLine();
        });
  }

  server::Log& log_;
  command::FakeEnvironment environment_;
  command::FakeFleet fleet_;
  command::ServerParts parts_{
      command::WholeLanguage(), {}, environment_.Given(), net::BoottimeMs()};
  server::ConnectionLog connection_log_{log_};
  net::TurnLoop loop_{parts_, connection_log_, {}};
  server::SentinelService sentinel_{loop_, log_};
  boost::asio::posix::stream_descriptor input_{loop_.io_context(), dup(STDIN_FILENO)};
  std::string received_;
};

int Serve(int argc, char** argv) {
  std::string error;
  const auto log = server::Log::Open({.level = server::LogLevel::kInfo, .file = ""}, error);
  if (log == nullptr || argc < 4) {
    std::cerr << "sentinel_node NAME PASSWORD NODE=PORT:SENTINEL_PORT ... " << error << "\n";
    return 2;
  }
  command::FleetReport report;
  report.fleet = "main";
  report.age_ms = 0;
  for (int i = 3; i < argc; ++i) report.nodes.push_back(ParseNode(argv[i]));
  Node node(argv[1], argv[2], std::move(report), *log);
  if (error = node.Start(); !error.empty()) {
    std::cerr << error << "\n";
    return 1;
  }
  std::cout << "ready" << std::endl;
  node.Run();
  return 0;
}

}  // namespace
}  // namespace fairlock

int main(int argc, char** argv) { return fairlock::Serve(argc, argv); }

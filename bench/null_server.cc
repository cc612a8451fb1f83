// A server without a lock engine: the cost of network, parser and dispatch alone.
//
// Sockets, turn loop, parsing, command look-up, reading of arguments and writing of replies are
// fairlockd's own code. LOCK key owner [PX ms] is answered with a number as long as a token, UNLOCK
// key owner with 1; nothing is looked up or stored. With --table they also do the minimum that any
// stateful server must do: LOCK inserts key and owner into a hash table if the key is absent, and
// UNLOCK removes them if the owner matches.

#include <CLI/CLI.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "server/command/environment/environment.h"
#include "server/command/server_parts.h"
#include "server/command/table/argument_reader.h"
#include "server/command/table/command_table.h"
#include "server/net/clock.h"
#include "server/net/loop/turn_loop.h"
#include "server/net/net_events.h"
#include "server/net/sockets/listening_socket.h"

namespace fairlock::bench {

namespace {

struct HashOfBytes {
  using is_transparent = void;
  std::size_t operator()(std::string_view bytes) const {
    return std::hash<std::string_view>()(bytes);
  }
};

struct EqualBytes {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const { return a == b; }
};

// The whole state of the handlers of the null server.
class NullLocks {
 public:
  void set_keeps_table(bool keeps_table) { keeps_table_ = keeps_table; }

  // Returns the number to reply with, or 0 if the key is present.
  std::int64_t Lock(std::string_view key, std::string_view owner) {
    if (keeps_table_ && !owners_.emplace(key, owner).second) return 0;
    return ++newest_;
  }
  bool Unlock(std::string_view key, std::string_view owner) {
    if (!keeps_table_) return true;
    const auto found = owners_.find(key);
    if (found == owners_.end() || found->second != owner) return false;
    owners_.erase(found);
    return true;
  }

 private:
  bool keeps_table_ = false;
  std::int64_t newest_ = std::int64_t{1} << 47;  // about where fairlockd's tokens start
  boost::unordered_flat_map<std::string, std::string, HashOfBytes, EqualBytes> owners_;
};

NullLocks null_locks;

class NullEnvironment final : public command::Clock,
                              public command::ResourceMeter,
                              public command::Settings,
                              public command::CommandLog {
 public:
  // Returns the environment that the server gets.
  command::Environment Given() {
    return {.facts = facts_, .clock = *this, .resources = *this, .settings = *this, .log = *this};
  }

  std::int64_t UnixTimeUs() const override { return 0; }
  std::uint64_t MonotonicNs() const override { return 0; }
  command::ResourceUse Resources() const override { return {}; }
  std::uint64_t MemoryInUse(bool /*asks_anew*/) override { return 0; }
  std::vector<command::Setting> FindSettings(const engine::Glob&) const override { return {}; }
  std::string ChangeSetting(std::string_view, std::string_view) override {
    return "nothing to set";
  }
  void LogWarning(std::string_view /*text*/) override {}
  void LogAudit(std::string_view /*text*/) override {}
  void LogFromScript(script::LogLevel /*level*/, std::string_view /*text*/) override {}
  void LogFailedLogIn(std::string_view, std::string_view) override {}
  void LogMemoryShort(bool, std::uint64_t, std::uint64_t) override {}
  void LogClosedNewcomer(command::ClosedNewcomer, std::string_view, engine::TimeMs) override {}

 private:
  command::ServerFacts facts_;
};

void Lock(command::Invocation& call) {
  command::ArgumentReader arguments(call.arguments);
  const engine::KeyName key = arguments.Key({.db = call.client.profile.database});
  const std::string_view owner = arguments.Owner("owner");
  if (arguments.Take("PX")) arguments.LeaseMilliseconds();
  if (!arguments.Finish(call.reply)) return;
  const std::int64_t number = null_locks.Lock(key.bytes, owner);
  if (number != 0) {
    call.reply.Integer(number);
  } else {
    call.reply.Null();
  }
}

void Unlock(command::Invocation& call) {
  command::ArgumentReader arguments(call.arguments);
  const engine::KeyName key = arguments.Key({.db = call.client.profile.database});
  const std::string_view owner = arguments.Owner("owner");
  if (!arguments.Finish(call.reply)) return;
  call.reply.Integer(null_locks.Unlock(key.bytes, owner) ? 1 : 0);
}

constexpr command::CommandSpec kCommands[] = {
    {"LOCK", Lock, -3, command::kWrite, {1, 1, 1}, "lock", "key owner [PX ms]", "", ""},
    {"UNLOCK", Unlock, 3, command::kWrite, {1, 1, 1}, "lock", "key owner", "", ""},
};

class SilentEvents final : public net::NetEvents {
 public:
  void LogOpened(const command::ClientProfile&) override {}
  void LogClosed(const command::ClientProfile&, net::CloseReason, engine::TimeMs) override {}
  void LogRefused(std::string_view, const net::Refusal&, engine::TimeMs) override {}
  void LogAcceptFailed(int, engine::TimeMs) override {}
  void LogHandshakeFailed(std::string_view, std::string_view, engine::TimeMs) override {}
  void LogUnexpectedTls(std::string_view, engine::TimeMs) override {}
};

int Serve(std::uint16_t port, bool keeps_table) {
  null_locks.set_keeps_table(keeps_table);
  NullEnvironment environment;
  command::ServerParts parts(command::CommandTable({kCommands}), {}, environment.Given(),
                             net::BoottimeMs(), {.history_bytes = 0, .labels_max = 0});
  SilentEvents events;
  net::TurnLoop loop(parts, events, {});
  net::ListenOptions addresses;
  addresses.bind = {"127.0.0.1"};
  addresses.port = port;
  net::ListenResult listening = net::Listen(addresses);
  if (!listening.error.empty()) {
    std::fprintf(stderr, "fairlock_null_server: %s\n", listening.error.c_str());
    return 1;
  }
  loop.StartListening(std::move(listening.sockets));
  boost::asio::signal_set signals(loop.io_context(), SIGTERM, SIGINT);
  signals.async_wait([&loop](const boost::system::error_code& error, int) {
    if (!error) loop.RequestStop();
  });
  loop.Run();
  return 0;
}

}  // namespace

}  // namespace fairlock::bench

int main(int argc, char** argv) {
  CLI::App app("Answers LOCK and UNLOCK on 127.0.0.1 without any locking.");
  std::uint16_t port = 0;
  bool keeps_table = false;
  app.add_option("--port", port)->required();
  app.add_flag("--table", keeps_table, "store keys and owners in a hash table");
  CLI11_PARSE(app, argc, argv);
  return fairlock::bench::Serve(port, keeps_table);
}

// The servers that the setting `host` lists, and which of them to try next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/connection/settings.h"

namespace fairlock::cli {

struct ServerAddress {
  std::string host;
  std::uint16_t port = 0;  // 0 if none is given

  friend bool operator==(const ServerAddress&, const ServerAddress&) = default;
};

inline constexpr std::size_t kServersMax = 32;

// Parses a list of `host`, `host:port`, `[ipv6]:port` or a bare IPv6 address, separated by commas.
// Returns nullopt if an entry has none of these forms, or if there are more than kServersMax.
std::optional<std::vector<ServerAddress>> ParseServers(std::string_view list);

// "10.0.0.1:3247" or "[::1]:3247", as ParseServers reads it.
std::string NameOf(const ServerAddress& server);

// The same settings, for one server.
Settings SettingsFor(const ServerAddress& server, Settings settings);

// A round tries each server once, beginning with the one that worked last. After a redirect, the
// server that it named comes before those that are listed.
class ServerList {
 public:
  // REQUIRES: ParseServers accepts the host of the settings.
  explicit ServerList(const Settings& settings);

  // Whether there is more than one server.
  bool has_choice() const { return servers_.size() > 1; }
  std::size_t size() const { return servers_.size(); }
  // Accepts any server, even one that does not serve locks.
  void AcceptStandby() { accepts_standby_ = true; }
  // Whether a server is used only if it serves locks.
  bool chooses() const { return listed_ > 1 && !accepts_standby_; }
  const ServerAddress& current() const { return servers_[current_]; }
  // Whether the current server is reached at the unix socket of the settings.
  bool is_at_socket() const { return is_socket_ && current_ + 1 == servers_.size(); }
  // "127.0.0.1:3247" or "unix:/run/fairlock.sock".
  const std::string& name() const { return names_[current_]; }

  void BeginRound();
  // Whether no other server has been tried in this round.
  bool is_first() const { return tried_ == 0; }
  // Records why the current server cannot be used, and turns to the next one. `is_standby` means
  // that it answered that it is not serving locks at the moment. Returns false if the round is
  // over; the next round begins with the same server as this one.
  bool TryNext(const std::string& reason, bool is_standby);
  // Whether a standby was found in this round, so that a server may serve locks soon.
  bool found_standby() const { return found_standby_; }
  // Makes the next round begin with the next server, because the current one no longer serves
  // locks.
  void Skip() { Advance(); }
  // Makes the next round begin with `server`, which takes the place of an earlier redirect's.
  void Redirect(ServerAddress server);
  // Why each server of the round could not be used: "a:3247: Connection refused; b:3247: ...".
  const std::string& reasons() const { return reasons_; }

 private:
  void Advance() { current_ = (current_ + 1) % servers_.size(); }

  std::vector<ServerAddress> servers_;  // after a redirect, the first is not a listed one
  std::vector<std::string> names_;
  std::size_t listed_ = 0;
  bool is_socket_ = false;  // the only listed server is a unix socket
  bool accepts_standby_ = false;
  bool found_standby_ = false;
  std::size_t current_ = 0;
  std::size_t tried_ = 0;  // servers tried in this round, not counting the current one
  std::string reasons_;
};

}  // namespace fairlock::cli

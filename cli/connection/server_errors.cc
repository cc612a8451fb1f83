#include "cli/connection/server_errors.h"

#include <algorithm>
#include <array>

#include "cli/output/printable.h"
#include "text/address.h"
#include "text/number.h"

namespace fairlock::cli {

namespace {

struct Advice {
  std::string_view word;
  int exit_code;
  std::string_view text;
};

constexpr auto kAdvice = std::to_array<Advice>({
    {"NOAUTH", kExitNotAllowed, "give --password-file, and --user unless the user is default"},
    {"WRONGPASS", kExitNotAllowed, "see --user and --password-file"},
    {"NOPERM", kExitNotAllowed, "give a --user that has the permission"},
    {"FULL", kExitNotObtained, ""},
    {"DEADLOCK", kExitNotObtained, ""},
    {"CANCELLED", kExitNotObtained, ""},
    {"SUPERSEDED", kExitNotObtained, ""},
    {"UNBLOCKED", kExitNotObtained, ""},
    {"TRYAGAIN", kExitNotObtained, ""},
    {"LOADING", kExitUnreachable, "the server is starting; try again in a moment"},
    {"CLUSTERDOWN", kExitUnreachable, "`--host a,b,c` finds the node that leads"},
    {"MOVED", kExitUnreachable, "the leader of that partition is changing; try again in a moment"},
    {"CROSSSLOT", kExitRefused,
     "in a fleet of several partitions, give the keys the same {hash tag}"},
    {"STORAGE", kExitRefused, "the server's log shows the disk error"},
});

// The wording of Redis and compatible servers.
constexpr std::string_view kUnknownCommand = "ERR unknown command";
constexpr std::string_view kNotFairlock =
    "; it is not a fairlock server, or it is older than this fairlockctl";

}  // namespace

std::string_view ErrorWord(std::string_view error) { return error.substr(0, error.find(' ')); }

bool IsTransient(std::string_view error) {
  constexpr auto kTransient =
      std::to_array<std::string_view>({"LOADING", "TRYAGAIN", "STORAGE", "CLUSTERDOWN", "BUSY"});
  return std::ranges::find(kTransient, ErrorWord(error)) != kTransient.end();
}

bool IsRefusalToServe(const protocol::Reply& reply) {
  if (!reply.IsError()) return false;
  const std::string_view word = ErrorWord(reply.text);
  return word == "CLUSTERDOWN" || word == "LOADING";
}

// In "MOVED 3999 10.0.0.1:3247", the slot comes first, and then the address, in which an IPv6
// address has no brackets.
std::optional<ServerAddress> MovedTo(const protocol::Reply& reply) {
  if (!reply.IsError() || ErrorWord(reply.text) != "MOVED") return std::nullopt;
  const auto [host, port] =
      text::SplitAddress(std::string_view(reply.text).substr(reply.text.rfind(' ') + 1));
  const auto number = text::ParseNumber<std::uint16_t>(port.value_or("")).value_or(0);
  if (host.empty() || number == 0) return std::nullopt;
  return ServerAddress{std::string(host), number};
}

Failure ServerFailure(std::string_view error, const std::string& server_name) {
  Failure failure{kExitRefused,
                  server_name + " answered: " + PrintableText(error, Charset::kAscii)};
  if (error.starts_with(kUnknownCommand)) failure.text.append(kNotFairlock);
  const auto row = std::ranges::find(kAdvice, ErrorWord(error), &Advice::word);
  if (row == kAdvice.end()) return failure;
  failure.exit_code = row->exit_code;
  if (!row->text.empty()) failure.text.append("; ").append(row->text);
  return failure;
}

}  // namespace fairlock::cli

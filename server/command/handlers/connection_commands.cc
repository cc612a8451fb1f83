// Commands that concern the connection: greeting, protocol, database, and QUIT.

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "server/command/auth/log_ins.h"
#include "server/command/client/client_wait.h"
#include "server/command/handlers/command_families.h"
#include "server/command/handlers/shared_replies.h"
#include "server/command/server_parts.h"
#include "server/command/table/refusals.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;

// The reply has the form of a message, because a RESP2 subscriber expects no other reply.
void PingConfined(Invocation& call) {
  call.reply.ArrayHeader(2);
  call.reply.Bulk("pong");
  call.reply.Bulk(call.arguments.size() == 2 ? call.arguments[1] : "");
}

void Ping(Invocation& call) {
  if (call.arguments.size() > 2) {
    RefuseArity(*call.server.table.Find("PING"), call.reply);
  } else if (call.client.is_confined()) {
    PingConfined(call);
  } else if (call.arguments.size() == 2) {
    call.reply.Bulk(call.arguments[1]);
  } else {
    call.reply.Simple("PONG");
  }
}

void Echo(Invocation& call) { call.reply.Bulk(call.arguments[1]); }

void BeginLogIn(Invocation& call, const LogInRequest& request) {
  const bool may_wait = !call.server.delivery.is_in_step();
  call.server.log_ins.Begin(request, call.client, may_wait, call.reply, call.now);
}

void Auth(Invocation& call) {
  if (call.arguments.size() > 3) return RefuseSyntax(call.reply);
  if (call.arguments.size() == 3) {
    return BeginLogIn(call, {.user = call.arguments[1], .password = call.arguments[2]});
  }
  if (call.server.access.NewcomersUser() != nullptr) {
    return call.reply.Error(
        ErrorCode::kErr,
        "AUTH <password> called without any password configured for the default "
        "user. Are you sure your configuration is correct?");
  }
  BeginLogIn(call, {.user = access::kDefaultUser, .password = call.arguments[1]});
}

struct Hail {
  Greeting greeting;
  std::optional<std::string_view> user;
  std::string_view password;
};

// Returns nullopt after sending an error.
std::optional<Hail> ReadHail(Invocation& call) {
  const protocol::Arguments& arguments = call.arguments;
  Hail hail;
  if (arguments.size() == 1) return hail;
  const auto version = ParseInteger(arguments[1]);
  if (!version) {
    call.reply.Error(ErrorCode::kErr, "Protocol version is not an integer or out of range");
    return std::nullopt;
  }
  if (*version != 2 && *version != 3) {
    call.reply.Error(ErrorCode::kNoProto, "unsupported protocol version");
    return std::nullopt;
  }
  hail.greeting.version = static_cast<protocol::RespVersion>(*version);
  for (std::size_t i = 2; i < arguments.size();) {
    const std::size_t behind = arguments.size() - 1 - i;
    if (EqualsIgnoreCase(arguments[i], "AUTH") && behind >= 2) {
      hail.user = arguments[i + 1];
      hail.password = arguments[i + 2];
      i += 3;
    } else if (EqualsIgnoreCase(arguments[i], "SETNAME") && behind >= 1) {
      hail.greeting.name = arguments[i + 1];
      if (const std::string_view wrong = WrongInClientName(*hail.greeting.name); !wrong.empty()) {
        call.reply.Error(ErrorCode::kErr, "Client names " + std::string(wrong));
        return std::nullopt;
      }
      i += 2;
    } else {
      call.reply.Error(ErrorCode::kErr,
                       "Syntax error in HELLO option " + Quoted(arguments[i], 128));
      return std::nullopt;
    }
  }
  return hail;
}

void Hello(Invocation& call) {
  const auto hail = ReadHail(call);
  if (!hail) return;
  if (hail->user) {
    return BeginLogIn(
        call, {.user = *hail->user, .password = hail->password, .greeting = hail->greeting});
  }
  if (call.client.rights.user() == nullptr) {
    return call.reply.Error(ErrorCode::kNoAuth,
                            "HELLO must be called with the client already authenticated, otherwise "
                            "the HELLO <proto> AUTH <user> <pass> option can be used to "
                            "authenticate the client and select the RESP protocol version at the "
                            "same time");
  }
  Greet(call.client, call.server.clients, hail->greeting, call.server.environment);
}

void Quit(Invocation& call) {
  call.reply.Ok();
  call.client.output.CloseAfter();
}

void Reset(Invocation& call) {
  call.server.lifecycle.Reset(call.client, call.now);
  call.reply.Simple("RESET");
}

void Select(Invocation& call) {
  const auto number = ParseInteger(call.arguments[1]);
  if (!number) {
    call.reply.Error(ErrorCode::kErr, "value is not an integer or out of range");
  } else if (*number < std::numeric_limits<std::int32_t>::min() ||
             *number > std::numeric_limits<std::int32_t>::max()) {
    call.reply.Error(ErrorCode::kErr,
                     "value is out of range, value must between -2147483648 and 2147483647");
  } else if (*number < 0 || *number >= static_cast<std::int64_t>(engine::kDatabases)) {
    call.reply.Error(ErrorCode::kErr, "DB index is out of range");
  } else {
    call.client.profile.database = static_cast<std::uint8_t>(*number);
    call.reply.Ok();
  }
}

constexpr auto kConnectionCommands = std::to_array<CommandSpec>({
    {"PING",
     Ping,
     -1,
     kConnection | kFast | kWhileConfined | kOnlyWhenReady,
     {},
     "connection",
     "[message]",
     "Replies with PONG, or with the message",
     "O(1)"},
    {"ECHO",
     Echo,
     2,
     kConnection | kFast,
     {},
     "connection",
     "message",
     "Answers the message",
     "O(1)"},
    {"HELLO",
     Hello,
     -1,
     kNoScript | kConnection | kFast | kNoAuth,
     {},
     "connection",
     "[protocol [AUTH user password] [SETNAME name]]",
     "Selects RESP 2 or 3, and describes the server",
     "O(1)"},
    {"AUTH",
     Auth,
     -2,
     kNoScript | kConnection | kFast | kNoAuth,
     {},
     "connection",
     "[user] password",
     "Logs the client in",
     "O(1)"},
    {"QUIT",
     Quit,
     -1,
     kConnection | kFast | kNoAuth | kWhileConfined | kNotQueued | kNoScript,
     {},
     "connection",
     "",
     "Closes the connection once the replies before it are sent",
     "O(1)"},
    {"RESET",
     Reset,
     1,
     kConnection | kFast | kNoAuth | kWhileConfined | kNotQueued | kNoScript,
     {},
     "connection",
     "",
     "Resets the connection to its initial state: RESP 2, database 0, no name, no subscriptions, "
     "no MONITOR, no MULTI, logged out; holds with SESSION end as if the connection had closed",
     "O(1)"},
    {"SELECT",
     Select,
     2,
     kConnection | kFast,
     {},
     "connection",
     "database",
     "Selects one of the 16 databases (key namespaces), 0 to 15",
     "O(1)"},
});

}  // namespace

std::span<const CommandSpec> ConnectionCommands() { return kConnectionCommands; }

}  // namespace fairlock::command

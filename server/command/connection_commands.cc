// Greeting, naming the protocol and the database, and leaving.

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "server/command/client_name.h"
#include "server/command/command_table.h"
#include "server/command/dispatcher.h"
#include "server/command/redis_version.h"
#include "server/command/refusals.h"
#include "server/command/text.h"
#include "server/command/users.h"

namespace fairlock::command {

namespace {

using protocol::ErrorCode;

// In the form of a message, where replies are not expected.
void PingConfined(Invocation& call) {
  call.reply.ArrayHeader(2);
  call.reply.Bulk("pong");
  call.reply.Bulk(call.arguments.size() == 2 ? call.arguments[1] : "");
}

void Ping(Invocation& call) {
  if (call.arguments.size() > 2) {
    RefuseArity(*call.dispatcher.commands().Find("PING"), call.reply);
  } else if (call.client.is_confined()) {
    PingConfined(call);
  } else if (call.arguments.size() == 2) {
    call.reply.Bulk(call.arguments[1]);
  } else {
    call.reply.Simple("PONG");
  }
}

void Echo(Invocation& call) { call.reply.Bulk(call.arguments[1]); }

// True: that user may go on. Else the error is answered.
bool Authenticate(Invocation& call, std::string_view user, std::string_view password) {
  if (IsAuthentic(user, password)) {
    call.client.profile().user = user;
    call.dispatcher.engine().clients().SetUser(call.client.client, user);
    return true;
  }
  call.reply.Error(ErrorCode::kWrongPass, "invalid username-password pair or user is disabled.");
  return false;
}

void Auth(Invocation& call) {
  if (call.arguments.size() > 3) {
    RefuseSyntax(call.reply);
  } else if (call.arguments.size() == 2) {
    call.reply.Error(ErrorCode::kErr,
                     "AUTH <password> called without any password configured for the default "
                     "user. Are you sure your configuration is correct?");
  } else if (Authenticate(call, call.arguments[1], call.arguments[2])) {
    call.reply.Ok();
  }
}

struct Greeting {
  std::optional<protocol::RespVersion> version;
  std::optional<std::string_view> user;
  std::string_view password;
  std::optional<std::string_view> name;
};

// None: the error is answered.
std::optional<Greeting> ReadGreeting(Invocation& call) {
  const protocol::Arguments& arguments = call.arguments;
  Greeting greeting;
  if (arguments.size() == 1) return greeting;
  const auto version = ParseInteger(arguments[1]);
  if (!version) {
    call.reply.Error(ErrorCode::kErr, "Protocol version is not an integer or out of range");
    return std::nullopt;
  }
  if (*version != 2 && *version != 3) {
    call.reply.Error(ErrorCode::kNoProto, "unsupported protocol version");
    return std::nullopt;
  }
  greeting.version = static_cast<protocol::RespVersion>(*version);
  for (std::size_t i = 2; i < arguments.size();) {
    const std::size_t behind = arguments.size() - 1 - i;
    if (EqualsIgnoreCase(arguments[i], "AUTH") && behind >= 2) {
      greeting.user = arguments[i + 1];
      greeting.password = arguments[i + 2];
      i += 3;
    } else if (EqualsIgnoreCase(arguments[i], "SETNAME") && behind >= 1) {
      greeting.name = arguments[i + 1];
      if (!IsClientName(*greeting.name)) {
        call.reply.Error(ErrorCode::kErr, kBadClientName);
        return std::nullopt;
      }
      i += 2;
    } else {
      call.reply.Error(ErrorCode::kErr,
                       "Syntax error in HELLO option " + Quoted(arguments[i], 128));
      return std::nullopt;
    }
  }
  return greeting;
}

void Hello(Invocation& call) {
  const auto greeting = ReadGreeting(call);
  if (!greeting) return;
  if (greeting->user && !Authenticate(call, *greeting->user, greeting->password)) return;
  if (greeting->name) call.client.SetName(*greeting->name);
  if (greeting->version) call.client.set_version(*greeting->version);
  protocol::ReplyWriter reply = call.client.writer();
  const auto field = [&](std::string_view name, std::string_view text) {
    reply.Bulk(name);
    reply.Bulk(text);
  };
  reply.MapHeader(7);
  // The name of the language spoken, which goes with the version; who speaks it is told by INFO.
  field("server", "redis");
  field("version", kRedisVersion);
  reply.Bulk("proto");
  reply.Integer(static_cast<int>(call.client.version()));
  reply.Bulk("id");
  reply.Integer(static_cast<std::int64_t>(call.client.profile().id));
  field("mode", "standalone");
  field("role", "master");
  reply.Bulk("modules");
  reply.ArrayHeader(0);
}

void Quit(Invocation& call) {
  call.reply.Ok();
  call.client.CloseAfterOutput();
}

void Reset(Invocation& call) {
  call.client.Reset();
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
    call.client.set_database(static_cast<std::uint8_t>(*number));
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
     "Answers PONG, or the message",
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
     "Chooses RESP 2 or 3, and tells what the server is",
     "O(1)"},
    {"AUTH",
     Auth,
     -2,
     kNoScript | kConnection | kFast | kNoAuth,
     {},
     "connection",
     "[user] password",
     "Tells who the client is",
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
     "Makes the connection as it was when it was new: RESP 2, database 0, no name, no "
     "subscriptions, no MONITOR, no MULTI",
     "O(1)"},
    {"SELECT",
     Select,
     2,
     kConnection | kFast,
     {},
     "connection",
     "database",
     "Chooses one of the 16 name spaces of keys, 0 to 15",
     "O(1)"},
});

}  // namespace

std::span<const CommandSpec> ConnectionCommands() { return kConnectionCommands; }

}  // namespace fairlock::command

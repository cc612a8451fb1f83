#include "tests/unit/server/script/script_test_support.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <ctime>
#include <utility>

namespace fairlock::script {

namespace {

using Arguments = std::span<const std::string_view>;
using protocol::ReplyWriter;
using protocol::RespVersion;

struct KeyCommand {
  std::string_view name;
  int arity;  // including the name; if negative, at least that many words
  bool writes;
  void (*execute)(KeyHost&, Arguments, ReplyWriter&);
};

void WriteValue(const KeyHost& host, std::string_view key, ReplyWriter& reply) {
  const auto found = host.keys.find(key);
  found == host.keys.end() ? reply.Null() : reply.Bulk(found->second);
}

void Set(KeyHost& host, Arguments arguments, ReplyWriter& reply) {
  const bool is_new_only =
      std::find(arguments.begin() + 3, arguments.end(), "NX") != arguments.end();
  if (is_new_only && host.keys.contains(arguments[1])) return reply.Null();
  host.keys[std::string(arguments[1])] = arguments[2];
  reply.Ok();
}

void SetNew(KeyHost& host, Arguments arguments, ReplyWriter& reply) {
  reply.Integer(host.keys.emplace(arguments[1], arguments[2]).second ? 1 : 0);
}

void Delete(KeyHost& host, Arguments arguments, ReplyWriter& reply) {
  std::int64_t deleted = 0;
  for (const std::string_view key : arguments.subspan(1)) {
    const auto found = host.keys.find(key);
    if (found == host.keys.end()) continue;
    host.keys.erase(found);
    ++deleted;
  }
  reply.Integer(deleted);
}

void Exists(KeyHost& host, Arguments arguments, ReplyWriter& reply) {
  reply.Integer(std::count_if(arguments.begin() + 1, arguments.end(),
                              [&](std::string_view key) { return host.keys.contains(key); }));
}

void GetMany(KeyHost& host, Arguments arguments, ReplyWriter& reply) {
  reply.ArrayHeader(arguments.size() - 1);
  for (const std::string_view key : arguments.subspan(1)) WriteValue(host, key, reply);
}

bool ReadInteger(std::string_view text, std::int64_t& number) {
  const char* end = text.data() + text.size();
  return std::from_chars(text.data(), end, number).ptr == end;
}

void IncreaseBy(KeyHost& host, Arguments arguments, ReplyWriter& reply) {
  std::string& value = host.keys.try_emplace(std::string(arguments[1]), "0").first->second;
  std::int64_t number = 0;
  std::int64_t more = 0;
  if (!ReadInteger(value, number) || !ReadInteger(arguments[2], more)) {
    return reply.Error(protocol::ErrorCode::kErr, "value is not an integer or out of range");
  }
  value = std::to_string(number + more);
  reply.Integer(number + more);
}

void Append(KeyHost& host, Arguments arguments, ReplyWriter& reply) {
  std::string& value = host.keys[std::string(arguments[1])];
  value += arguments[2];
  reply.Integer(static_cast<std::int64_t>(value.size()));
}

constexpr KeyCommand kCommands[] = {
    {"PING", 1, false, [](KeyHost&, Arguments, ReplyWriter& reply) { reply.Simple("PONG"); }},
    {"ECHO", 2, false, [](KeyHost&, Arguments a, ReplyWriter& reply) { reply.Bulk(a[1]); }},
    {"GET", 2, false,
     [](KeyHost& h, Arguments a, ReplyWriter& reply) { WriteValue(h, a[1], reply); }},
    {"SET", -3, true, Set},
    {"SETNX", 3, true, SetNew},
    {"DEL", -2, true, Delete},
    {"EXISTS", -2, false, Exists},
    {"MGET", -2, false, GetMany},
    {"INCRBY", 3, true, IncreaseBy},
    {"APPEND", 3, true, Append},
};

bool FitsArity(const KeyCommand& command, std::size_t count) {
  const auto arguments = static_cast<int>(count);
  return command.arity >= 0 ? arguments == command.arity : arguments >= -command.arity;
}

}  // namespace

void KeyHost::Execute(const CommandCall& call, std::string& reply) {
  ReplyWriter writer(reply, RespVersion::kResp2);
  std::string name(call.arguments[0]);
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  calls.push_back(name);
  now_ns_ += command_ns;
  for (const KeyCommand& command : kCommands) {
    if (command.name != name) continue;
    if (!FitsArity(command, call.arguments.size())) {
      return writer.Error(protocol::ErrorCode::kErr,
                          "Wrong number of args calling Redis command from script");
    }
    if (command.writes && call.is_read_only) {
      return writer.Error(protocol::ErrorCode::kErr,
                          "Write commands are not allowed from read-only scripts.");
    }
    return command.execute(*this, call.arguments, writer);
  }
  writer.Error(protocol::ErrorCode::kErr, "Unknown Redis command called from script");
}

std::uint64_t KeyHost::NowNs() {
  ++looks;
  if (tick_ns > 0) return now_ns_ += tick_ns;
  if (command_ns > 0) return now_ns_;
  if (counts_processor_time) return ProcessorNs();
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

std::uint64_t KeyHost::ProcessorNs() {
  return static_cast<std::uint64_t>(std::clock()) * (1'000'000'000 / CLOCKS_PER_SEC);
}

void KeyHost::Log(LogLevel level, std::string_view text) {
  log.push_back({level, std::string(text)});
}

std::string ScriptStage::Run(std::string_view text, const RunOptions& options) {
  const LoadResult loaded = interpreter.Load(text, host);
  std::string reply;
  if (loaded.script == nullptr) {
    ReplyWriter(reply, options.version).Error(protocol::ErrorCode::kErr, loaded.error);
    return reply;
  }
  interpreter.Run(*loaded.script, options, reply);
  return reply;
}

std::string ScriptStage::Eval(std::string_view text, std::initializer_list<std::string_view> keys,
                              std::initializer_list<std::string_view> arguments) {
  return Run(text, {host,
                    {keys.begin(), keys.size()},
                    {arguments.begin(), arguments.size()},
                    RespVersion::kResp2,
                    false,
                    used_ns});
}

std::string ScriptStage::EvalResp3(std::string_view text) {
  return Run(text, {host, {}, {}, RespVersion::kResp3, false});
}

std::string ScriptStage::EvalReadOnly(std::string_view text) {
  return Run(text, {host, {}, {}, RespVersion::kResp2, true});
}

}  // namespace fairlock::script

#include "tests/fuzz/request_maker.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>
#include <span>

namespace fairlock::fuzz {

namespace {

using command::Syntax;
using command::SyntaxKind;
using command::SyntaxNode;
using simulation::Random;

constexpr auto kKeys =
    std::to_array<std::string_view>({"k1", "k1", "k1", "k2", "k2", "k3", "k4", "k5", "''"});
constexpr auto kElements =
    std::to_array<std::string_view>({"a", "a", "b", "c", "1", "2.5", "''", "'\\x00\\r\\n'"});
constexpr auto kScores = std::to_array<std::string_view>(
    {"0", "1", "1", "2.5", "-1", "inf", "-inf", "(1", "9223372036854775807", "nan"});
constexpr auto kIndexes = std::to_array<std::string_view>(
    {"0", "0", "1", "-1", "-1", "2", "-9223372036854775808", "9223372036854775807"});
constexpr auto kOwners = std::to_array<std::string_view>({"a", "a", "b", "b", "c", "d", "1"});
constexpr auto kNumbers = std::to_array<std::string_view>(
    {"0", "1", "1", "2", "2", "3", "10", "-1", "9007199254740991", "9223372036854775807"});
constexpr auto kSeconds = std::to_array<std::string_view>({"1", "2", "10", "31536000", "0", "-1"});
constexpr auto kMilliseconds =
    std::to_array<std::string_view>({"1", "10", "500", "5000", "100000", "0", "-1"});
constexpr auto kDurations =
    std::to_array<std::string_view>({"0", "1", "10", "100", "1s", "10s", "1m", "24h", "FOREVER"});
constexpr auto kUnixSeconds = std::to_array<std::string_view>({"1700000001", "1700000100", "0"});
constexpr auto kUnixMilliseconds =
    std::to_array<std::string_view>({"1700000000500", "1700000009000", "1"});
constexpr auto kTimes = std::to_array<std::string_view>({"10s", "0", "1h", "1700000000500"});
constexpr auto kGlobs = std::to_array<std::string_view>(
    {"*", "k*", "k?", "k1", "[a-k]*", "[^k]*", "order:*", "c*", "__lock@0__:k*", "__key*", "\\\\"});
constexpr auto kChannels = std::to_array<std::string_view>(
    {"c1", "c1", "c2", "__lock@0__:k1", "__keyspace@0__:k1", "__keyevent@0__:del"});
constexpr auto kScripts = std::to_array<std::string_view>({
    "'return 1'",
    "'return redis.call(\"lock\",KEYS[1],ARGV[1],\"px\",\"50\")'",
    "'if redis.call(\"get\",KEYS[1])==ARGV[1] then return redis.call(\"del\",KEYS[1]) end'",
    "'return redis.call(\"set\",KEYS[1],ARGV[1],\"nx\",\"px\",1000)'",
    "'return redis.pcall(\"unlock\",KEYS[1],ARGV[1])'",
    "'while true do end'",
    "'return {1,{2,\"x\"},false,{ok=\"y\"},{err=\"z\"}}'",
    "'redis.setresp(3) return {map={a=1},double=1.5}'",
});
constexpr auto kDigests = std::to_array<std::string_view>(
    {"e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0000000000000000000000000000000000000000", "x"});
constexpr auto kClients = std::to_array<std::string_view>({"1", "2", "3", "4", "5", "6"});
constexpr auto kAddresses = std::to_array<std::string_view>(
    {"127.0.0.1:50001", "127.0.0.1:50002", "127.0.0.1:50005", "127.0.0.1:3247"});
constexpr auto kUsers = std::to_array<std::string_view>({"default", "web", "web", "nobody"});
constexpr auto kPasswords = std::to_array<std::string_view>({"pw", "pw", "wrong"});
constexpr auto kSections =
    std::to_array<std::string_view>({"all", "server", "clients", "locks", "commandstats", "x"});
constexpr auto kDatabases = std::to_array<std::string_view>({"0", "0", "1", "15", "16"});
constexpr auto kVersions = std::to_array<std::string_view>({"2", "3", "3", "4"});
constexpr auto kTexts = std::to_array<std::string_view>({"x", "hello", "''", "'\\x00\\r\\n'"});
constexpr auto kNames = std::to_array<std::string_view>({"x", "lock", "default_lease", "string"});

struct Meaning {
  std::string_view name;  // name of an argument, or a part of it
  std::span<const std::string_view> words;
};

// The first match applies.
constexpr auto kMeanings = std::to_array<Meaning>({
    {"numkeys", kClients},
    {"key", kKeys},
    {"source", kKeys},
    {"destination", kKeys},
    {"field", kElements},
    {"member", kElements},
    {"element", kElements},
    {"score", kScores},
    {"min", kScores},
    {"maxlen", kNumbers},
    {"max", kScores},
    {"first", kIndexes},
    {"last", kIndexes},
    {"index", kIndexes},
    {"rank", kIndexes},
    {"owner", kOwners},
    {"value", kOwners},
    {"unix-seconds", kUnixSeconds},
    {"unix-milliseconds", kUnixMilliseconds},
    {"milliseconds", kMilliseconds},
    {"seconds", kSeconds},
    {"duration", kDurations},
    {"time", kTimes},
    {"token", kNumbers},
    {"glob", kGlobs},
    {"pattern", kGlobs},
    {"channel", kChannels},
    {"script", kScripts},
    {"sha1", kDigests},
    {"client-id", kClients},
    {"address", kAddresses},
    {"user", kUsers},
    {"password", kPasswords},
    {"section", kSections},
    {"database", kDatabases},
    {"protocol", kVersions},
    {"message", kTexts},
    {"text", kTexts},
    {"blob", kTexts},
    {"arg", kOwners},
    {"name", kNames},
    {"setting", kNames},
    {"command", kNames},
    {"", kNumbers},
});

template <typename Words>
std::string_view OneOf(const Words& words, Random& random) {
  return words[random.Below(words.size())];
}

std::string_view WordFor(std::string_view name, Random& random) {
  const auto fits = [name](const Meaning& meaning) {
    return name.find(meaning.name) != std::string_view::npos;
  };
  return OneOf(std::find_if(kMeanings.begin(), kMeanings.end(), fits)->words, random);
}

void AddWord(std::string& line, std::string_view word) { line.append(" ").append(word); }

void AddNodes(std::string& line, const Syntax& syntax, Random& random);

void AddOnce(std::string& line, const SyntaxNode& node, Random& random) {
  if (!node.token.empty()) AddWord(line, node.token);
  switch (node.kind) {
    case SyntaxKind::kArgument:
      return AddWord(line, WordFor(node.name, random));
    case SyntaxKind::kToken:
      return;
    case SyntaxKind::kOneOf:
      return AddNodes(line, {node.parts[random.Below(node.parts.size())]}, random);
    case SyntaxKind::kBlock:
      return AddNodes(line, node.parts, random);
  }
}

// Usually adds as many keys as the count says, but occasionally the count is a different number.
void AddCountedKeys(std::string& line, Random& random) {
  const std::uint64_t keys = 1 + random.Below(3);
  AddWord(line,
          random.Below(20) == 0 ? std::string(OneOf(kNumbers, random)) : std::to_string(keys));
  for (std::uint64_t i = 0; i < keys; ++i) AddWord(line, WordFor("key", random));
}

void AddNodes(std::string& line, const Syntax& syntax, Random& random) {
  bool has_counted_keys = false;
  for (const SyntaxNode& node : syntax) {
    if (node.name == "numkeys") {
      AddCountedKeys(line, random);
      has_counted_keys = true;
      continue;
    }
    if (has_counted_keys && node.name == "key") continue;
    if (node.is_optional && random.Below(3) != 0) continue;
    const std::uint64_t times = node.is_repeated ? 1 + random.Below(3) : 1;
    for (std::uint64_t i = 0; i < times; ++i) AddOnce(line, node, random);
  }
}

constexpr auto kGroupsOfValues =
    std::to_array<std::string_view>({"hash", "list", "set", "sorted-set"});

bool IsOfValues(const command::CommandSpec& spec) {
  return std::count(kGroupsOfValues.begin(), kGroupsOfValues.end(), spec.group) > 0;
}

// Commands that work with locks are the most frequent.
unsigned WeightOf(const command::CommandSpec& spec) {
  if (spec.group == "lock") return 8;
  if (IsOfValues(spec)) return 2;
  if (spec.group == "redis" || spec.group == "transactions" || spec.group == "pubsub") return 3;
  return spec.group == "scripts" ? 2 : 1;
}

}  // namespace

RequestMaker::RequestMaker() {
  for (const command::CommandSpec* spec : table_.rows()) {
    std::optional<Syntax> syntax = command::ParseSyntax(spec->syntax);
    assert(syntax);
    std::string name(spec->name);
    std::replace(name.begin(), name.end(), '|', ' ');
    forms_.push_back({std::move(name), *std::move(syntax), WeightOf(*spec)});
    weights_ += forms_.back().weight;
  }
}

std::string RequestMaker::Make(Random& random) const {
  std::uint64_t at = random.Below(weights_);
  auto form = forms_.begin();
  while (at >= form->weight) at -= (form++)->weight;
  std::string line = form->name;
  AddNodes(line, form->syntax, random);
  return line;
}

std::string_view RequestMaker::AnyWord(Random& random) {
  return OneOf(kMeanings[random.Below(kMeanings.size())].words, random);
}

}  // namespace fairlock::fuzz

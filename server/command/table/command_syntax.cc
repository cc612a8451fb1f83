#include "server/command/table/command_syntax.h"

#include <algorithm>
#include <array>
#include <utility>

#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

constexpr std::string_view kSeparator = "|";
constexpr std::string_view kRepetition = "...";

// A lower-case word names an argument; any other ("EX", "*") is a literal token.
SyntaxNode Word(std::string_view text) {
  if (text.front() >= 'a' && text.front() <= 'z') {
    return {.kind = SyntaxKind::kArgument, .name = text};
  }
  return {.kind = SyntaxKind::kToken, .token = text};
}

SyntaxNode Enclose(Syntax sequence) {
  if (sequence.size() == 1) return std::move(sequence.front());
  return {.kind = SyntaxKind::kBlock, .parts = std::move(sequence)};
}

// The parser works by recursive descent, to this depth. After the first error it reads no further.
constexpr int kDepthMax = 16;

class SyntaxParser {
 public:
  explicit SyntaxParser(std::string_view notation) : rest_(notation) { Advance(); }

  std::optional<Syntax> Parse() {
    Syntax syntax = ReadChoice();
    if (is_wrong_ || !word_.empty()) return std::nullopt;
    return syntax;
  }

 private:
  void Advance();
  // Reads sequences separated by |, up to a closing bracket or the end.
  Syntax ReadChoice();
  Syntax ReadSequence();
  SyntaxNode ReadBrackets();
  SyntaxNode ReadWords();
  // Appends a node, or joins it with the node before it.
  static void Append(Syntax& sequence, SyntaxNode node);
  static bool RepeatsWhatStandsBefore(const Syntax& sequence, const SyntaxNode& node);

  SyntaxNode Fail() {
    is_wrong_ = true;
    return {};
  }
  bool IsAtEnd() const { return is_wrong_ || word_.empty() || word_ == "]"; }

  std::string_view rest_;
  std::string_view word_;  // the next word or bracket; empty at the end
  bool is_wrong_ = false;
  int depth_ = 0;  // current nesting of brackets
};

void SyntaxParser::Advance() {
  rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
  std::size_t length = std::min(rest_.find_first_of(" []"), rest_.size());
  if (length == 0 && !rest_.empty()) length = 1;
  word_ = rest_.substr(0, length);
  rest_.remove_prefix(length);
}

Syntax SyntaxParser::ReadChoice() {
  Syntax sequence = ReadSequence();
  if (word_ != kSeparator) return sequence;
  SyntaxNode choice{.kind = SyntaxKind::kOneOf};
  while (true) {
    if (sequence.empty()) Fail();
    if (is_wrong_) return {};
    choice.parts.push_back(Enclose(std::move(sequence)));
    if (word_ != kSeparator) break;
    Advance();
    sequence = ReadSequence();
  }
  Syntax whole;
  whole.push_back(std::move(choice));
  return whole;
}

Syntax SyntaxParser::ReadSequence() {
  Syntax sequence;
  while (!IsAtEnd() && word_ != kSeparator && word_ != kRepetition) {
    Append(sequence, word_ == "[" ? ReadBrackets() : ReadWords());
  }
  return sequence;
}

SyntaxNode SyntaxParser::ReadBrackets() {
  if (depth_ == kDepthMax) return Fail();
  Advance();
  ++depth_;
  Syntax inside = ReadChoice();
  --depth_;
  const bool is_repeated = word_ == kRepetition;
  if (is_repeated) Advance();
  if (is_wrong_ || inside.empty() || word_ != "]") return Fail();
  Advance();
  SyntaxNode node = Enclose(std::move(inside));
  node.is_optional = true;
  node.is_repeated = is_repeated;
  return node;
}

SyntaxNode SyntaxParser::ReadWords() {
  const std::string_view words = word_;
  Advance();
  if (words.find(kSeparator) == std::string_view::npos) return Word(words);
  SyntaxNode choice{.kind = SyntaxKind::kOneOf};
  for (std::size_t start = 0; start <= words.size();) {
    const std::size_t end = std::min(words.find(kSeparator, start), words.size());
    if (end == start) return Fail();
    choice.parts.push_back(Word(words.substr(start, end - start)));
    start = end + 1;
  }
  return choice;
}

bool SyntaxParser::RepeatsWhatStandsBefore(const Syntax& sequence, const SyntaxNode& node) {
  if (node.kind == SyntaxKind::kBlock) {
    return node.parts.size() <= sequence.size() &&
           std::equal(node.parts.rbegin(), node.parts.rend(), sequence.rbegin());
  }
  SyntaxNode before = sequence.back();
  if (node.kind != SyntaxKind::kToken) before.token = node.token;
  before.is_optional = before.is_repeated = true;
  return before == node;
}

void SyntaxParser::Append(Syntax& sequence, SyntaxNode node) {
  if (sequence.empty()) {
    sequence.push_back(std::move(node));
    return;
  }
  if (!node.is_optional) {
    const SyntaxNode& before = sequence.back();
    const bool is_word_of_it =
        before.kind == SyntaxKind::kToken && !before.is_optional && node.kind != SyntaxKind::kToken;
    if (is_word_of_it) {
      node.token = before.token;
      sequence.pop_back();
    }
    sequence.push_back(std::move(node));
    return;
  }
  if (node.is_repeated && RepeatsWhatStandsBefore(sequence, node)) {
    // "x [x ...]" means that x is repeated. After a leading word, only the part that follows the
    // word is.
    if (node.kind == SyntaxKind::kBlock) {
      sequence.resize(sequence.size() - node.parts.size());
      node.is_optional = false;
      sequence.push_back(std::move(node));
    } else {
      sequence.back().is_repeated = true;
    }
    return;
  }
  sequence.push_back(std::move(node));
}

std::size_t Fewest(const SyntaxNode& node) {
  if (node.is_optional) return 0;
  std::size_t count = node.token.empty() ? 0 : 1;
  switch (node.kind) {
    case SyntaxKind::kToken:
      return count;
    case SyntaxKind::kArgument:
      return count + 1;
    case SyntaxKind::kBlock:
      return count + FewestArguments(node.parts);
    case SyntaxKind::kOneOf:
      break;
  }
  std::size_t fewest = Fewest(node.parts.front());
  for (const SyntaxNode& choice : node.parts) fewest = std::min(fewest, Fewest(choice));
  return count + fewest;
}

std::optional<std::size_t> Most(const SyntaxNode& node) {
  if (node.is_repeated) return std::nullopt;
  const std::size_t count = node.token.empty() ? 0 : 1;
  std::size_t most = node.kind == SyntaxKind::kArgument ? 1 : 0;
  for (const SyntaxNode& part : node.parts) {
    const auto of_part = Most(part);
    if (!of_part) return std::nullopt;
    most = node.kind == SyntaxKind::kBlock ? most + *of_part : std::max(most, *of_part);
  }
  return count + most;
}

struct TypeRow {
  std::string_view name;
  std::string_view type;
};

// The types by argument name. An argument that is not listed is a string.
constexpr auto kTypes = std::to_array<TypeRow>({
    {"client-id", "integer"},   {"count", "integer"},   {"cursor", "integer"},
    {"database", "integer"},    {"destination", "key"}, {"glob", "pattern"},
    {"index", "integer"},       {"key", "key"},         {"milliseconds", "integer"},
    {"n", "integer"},           {"number", "integer"},  {"numkeys", "integer"},
    {"numreplicas", "integer"}, {"pattern", "pattern"}, {"protocol", "integer"},
    {"seconds", "integer"},     {"source", "key"},      {"timeout", "integer"},
    {"token", "integer"},
});

}  // namespace

std::optional<Syntax> ParseSyntax(std::string_view notation) {
  return SyntaxParser(notation).Parse();
}

std::size_t FewestArguments(const Syntax& syntax) {
  std::size_t count = 0;
  for (const SyntaxNode& node : syntax) count += Fewest(node);
  return count;
}

std::optional<std::size_t> MostArguments(const Syntax& syntax) {
  return Most({.kind = SyntaxKind::kBlock, .parts = syntax});
}

std::string NameOf(const SyntaxNode& node) {
  if (node.kind == SyntaxKind::kArgument) return std::string(node.name);
  if (!node.token.empty()) return Lowered(node.token);
  if (node.kind == SyntaxKind::kBlock) return NameOf(node.parts.front());
  std::string name;
  for (const SyntaxNode& choice : node.parts) {
    if (!name.empty()) name += "-or-";
    name += NameOf(choice);
  }
  return name;
}

std::string_view TypeOf(const SyntaxNode& node) {
  switch (node.kind) {
    case SyntaxKind::kToken:
      return "pure-token";
    case SyntaxKind::kOneOf:
      return "oneof";
    case SyntaxKind::kBlock:
      return "block";
    case SyntaxKind::kArgument:
      break;
  }
  const auto* const row = std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeRow& candidate) {
    return candidate.name == node.name;
  });
  return row == kTypes.end() ? "string" : row->type;
}

}  // namespace fairlock::command

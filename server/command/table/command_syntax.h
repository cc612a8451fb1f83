// Parses the notation in which the arguments of a command are written into a tree.
//
//   key owner [EX seconds | PX milliseconds] [WAIT duration|FOREVER] [NEW]
//   name             an argument          WORD             a literal word
//   [...]            may be left out      a | b            one of these sequences
//   a|b              one of these words   x [x ...]        x, once or more
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlock::command {

enum class SyntaxKind : std::uint8_t { kArgument, kToken, kOneOf, kBlock };

// A node of a syntax tree. Its views point into the notation, which must outlive it.
struct SyntaxNode {
  SyntaxKind kind = SyntaxKind::kBlock;
  std::string_view name = {};   // for kArgument
  std::string_view token = {};  // for kToken; otherwise the word in front of the node, if any
  bool is_optional = false;
  bool is_repeated = false;
  std::vector<SyntaxNode> parts = {};  // kOneOf: the alternatives; kBlock: the sequence

  friend bool operator==(const SyntaxNode&, const SyntaxNode&) = default;
};

// All arguments of a command, in order.
using Syntax = std::vector<SyntaxNode>;

// Returns nullopt if the notation is wrong: if it has an unmatched bracket, an empty sequence,
// "..." that is not last in its brackets, or brackets nested more than 16 deep.
std::optional<Syntax> ParseSyntax(std::string_view notation);

// Return the smallest and the largest number of arguments; nullopt: unlimited.
std::size_t FewestArguments(const Syntax& syntax);
std::optional<std::size_t> MostArguments(const Syntax& syntax);

// Returns the name of the node in COMMAND DOCS: "milliseconds", "new", "seconds-or-milliseconds".
std::string NameOf(const SyntaxNode& node);
// Returns its type there: "key", "string", "integer", "pattern", "pure-token", "oneof" or "block".
std::string_view TypeOf(const SyntaxNode& node);

}  // namespace fairlock::command

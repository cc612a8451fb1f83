// The notation in which the arguments of a command are written, read into a tree.
//
//   key owner [EX seconds | PX milliseconds] [WAIT duration|FOREVER] [NEW]
//   name             an argument          WORD             stands there as it is
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

// A part of a syntax. Views point into the notation, which must outlive it.
struct SyntaxNode {
  SyntaxKind kind = SyntaxKind::kBlock;
  std::string_view name = {};   // kArgument
  std::string_view token = {};  // kToken; else the word in front of it, if there is one
  bool is_optional = false;
  bool is_repeated = false;
  std::vector<SyntaxNode> parts = {};  // kOneOf: the choices; kBlock: one after the other

  friend bool operator==(const SyntaxNode&, const SyntaxNode&) = default;
};

// All arguments of a command, in their order.
using Syntax = std::vector<SyntaxNode>;

// None if the notation is wrong: a bracket without its partner, an empty sequence, "..." that does
// not stand last in brackets, brackets more than 16 deep.
std::optional<Syntax> ParseSyntax(std::string_view notation);

// How many arguments a request has at least, and at most (none: any number).
std::size_t FewestArguments(const Syntax& syntax);
std::optional<std::size_t> MostArguments(const Syntax& syntax);

// What COMMAND DOCS calls the part: "milliseconds", "new", "seconds-or-milliseconds".
std::string NameOf(const SyntaxNode& node);
// Its type there: "key", "string", "integer", "pattern", "pure-token", "oneof" or "block".
std::string_view TypeOf(const SyntaxNode& node);

}  // namespace fairlock::command

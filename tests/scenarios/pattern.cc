#include "tests/scenarios/pattern.h"

#include <charconv>

#include "server/command/table/text.h"
#include "tests/scenarios/notation.h"

namespace fairlock::scenarios {

using protocol::Reply;
using protocol::ReplyType;

const std::string* Bindings::Find(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

std::optional<std::string> Bindings::BindToken(const std::string& name, std::int64_t token) {
  if (const std::string* bound = Find(name)) {
    if (*bound == std::to_string(token)) return std::nullopt;
    return "expected token " + name + ", which is " + *bound + ", got " + std::to_string(token);
  }
  if (token <= newest_token_) {
    return "expected a new token " + name + ", got " + std::to_string(token) + " after " +
           std::to_string(newest_token_);
  }
  newest_token_ = token;
  Bind(name, std::to_string(token));
  return std::nullopt;
}

namespace {

std::optional<std::string> Unless(bool is_match, const Pattern& pattern, const Reply& reply) {
  if (is_match) return std::nullopt;
  return "expected " + ShowPattern(pattern) + ", got " + ShowReply(reply);
}

bool IsText(const Reply& reply) {
  return reply.type == ReplyType::kSimple || reply.type == ReplyType::kBulk ||
         reply.type == ReplyType::kVerbatim;
}

bool IsWithin(const Reply& reply, std::int64_t low, std::int64_t high) {
  return reply.type == ReplyType::kInteger && reply.integer >= low && reply.integer <= high;
}

bool HasFirstWord(const Reply& reply, const std::string& word) {
  return reply.IsError() && reply.text.substr(0, reply.text.find(' ')) == word;
}

// Returns a scalar as the string that a request would contain.
std::string TextOf(const Reply& reply) {
  return reply.type == ReplyType::kInteger ? std::to_string(reply.integer) : reply.text;
}

std::optional<std::string> MatchToken(const Pattern& pattern, const Reply& reply,
                                      Bindings& bindings) {
  if (reply.type != ReplyType::kInteger) return Unless(false, pattern, reply);
  if (auto mismatch = bindings.BindToken(pattern.name, reply.integer)) return mismatch;
  if (pattern.later_than.empty()) return std::nullopt;
  const std::string* earlier = bindings.Find(pattern.later_than);
  if (earlier == nullptr) return "nothing is called " + pattern.later_than;
  std::int64_t bound = 0;
  std::from_chars(earlier->data(), earlier->data() + earlier->size(), bound);
  return Unless(reply.integer > bound, pattern, reply);
}

std::optional<std::string> MatchBound(const Pattern& pattern, const Reply& reply,
                                      const Bindings& bindings) {
  const std::string* bound = bindings.Find(pattern.name);
  if (bound == nullptr) return "nothing is called " + pattern.name;
  const bool is_scalar = IsText(reply) || reply.type == ReplyType::kInteger;
  if (is_scalar && TextOf(reply) == *bound) return std::nullopt;
  return "expected $" + pattern.name + ", which is " + *bound + ", got " + ShowReply(reply);
}

std::optional<std::string> MatchArray(const Pattern& pattern, const Reply& reply,
                                      const MatchOptions& options, Bindings& bindings) {
  const bool is_list = reply.type == ReplyType::kArray || reply.type == ReplyType::kSet ||
                       reply.type == ReplyType::kPush;
  const std::size_t count = pattern.elements.size();
  const bool has_size = pattern.has_rest ? reply.elements.size() >= count  //
                                         : reply.elements.size() == count;
  if (!is_list || !has_size) return Unless(false, pattern, reply);
  for (std::size_t i = 0; i < count; ++i) {
    auto mismatch = FindMismatch(pattern.elements[i], reply.elements[i], options, bindings);
    if (mismatch) return "element " + std::to_string(i + 1) + ": " + *mismatch;
  }
  return std::nullopt;
}

bool IsMap(const Reply& reply, int resp_version) {
  if (reply.type == ReplyType::kMap) return resp_version != 2;
  return reply.type == ReplyType::kArray && reply.elements.size() % 2 == 0 && resp_version != 3;
}

// The value of a field in a map, or in the flat array that RESP2 has instead.
const Reply* FieldOf(const Reply& reply, const std::string& name) {
  for (std::size_t i = 0; i + 1 < reply.elements.size(); i += 2) {
    if (IsText(reply.elements[i]) && reply.elements[i].text == name) return &reply.elements[i + 1];
  }
  return nullptr;
}

std::optional<std::string> MatchMap(const Pattern& pattern, const Reply& reply,
                                    const MatchOptions& options, Bindings& bindings) {
  const bool has_size = pattern.has_rest || reply.elements.size() == 2 * pattern.elements.size();
  if (!has_size || !IsMap(reply, options.resp_version)) return Unless(false, pattern, reply);
  for (std::size_t i = 0; i < pattern.elements.size(); ++i) {
    const std::string& name = pattern.fields[i];
    const Reply* value = FieldOf(reply, name);
    if (value == nullptr) return "expected a field " + name + ", got " + ShowReply(reply);
    auto mismatch = FindMismatch(pattern.elements[i], *value, options, bindings);
    if (mismatch) return name + ": " + *mismatch;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> FindMismatch(const Pattern& pattern, const Reply& reply,
                                        const MatchOptions& options, Bindings& bindings) {
  const auto check = [&](bool is_match) { return Unless(is_match, pattern, reply); };
  switch (pattern.kind) {
    case PatternKind::kNil:
      return check(reply.IsNull());
    case PatternKind::kInteger:
      return check(IsWithin(reply, pattern.low, pattern.low));
    case PatternKind::kRange:
      return check(IsWithin(reply, pattern.low, pattern.high));
    case PatternKind::kText:
      return check(IsText(reply) && reply.text == pattern.text);
    case PatternKind::kLike:
      return check(IsText(reply) && command::MatchesGlob(pattern.text, reply.text));
    case PatternKind::kError:
      return check(HasFirstWord(reply, pattern.text));
    case PatternKind::kErrorText:
      return check(reply.IsError() && reply.text == pattern.text);
    case PatternKind::kErrorLike:
      return check(reply.IsError() && command::MatchesGlob(pattern.text, reply.text));
    case PatternKind::kToken:
      return MatchToken(pattern, reply, bindings);
    case PatternKind::kAny:
      if (!pattern.name.empty()) bindings.Bind(pattern.name, TextOf(reply));
      return std::nullopt;
    case PatternKind::kBound:
      return MatchBound(pattern, reply, bindings);
    case PatternKind::kLeft:
      return check(IsWithin(reply, pattern.low - options.slack_ms, pattern.low));
    case PatternKind::kPassed:
      return check(IsWithin(reply, pattern.low, pattern.low + options.slack_ms));
    case PatternKind::kArray:
      return MatchArray(pattern, reply, options, bindings);
    case PatternKind::kMap:
      return MatchMap(pattern, reply, options, bindings);
  }
  return check(false);
}

}  // namespace fairlock::scenarios

#include "tests/scenarios/notation.h"

#include <algorithm>
#include <cassert>

namespace fairlock::scenarios {

using protocol::Reply;
using protocol::ReplyType;

namespace {

constexpr std::size_t kShownBytesMax = 300;

void AppendEscaped(std::string& out, char c) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  if (c == '"' || c == '\\') {
    out.append(1, '\\').append(1, c);
  } else if (c == '\r') {
    out += "\\r";
  } else if (c == '\n') {
    out += "\\n";
  } else if (byte >= 0x20 && byte < 0x7f) {
    out += c;
  } else {
    out.append("\\x").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
  }
}

// Whether the text can be read as the name of a field, or as a word.
bool IsBareWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

std::string ShowField(std::string_view name) {
  return IsBareWord(name) ? std::string(name) : ShowText(name);
}

std::string ShowElements(const Reply& reply) {
  std::string shown = "[";
  for (const Reply& element : reply.elements) {
    if (shown.size() > 1) shown += ", ";
    shown += ShowReply(element);
  }
  return shown + "]";
}

std::string ShowPairs(const Reply& reply) {
  std::string shown = "{";
  for (std::size_t i = 0; i + 1 < reply.elements.size(); i += 2) {
    if (i > 0) shown += ", ";
    const Reply& field = reply.elements[i];
    shown += field.text.empty() ? ShowReply(field) : ShowField(field.text);
    shown += ": " + ShowReply(reply.elements[i + 1]);
  }
  return shown + "}";
}

std::string ShowList(const Pattern& pattern) {
  const bool is_map = pattern.kind == PatternKind::kMap;
  std::string shown = is_map ? "{" : "[";
  for (std::size_t i = 0; i < pattern.elements.size(); ++i) {
    if (i > 0) shown += ", ";
    if (is_map) shown += ShowField(pattern.fields[i]) + ": ";
    shown += ShowPattern(pattern.elements[i]);
  }
  if (pattern.has_rest) shown += pattern.elements.empty() ? "..." : ", ...";
  return shown + (is_map ? "}" : "]");
}

std::string WithName(std::string_view word, const std::string& name) {
  return name.empty() ? std::string(word) : std::string(word) + " " + name;
}

std::string ShowMs(std::string_view word, std::int64_t ms) {
  return std::string(word) + " " + std::to_string(ms) + "ms";
}

}  // namespace

std::string ShowText(std::string_view text) {
  std::string shown = "\"";
  for (const char c : text.substr(0, kShownBytesMax)) AppendEscaped(shown, c);
  shown += "\"";
  if (text.size() > kShownBytesMax) shown += "... of " + std::to_string(text.size()) + " bytes";
  return shown;
}

std::string ShowReply(const Reply& reply) {
  switch (reply.type) {
    case ReplyType::kNull:
      return "nil";
    case ReplyType::kError:
      return "error " + ShowText(reply.text);
    case ReplyType::kInteger:
      return std::to_string(reply.integer);
    case ReplyType::kBoolean:
      return reply.integer != 0 ? "true" : "false";
    case ReplyType::kDouble:
      return std::to_string(reply.number);
    case ReplyType::kMap:
      return ShowPairs(reply);
    case ReplyType::kPush:
      return "push " + ShowElements(reply);
    case ReplyType::kArray:
    case ReplyType::kSet:
      return ShowElements(reply);
    default:
      return ShowText(reply.text);
  }
}

std::string ShowPattern(const Pattern& pattern) {
  switch (pattern.kind) {
    case PatternKind::kNil:
      return "nil";
    case PatternKind::kInteger:
      return std::to_string(pattern.low);
    case PatternKind::kRange:
      return std::to_string(pattern.low) + ".." + std::to_string(pattern.high);
    case PatternKind::kText:
      return ShowText(pattern.text);
    case PatternKind::kLike:
      return "like " + ShowText(pattern.text);
    case PatternKind::kError:
      return "error " + pattern.text;
    case PatternKind::kErrorText:
      return "error " + ShowText(pattern.text);
    case PatternKind::kErrorLike:
      return "error like " + ShowText(pattern.text);
    case PatternKind::kToken:
      return "token " + pattern.name +
             (pattern.later_than.empty() ? "" : " > " + pattern.later_than);
    case PatternKind::kAny:
      return WithName("any", pattern.name);
    case PatternKind::kBound:
      return "$" + pattern.name;
    case PatternKind::kLeft:
      return ShowMs("left", pattern.low);
    case PatternKind::kPassed:
      return ShowMs("passed", pattern.low);
    case PatternKind::kArray:
    case PatternKind::kMap:
      return ShowList(pattern);
  }
  assert(false);
  return {};
}

}  // namespace fairlock::scenarios

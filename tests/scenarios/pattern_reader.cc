#include "tests/scenarios/pattern_reader.h"

#include <array>
#include <string_view>
#include <utility>

namespace fairlock::scenarios {

namespace {

Pattern ReadToken(LineReader& reader) {
  Pattern pattern{.kind = PatternKind::kToken};
  pattern.name = reader.Name("the name of the token");
  if (reader.TakeSign(">")) pattern.later_than = reader.Name("the name of the earlier token");
  return pattern;
}

Pattern ReadError(LineReader& reader) {
  if (reader.TakeWord("like")) return {.kind = PatternKind::kErrorLike, .text = reader.Text()};
  if (reader.IsNext('"')) return {.kind = PatternKind::kErrorText, .text = reader.Text()};
  return {.kind = PatternKind::kError, .text = reader.Name("the first word of the error")};
}

Pattern ReadNumber(LineReader& reader) {
  const auto low = reader.Integer();
  if (!low) {
    reader.Fail("a value is missing");
    return {};
  }
  if (!reader.TakeSign("..")) return {.kind = PatternKind::kInteger, .low = *low};
  const auto high = reader.Integer();
  if (!high) reader.Fail("the end of the range is missing");
  return {.kind = PatternKind::kRange, .low = *low, .high = high.value_or(0)};
}

// Reads the elements up to the closing sign.
void ReadElements(LineReader& reader, Pattern& list, std::string_view closing) {
  while (!reader.failed() && !reader.TakeSign(closing)) {
    if (!list.elements.empty() && !reader.TakeSign(",")) {
      reader.Fail("',' or '" + std::string(closing) + "' is missing");
    } else if (reader.TakeSign("...")) {
      list.has_rest = true;
      if (!reader.TakeSign(closing)) reader.Fail("'...' must be the last");
      return;
    } else {
      if (list.kind == PatternKind::kMap) {
        list.fields.push_back(reader.IsNext('"') ? reader.Text() : reader.Name("a field"));
        if (!reader.TakeSign(":")) reader.Fail("':' is missing");
      }
      list.elements.push_back(ReadPattern(reader));
    }
  }
}

Pattern ReadWord(LineReader& reader) {
  if (reader.TakeWord("nil")) return {.kind = PatternKind::kNil};
  if (reader.TakeWord("token")) return ReadToken(reader);
  if (reader.TakeWord("error")) return ReadError(reader);
  if (reader.TakeWord("any")) return {.kind = PatternKind::kAny, .name = reader.Word()};
  if (reader.TakeWord("like")) return {.kind = PatternKind::kLike, .text = reader.Text()};
  if (reader.TakeWord("left")) return {.kind = PatternKind::kLeft, .low = reader.DurationMs()};
  if (reader.TakeWord("passed")) return {.kind = PatternKind::kPassed, .low = reader.DurationMs()};
  return {.kind = PatternKind::kText, .text = reader.Name("a value")};
}

bool IsNumberNext(LineReader& reader) {
  constexpr std::string_view kBeginsNumber = "-0123456789";
  for (const char c : kBeginsNumber) {
    if (reader.IsNext(c)) return true;
  }
  return false;
}

}  // namespace

Pattern ReadPattern(LineReader& reader) {
  Pattern list;
  if (reader.TakeSign("[")) {
    list.kind = PatternKind::kArray;
    ReadElements(reader, list, "]");
    return list;
  }
  if (reader.TakeSign("{")) {
    list.kind = PatternKind::kMap;
    ReadElements(reader, list, "}");
    return list;
  }
  if (reader.TakeSign("$")) return {.kind = PatternKind::kBound, .name = reader.Name("a name")};
  if (reader.IsNext('"')) return {.kind = PatternKind::kText, .text = reader.Text()};
  return IsNumberNext(reader) ? ReadNumber(reader) : ReadWord(reader);
}

}  // namespace fairlock::scenarios

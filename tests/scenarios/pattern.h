// What a scenario expects of a reply, and whether a reply is that.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocol/reply.h"

namespace fairlock::scenarios {

enum class PatternKind : std::uint8_t {
  kNil,
  kInteger,  // low
  kRange,    // low to high
  kText,
  kLike,   // text: a glob
  kError,  // text: the first word
  kErrorText,
  kErrorLike,
  kToken,   // name, later_than
  kAny,     // name, if it is to be remembered
  kBound,   // name
  kLeft,    // low: that many ms are left
  kPassed,  // low: that many ms have passed
  kArray,
  kMap,
};

struct Pattern {
  PatternKind kind = PatternKind::kAny;
  std::string text = {};
  std::string name = {};
  std::string later_than = {};
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::vector<Pattern> elements = {};
  std::vector<std::string> fields = {};  // kMap: one name for each element
  bool has_rest = false;                 // kArray, kMap: more may follow
};

// Names that the steps of a case gave to values.
class Bindings {
 public:
  // Null: nothing has that name.
  const std::string* Find(const std::string& name) const;
  void Bind(const std::string& name, const std::string& value) { values_[name] = value; }

  // Tokens only rise: a name that is new must stand for a token later than all before.
  std::optional<std::string> BindToken(const std::string& name, std::int64_t token);

 private:
  std::map<std::string, std::string> values_;
  std::int64_t newest_token_ = 0;
};

struct MatchOptions {
  // A time may be off by that much: later than said, so less is left and more has passed.
  std::int64_t slack_ms = 0;
  // What a map is: 2, a flat array; 3, a map of RESP3; 0, one of both.
  int resp_version = 0;
};

// None: the reply is as expected, and its values are bound. Else what is not, as
// "expected 1, got nil", with the way to it in front if it is inside of an array or a map.
std::optional<std::string> FindMismatch(const Pattern& pattern, const protocol::Reply& reply,
                                        const MatchOptions& options, Bindings& bindings);

}  // namespace fairlock::scenarios

// The expected form of a reply, and whether a reply has that form.
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
  kLike,   // `text` is a glob
  kError,  // `text` is the first word
  kErrorText,
  kErrorLike,
  kToken,   // name, later_than
  kAny,     // name, if the value is to be remembered
  kBound,   // name
  kLeft,    // `low` ms are left
  kPassed,  // `low` ms have passed
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
  std::vector<std::string> fields = {};  // for kMap, one name for each element
  bool has_rest = false;                 // for kArray and kMap, more elements may follow
};

// Names that the steps of a case have given to values.
class Bindings {
 public:
  // Returns null if no value has that name.
  const std::string* Find(const std::string& name) const;
  void Bind(const std::string& name, const std::string& value) { values_[name] = value; }

  // Tokens only increase: a new name must stand for a token greater than all earlier ones.
  std::optional<std::string> BindToken(const std::string& name, std::int64_t token);

 private:
  std::map<std::string, std::string> values_;
  std::int64_t newest_token_ = 0;
};

struct MatchOptions {
  // How late the reply may be: that much less time may be left, or that much more may have passed.
  std::int64_t slack_ms = 0;
  // The form of a map: 2, a flat array; 3, a RESP3 map; 0, either.
  int resp_version = 0;
};

// Returns nullopt if the reply is as expected, and binds its values. Otherwise returns the
// difference, as "expected 1, got nil", preceded by the path to it inside an array or a map.
std::optional<std::string> FindMismatch(const Pattern& pattern, const protocol::Reply& reply,
                                        const MatchOptions& options, Bindings& bindings);

}  // namespace fairlock::scenarios

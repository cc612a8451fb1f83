// Matches Lua patterns with limits on work and depth.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

struct lua_State;

namespace fairlock::script {

// Supports the patterns in the Lua 5.1 manual, and %f. Lua's own matcher can keep trying for hours
// in a single call, and can overflow the stack. This one charges the budget for each try, and
// refuses patterns that would recurse more deeply than kDepthMax. Errors are raised as Lua errors.
//
// The views must outlive the matcher.
class PatternMatcher {
 public:
  static constexpr int kDepthMax = 200;
  static constexpr int kCapturesMax = 32;

  // `pattern` must not include the '^' that anchors it.
  PatternMatcher(lua_State* lua, std::string_view subject, std::string_view pattern);

  // Returns the end of the match that begins at `begin`; null if none begins there.
  const char* MatchAt(const char* begin);

  // The number of captures of the last match.
  int captures() const { return captures_; }
  // Pushes one capture; for a pattern without captures, capture 0 is the whole match.
  void PushCapture(int index, const char* begin, const char* end) const;
  // Pushes all captures and returns their number. Without captures, pushes the whole match, unless
  // `begin` is null.
  int PushCaptures(const char* begin, const char* end) const;

 private:
  static constexpr std::ptrdiff_t kOpen = -1;
  static constexpr std::ptrdiff_t kPosition = -2;

  struct Capture {
    const char* begin = nullptr;
    std::ptrdiff_t length = 0;  // or kOpen or kPosition
  };

  const char* Match(const char* s, const char* p);
  const char* MatchItem(const char*& s, const char*& p, bool& is_settled);
  const char* MatchSpecial(const char*& s, const char*& p, bool& is_settled);
  const char* MatchLongest(const char* s, const char* p, const char* p_end);
  const char* MatchShortest(const char* s, const char* p, const char* p_end);
  const char* OpenCapture(const char* s, const char* p, std::ptrdiff_t kind);
  const char* CloseCapture(const char* s, const char* p);
  const char* SkipBalanced(const char* s, const char* p);
  const char* SkipBackReference(const char* s, char digit);
  bool IsAtFrontier(const char* s, const char* set, const char* set_end);
  const char* EndOfItem(const char* p);
  bool ItemMatches(const char* s, const char* p, const char* p_end);
  bool SetMatches(unsigned char c, const char* set, const char* set_end);
  void CountTries(std::size_t tries);

  lua_State* lua_;
  std::string_view subject_;
  const char* subject_end_;
  const char* pattern_;
  const char* pattern_end_;
  int depth_ = 0;
  std::size_t tries_ = 0;  // tries that have not been charged yet
  int captures_ = 0;
  std::array<Capture, kCapturesMax> capture_{};
};

}  // namespace fairlock::script

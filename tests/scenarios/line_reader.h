// Reads the words, texts, numbers and signs on one line of a scenario.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fairlock::scenarios {

// Remembers the first error; after it, every read returns a harmless value, so that the caller need
// check only once, at the end. White space before each item is skipped.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : text_(text) {}

  bool AtEnd();
  // Takes the sign, and returns true, if it comes next. A word is taken only as a whole.
  bool TakeSign(std::string_view sign);
  bool TakeWord(std::string_view word);
  bool IsNext(char c);

  // Letters, digits, '_', '-' and '.'; empty if none of these comes next.
  std::string Word();
  // The name of a connection or a value; not empty.
  std::string Name(std::string_view what);
  // "...", with \n \r \t \" \\ and \xHH; a *N after the text repeats it N times.
  std::string Text();
  // Everything up to the next white space.
  std::string BareWord();
  std::optional<std::int64_t> Integer();
  // 500ms, 10s, 5m, 24h or 365d.
  std::int64_t DurationMs();
  // The rest of the line, without white space at its ends.
  std::string_view Rest();

  void Fail(std::string what);
  // Fails if anything is left.
  void Finish();
  const std::string& error() const { return error_; }
  bool failed() const { return !error_.empty(); }

 private:
  void SkipSpace();
  char Escaped();
  void Repeat(std::string& text);

  std::string_view text_;
  std::size_t at_ = 0;
  std::string error_;
};

}  // namespace fairlock::scenarios

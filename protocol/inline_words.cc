#include "protocol/inline_words.h"

#include <cstddef>
#include <string>

namespace fairlock::protocol {
namespace {

bool IsSpace(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

// Vertical tabs and form feeds are skipped between words, but do not end a word.
bool EndsWord(char byte) { return IsSpace(byte) && byte != '\v' && byte != '\f'; }

int HexValue(char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
  return -1;
}

char Unescaped(char byte) {
  switch (byte) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return byte;
  }
}

class LineReader {
 public:
  LineReader(std::string_view line, std::string& scratch) : rest_(line), scratch_(scratch) {}

  // Returns false at the end of the line.
  bool FindWord() {
    while (!rest_.empty() && IsSpace(rest_.front())) rest_.remove_prefix(1);
    return !rest_.empty();
  }

  // Returns false if quotes are unbalanced.
  bool ReadWord(std::string_view& word) {
    std::size_t size = 0;
    while (size < rest_.size() && !EndsWord(rest_[size]) && !IsQuote(rest_[size])) ++size;
    word = Take(size);
    if (rest_.empty() || EndsWord(rest_.front())) return true;
    const std::size_t start = scratch_.size();
    scratch_.append(word);
    if (!ReadRestOfQuotedWord()) return false;
    word = std::string_view(scratch_).substr(start);
    return true;
  }

 private:
  static bool IsQuote(char byte) { return byte == '"' || byte == '\''; }

  std::string_view Take(std::size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  // The closing quote must end the word, so a word has at most one quoted part.
  bool ReadRestOfQuotedWord() {
    const char quote = Take(1).front();
    while (!rest_.empty() && rest_.front() != quote) {
      scratch_.push_back(quote == '"' ? ReadDoubleQuotedByte() : ReadSingleQuotedByte());
    }
    if (rest_.empty()) return false;
    Take(1);
    return rest_.empty() || IsSpace(rest_.front());
  }

  char ReadDoubleQuotedByte() {
    if (rest_.front() != '\\' || rest_.size() == 1) return Take(1).front();
    if (rest_[1] == 'x' && rest_.size() >= 4) {
      const int high = HexValue(rest_[2]);
      const int low = HexValue(rest_[3]);
      if (high >= 0 && low >= 0) {
        Take(4);
        return static_cast<char>(high * 16 + low);
      }
    }
    return Unescaped(Take(2).back());
  }

  char ReadSingleQuotedByte() {
    const bool escaped_quote = rest_.starts_with("\\'");
    return Take(escaped_quote ? 2 : 1).back();
  }

  std::string_view rest_;
  std::string& scratch_;
};

}  // namespace

SplitStatus SplitInlineWords(std::string_view line, const RequestLimits& limits, Arguments& out) {
  if (line.find('\0') != std::string_view::npos) return SplitStatus::kZeroByte;
  out.Clear();
  out.scratch().clear();
  // No word is longer than its quoted form, so the scratch memory never moves and views into it
  // stay valid.
  out.scratch().reserve(line.size());
  LineReader reader(line, out.scratch());
  while (reader.FindWord()) {
    if (out.size() == limits.arguments_max) return SplitStatus::kTooManyWords;
    std::string_view word;
    if (!reader.ReadWord(word)) return SplitStatus::kUnbalancedQuotes;
    if (word.size() > limits.argument_bytes_max) return SplitStatus::kTooLongWord;
    out.Add(word);
  }
  return SplitStatus::kSplit;
}

}  // namespace fairlock::protocol

// Globs of keys and of other names.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlock::engine {

// Every glob that a client or the configuration gives has at most this many bytes.
inline constexpr std::size_t kGlobBytesMax = 1024;

// A glob as in Redis, parsed once: `*`, `?`, `[a-z]`, `[^a]`, `\` before a literal.
//
// The stars cut it into pieces, each of which matches texts of one length only. The first piece has
// one place in a text and the last piece too; each piece between them takes the leftmost place
// after the piece before it, which is never wrong. So a match compares at most
// (elements + 1) * (bytes of the text + 1) bytes, and a glob with at most one star no more than it
// has elements.
//
// Immutable. Parsing is linear in the bytes of the glob.
class Glob {
 public:
  // Matches the empty text only.
  Glob() : Glob(std::string_view()) {}
  explicit Glob(std::string_view glob);

  bool Matches(std::string_view text) const {
    std::uint64_t compared = 0;
    return Matches(text, compared);
  }
  // The same; adds how many bytes it compared.
  bool Matches(std::string_view text, std::uint64_t& compared) const;

  // Matches one text only.
  bool is_exact() const { return is_exact_; }
  // How many of its elements stand for themselves.
  std::size_t literal_bytes() const { return literal_bytes_; }
  // All texts that match begin with this.
  std::string_view head() const { return std::string_view(bytes_).substr(0, head_bytes_); }
  // At most this many bytes are compared with a text of `text_bytes` bytes.
  std::uint64_t CostMax(std::size_t text_bytes) const;

 private:
  enum class Kind : char { kLiteral, kAny, kSet };
  using Set = std::bitset<256>;

  // The elements from `begin` to `end`.
  struct Piece {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::uint32_t sets_before = 0;  // of all elements before this piece
    bool is_literal = true;

    std::size_t size() const { return end - begin; }
  };

  static Set ParseSet(std::string_view& rest);
  void AddElement(Kind kind, char byte);
  void BeginPiece();
  void FindHead();
  std::string_view LiteralOf(const Piece& piece) const {
    return std::string_view(bytes_).substr(piece.begin, piece.size());
  }
  bool MatchesAt(const Piece& piece, const char* text, std::uint64_t& compared) const;
  // Where the leftmost match begins, or npos.
  std::size_t Find(const Piece& piece, std::string_view text, std::uint64_t& compared) const;

  std::string bytes_;          // one an element; of kLiteral the byte that it matches
  std::string kinds_;          // one an element
  std::vector<Set> sets_;      // of the elements of kSet, in their order
  std::vector<Piece> pieces_;  // one more than there are stars, two stars in a row counted once
  std::size_t head_bytes_ = 0;
  std::size_t literal_bytes_ = 0;
  bool is_exact_ = true;
};

// Parses the glob for one text: for globs that are not matched again and again.
bool MatchesGlob(std::string_view glob, std::string_view text);

}  // namespace fairlock::engine

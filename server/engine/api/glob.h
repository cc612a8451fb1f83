// Globs for keys and other names.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlock::engine {

// A glob from a client or from the configuration has at most this many bytes.
inline constexpr std::size_t kGlobBytesMax = 1024;

// A glob with the syntax of Redis, parsed once: `*`, `?`, `[a-z]`, `[^a]`, `\` before a literal.
//
// The stars cut it into pieces, each of which matches strings of one length only. The first and the
// last piece can each match at one position only; each piece between them takes the leftmost match
// after the piece before it, which is always a correct choice. So a match compares at most
// (elements + 1) * (bytes of the string + 1) bytes, and a glob with at most one star compares at
// most one byte per element.
//
// Immutable. Parsing is linear in the bytes of the glob.
class Glob {
 public:
  // Matches only the empty string.
  Glob() : Glob(std::string_view()) {}
  explicit Glob(std::string_view glob);

  bool Matches(std::string_view text) const {
    std::uint64_t compared = 0;
    return Matches(text, compared);
  }
  // The same, and adds the number of bytes compared to `compared`.
  bool Matches(std::string_view text, std::uint64_t& compared) const;

  // Whether it matches exactly one string.
  bool is_exact() const { return is_exact_; }
  // How many of its elements are literal bytes.
  std::size_t literal_bytes() const { return literal_bytes_; }
  // Every string that matches begins with this.
  std::string_view head() const { return std::string_view(bytes_).substr(0, head_bytes_); }
  // The maximum number of bytes compared when matching a string of `text_bytes` bytes.
  std::uint64_t CostMax(std::size_t text_bytes) const;

 private:
  enum class Kind : char { kLiteral, kAny, kSet };
  using Set = std::bitset<256>;

  // The elements from `begin` to `end`.
  struct Piece {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::uint32_t sets_before = 0;  // the number of sets among the elements before this piece
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
  // The position of the leftmost match, or npos.
  std::size_t Find(const Piece& piece, std::string_view text, std::uint64_t& compared) const;

  std::string bytes_;          // one per element; for kLiteral, the byte that it matches
  std::string kinds_;          // one per element
  std::vector<Set> sets_;      // of the kSet elements, in order
  std::vector<Piece> pieces_;  // one more piece than stars; consecutive stars count as one
  std::size_t head_bytes_ = 0;
  std::size_t literal_bytes_ = 0;
  bool is_exact_ = true;
};

// Parses the glob and matches it at once. Meant for globs that are matched only once.
bool MatchesGlob(std::string_view glob, std::string_view text);

// Limits the work that a walk over locks or names may do in one go.
//
// Work is counted in compared bytes; comparing one takes about a nanosecond.
class MatchBudget {
 public:
  // Examining one lock or name costs as much as comparing this many bytes, whatever the glob.
  static constexpr std::uint64_t kLookCost = 48;

  explicit MatchBudget(std::uint64_t work_max) : work_max_(work_max) {}

  void Charge(std::uint64_t work) { spent_ += work; }
  void ChargeLook() { spent_ += kLookCost; }
  bool is_spent() const { return spent_ >= work_max_; }
  std::uint64_t spent() const { return spent_; }
  // The counter to which Glob::Matches adds.
  std::uint64_t& compared() { return spent_; }

 private:
  std::uint64_t work_max_;
  std::uint64_t spent_ = 0;
};

}  // namespace fairlock::engine

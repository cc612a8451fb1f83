#include "server/engine/api/glob.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace fairlock::engine {

Glob::Glob(std::string_view glob) {
  bytes_.reserve(glob.size());
  kinds_.reserve(glob.size());
  BeginPiece();
  while (!glob.empty()) {
    const char byte = glob.front();
    glob.remove_prefix(1);
    if (byte == '*') {
      const bool is_after_star = pieces_.size() > 1 && pieces_.back().size() == 0;
      if (!is_after_star) BeginPiece();
    } else if (byte == '?') {
      AddElement(Kind::kAny, byte);
    } else if (byte == '[') {
      sets_.push_back(ParseSet(glob));
      AddElement(Kind::kSet, byte);
    } else if (byte == '\\' && !glob.empty()) {
      AddElement(Kind::kLiteral, glob.front());
      glob.remove_prefix(1);
    } else {
      AddElement(Kind::kLiteral, byte);
    }
  }
  is_exact_ = pieces_.size() == 1 && pieces_.front().is_literal;
  FindHead();
}

// Parses the set at the front of `rest`, which begins after its '[', and removes it with its ']'.
Glob::Set Glob::ParseSet(std::string_view& rest) {
  Set set;
  const bool is_negated = !rest.empty() && rest.front() == '^';
  if (is_negated) rest.remove_prefix(1);
  while (!rest.empty() && rest.front() != ']') {
    if (rest.front() == '\\' && rest.size() > 1) rest.remove_prefix(1);
    // Ranges compare signed bytes, as Redis does on the machines that Redis and fairlock support.
    int low = static_cast<signed char>(rest.front());
    rest.remove_prefix(1);
    int high = low;
    if (rest.size() > 1 && rest.front() == '-' && rest[1] != ']') {
      high = static_cast<signed char>(rest[1]);
      rest.remove_prefix(2);
    }
    if (low > high) std::swap(low, high);
    for (int byte = low; byte <= high; ++byte) set.set(static_cast<unsigned char>(byte));
  }
  if (!rest.empty()) rest.remove_prefix(1);
  return is_negated ? ~set : set;
}

void Glob::AddElement(Kind kind, char byte) {
  bytes_ += byte;
  kinds_ += static_cast<char>(kind);
  Piece& piece = pieces_.back();
  ++piece.end;
  if (kind == Kind::kLiteral) {
    ++literal_bytes_;
  } else {
    piece.is_literal = false;
  }
}

void Glob::BeginPiece() {
  const auto begin = static_cast<std::uint32_t>(bytes_.size());
  pieces_.push_back(
      {.begin = begin, .end = begin, .sets_before = static_cast<std::uint32_t>(sets_.size())});
}

void Glob::FindHead() {
  const std::string_view kinds = std::string_view(kinds_).substr(0, pieces_.front().end);
  head_bytes_ = std::min(kinds.find_first_not_of(static_cast<char>(Kind::kLiteral)), kinds.size());
}

bool Glob::MatchesAt(const Piece& piece, const char* text, std::uint64_t& compared) const {
  if (piece.is_literal) {
    compared += piece.size();
    return std::memcmp(bytes_.data() + piece.begin, text, piece.size()) == 0;
  }
  const Set* set = sets_.data() + piece.sets_before;
  for (std::size_t i = piece.begin; i < piece.end; ++i, ++text) {
    ++compared;
    switch (static_cast<Kind>(kinds_[i])) {
      case Kind::kLiteral:
        if (bytes_[i] != *text) return false;
        break;
      case Kind::kAny:
        break;
      case Kind::kSet:
        if (!set->test(static_cast<unsigned char>(*text))) return false;
        ++set;
        break;
    }
  }
  return true;
}

std::size_t Glob::Find(const Piece& piece, std::string_view text, std::uint64_t& compared) const {
  if (piece.is_literal) {
    // Takes linear time, which std::string_view::find does not guarantee.
    const std::string_view literal = LiteralOf(piece);
    const void* found = memmem(text.data(), text.size(), literal.data(), literal.size());
    const std::size_t at =
        found == nullptr ? text.npos
                         : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    compared += at == text.npos ? text.size() : at + literal.size();
    return at;
  }
  for (std::size_t at = 0; at + piece.size() <= text.size(); ++at) {
    if (MatchesAt(piece, text.data() + at, compared)) return at;
  }
  return text.npos;
}

bool Glob::Matches(std::string_view text, std::uint64_t& compared) const {
  // Each element matches exactly one byte.
  if (text.size() < bytes_.size()) return false;
  const Piece& first = pieces_.front();
  if (pieces_.size() == 1) {
    return text.size() == first.size() && MatchesAt(first, text.data(), compared);
  }
  const Piece& last = pieces_.back();
  if (!MatchesAt(first, text.data(), compared)) return false;
  text.remove_prefix(first.size());
  if (!MatchesAt(last, text.data() + text.size() - last.size(), compared)) return false;
  text.remove_suffix(last.size());
  // The number of bytes that are left for the stars.
  std::size_t free_bytes = text.size() - (bytes_.size() - first.size() - last.size());
  for (std::size_t i = 1; i + 1 < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    const std::size_t at = Find(piece, text.substr(0, free_bytes + piece.size()), compared);
    if (at == text.npos) return false;
    free_bytes -= at;
    text.remove_prefix(at + piece.size());
  }
  return true;
}

std::uint64_t Glob::CostMax(std::size_t text_bytes) const {
  if (text_bytes < bytes_.size()) return 0;
  if (pieces_.size() == 1) return bytes_.size();
  // Each piece is compared where it matches, and at each byte that a star consumes before it.
  std::size_t piece_max = 0;
  for (std::size_t i = 1; i + 1 < pieces_.size(); ++i) {
    // The number of comparisons per such byte does not depend on the length of a literal piece.
    piece_max = std::max(piece_max, pieces_[i].is_literal ? 1 : pieces_[i].size());
  }
  return bytes_.size() + piece_max * (text_bytes - bytes_.size());
}

bool MatchesGlob(std::string_view glob, std::string_view text) { return Glob(glob).Matches(text); }

}  // namespace fairlock::engine

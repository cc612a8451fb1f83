// Feeds bytes to a RequestParser the way a connection does.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/request_parser.h"
#include "protocol/wire_error.h"

namespace fairlock::protocol {

// The result of parsing a sequence of bytes.
struct ParsedBytes {
  std::vector<std::vector<std::string>> requests = {};
  std::string error = {};            // the error line without '-', empty if there was none
  std::size_t unfinished_bytes = 0;  // the bytes of the incomplete request; 0 after an error

  friend bool operator==(const ParsedBytes&, const ParsedBytes&) = default;
};

// Each call to the parser gets a fresh copy of exactly the available bytes. So bytes move between
// calls, and a sanitizer detects reads beyond the end.
class PieceFeeder {
 public:
  explicit PieceFeeder(const RequestLimits& limits = kDefaultLimits) : limits_(limits) {}

  void Feed(std::string_view piece) {
    if (!parsed_.error.empty()) return;
    held_.insert(held_.end(), piece.begin(), piece.end());
    while (ParseOne()) {
    }
    parsed_.unfinished_bytes = parsed_.error.empty() ? held_.size() : 0;
  }

  const ParsedBytes& parsed() const { return parsed_; }

 private:
  bool ParseOne() {
    const std::vector<char> moved(held_.begin(), held_.end());
    const ParseResult result = parser_.Parse({moved.data(), moved.size()}, limits_, arguments_);
    if (result.status == ParseStatus::kError) {
      parsed_.error = std::string(Word(result.error.code)) + " " + std::string(result.error.text);
      return false;
    }
    if (result.status == ParseStatus::kRequest) {
      parsed_.requests.emplace_back(arguments_.begin(), arguments_.end());
    }
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(result.consumed));
    return result.status == ParseStatus::kRequest;
  }

  RequestLimits limits_;
  RequestParser parser_;
  Arguments arguments_;
  std::vector<char> held_;
  ParsedBytes parsed_;
};

inline ParsedBytes ParseWhole(std::string_view bytes,
                              const RequestLimits& limits = kDefaultLimits) {
  PieceFeeder feeder(limits);
  feeder.Feed(bytes);
  return feeder.parsed();
}

// Parses the bytes in two pieces, split before the byte at `cut`.
inline ParsedBytes ParseCut(std::string_view bytes, std::size_t cut,
                            const RequestLimits& limits = kDefaultLimits) {
  PieceFeeder feeder(limits);
  feeder.Feed(bytes.substr(0, cut));
  feeder.Feed(bytes.substr(cut));
  return feeder.parsed();
}

// Parses the bytes in pieces of that size; the last piece may be shorter.
inline ParsedBytes ParseInPieces(std::string_view bytes, std::size_t piece_bytes,
                                 const RequestLimits& limits = kDefaultLimits) {
  PieceFeeder feeder(limits);
  for (std::size_t at = 0; at < bytes.size(); at += piece_bytes) {
    feeder.Feed(bytes.substr(at, piece_bytes));
  }
  return feeder.parsed();
}

}  // namespace fairlock::protocol

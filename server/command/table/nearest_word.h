// Guesses which word a misspelled one was meant to be.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace fairlock::command {

// Returns how many letters must be inserted, deleted, changed or swapped with their neighbour to
// turn one word into the other. Case is ignored.
std::size_t EditDistance(std::string_view a, std::string_view b);

// Collects candidates and keeps the nearest one. A candidate counts only if few letters differ: one
// for words of up to 4 letters, two for up to 8, otherwise three. If more than one letter differs,
// the first letter must be the same.
class NearestWord {
 public:
  explicit NearestWord(std::string_view misspelled);

  void Try(std::string_view candidate);
  // Returns the nearest candidate; empty if none is near enough.
  std::string_view found() const { return found_; }

 private:
  std::string_view misspelled_;
  std::size_t distance_;  // a candidate must be nearer than this
  std::string_view found_;
};

}  // namespace fairlock::command

// The word that was probably meant by a misspelled one.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace fairlock::command {

// How many letters must be added, dropped, changed or swapped with their neighbour to make one word
// of the other; case does not count.
std::size_t EditDistance(std::string_view a, std::string_view b);

// Collects candidates and keeps the nearest. A candidate counts only if few letters differ: one of
// a word of up to 4 letters, two of one of up to 8, else three; and of several never the first.
class NearestWord {
 public:
  explicit NearestWord(std::string_view misspelled);

  void Try(std::string_view candidate);
  // Empty: none is near.
  std::string_view found() const { return found_; }

 private:
  std::string_view misspelled_;
  std::size_t distance_;  // a candidate must be nearer than this
  std::string_view found_;
};

}  // namespace fairlock::command

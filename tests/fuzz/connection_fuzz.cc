// Whatever several connections send, and however it is split, each gets the same complete replies,
// the engine's invariants hold, and nothing is left over at the end. play.h explains the lines of
// an input; the first line chooses options.

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/play.h"

namespace {

constexpr std::size_t kLinesMax = 60;
constexpr std::int64_t kChoicesMax = 100'000;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using fairlock::fuzz::Play;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const std::int64_t number = fairlock::fuzz::NumberAt(fairlock::fuzz::TakeLine(rest), kChoicesMax);
  const auto choice = static_cast<unsigned>(number);
  Play whole(choice, 0);
  Play pieces(choice, 1 + choice % 7);
  for (std::size_t i = 0; i < kLinesMax && !rest.empty(); ++i) {
    const std::string_view line = fairlock::fuzz::TakeLine(rest);
    whole.Step(line);
    pieces.Step(line);
    assert(whole.heard() == pieces.heard());
  }
  whole.End();
  pieces.End();
  return 0;
}

// How libFuzzer mutates a play: mostly line by line, with plausible requests.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/play.h"
#include "tests/fuzz/request_maker.h"
#include "tests/simulation/random.h"

// libFuzzer's default mutation.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t size_max);

namespace {

using fairlock::fuzz::Play;
using fairlock::fuzz::RequestMaker;
using fairlock::simulation::Random;
using Lines = std::vector<std::string>;

const RequestMaker& Maker() {
  static const RequestMaker maker;
  return maker;
}

std::string OtherLine(Random& random) {
  constexpr auto kSteps = std::to_array<std::string_view>(
      {">1", ">10", ">500", ">1000", ">2500", ">60000", ">31536000000", "}10", "}1000", "}5000",
       "!0", "!1", "!2", "!3", "#0", "#1", "#2", "#3", "p"});
  return std::string(kSteps[random.Below(kSteps.size())]);
}

std::string NewLine(Random& random) {
  if (random.Below(6) == 0) return OtherLine(random);
  std::string line(1, static_cast<char>('0' + random.Below(Play::kConnections)));
  switch (random.Below(16)) {
    case 0:
      return line + "x";
    case 1:
      return line + "d";
    case 2:
    case 3:
      return line + "+" + Maker().Make(random);
    case 4:
      return line + " " + Maker().Make(random);
    default:
      return line + "*" + Maker().Make(random);
  }
}

std::size_t AnyLine(const Lines& lines, Random& random) { return random.Below(lines.size()); }

void ReplaceWord(std::string& line, Random& random) {
  const std::size_t begin = line.find(' ', random.Below(line.size() + 1));
  if (begin == std::string::npos) return;
  const std::size_t end = std::min(line.find(' ', begin + 1), line.size());
  line.replace(begin + 1, end - begin - 1, RequestMaker::AnyWord(random));
}

void MutateBytes(std::string& line, Random& random) {
  std::array<std::uint8_t, 600> bytes{};
  const std::size_t size = std::min(line.size(), bytes.size() / 2);
  std::memcpy(bytes.data(), line.data(), size);
  const std::size_t mutated = LLVMFuzzerMutate(bytes.data(), size, size + 1 + random.Below(100));
  line.assign(reinterpret_cast<const char*>(bytes.data()), mutated);
  std::replace(line.begin(), line.end(), '\n', '_');
}

// The first line is the number that selects options.
void Mutate(Lines& lines, Random& random) {
  const std::size_t at = AnyLine(lines, random);
  const auto behind = lines.begin() + static_cast<std::ptrdiff_t>(at) + 1;
  switch (random.Below(10)) {
    case 0:
      lines[0] = std::to_string(random.Below(2048));
      return;
    case 1:
      if (at > 0) lines.erase(behind - 1);
      return;
    case 2:
      lines.insert(behind, std::string(lines[AnyLine(lines, random)]));
      return;
    case 3:
      if (at > 0) std::swap(lines[at], lines[1 + random.Below(lines.size() - 1)]);
      return;
    case 4:
      if (at > 0) MutateBytes(lines[at], random);
      return;
    case 5:
    case 6:
      if (at > 0) ReplaceWord(lines[at], random);
      return;
    default:
      lines.insert(behind, NewLine(random));
      return;
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t size_max, unsigned seed) {
  Random random(seed);
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  Lines lines;
  do {
    lines.emplace_back(fairlock::fuzz::TakeLine(rest));
  } while (!rest.empty());
  for (std::uint64_t i = 1 + random.Below(4); i > 0; --i) Mutate(lines, random);
  std::string text;
  for (const std::string& line : lines) text.append(line).append("\n");
  const std::size_t mutated = std::min(text.size(), size_max);
  std::memcpy(data, text.data(), mutated);
  return mutated;
}

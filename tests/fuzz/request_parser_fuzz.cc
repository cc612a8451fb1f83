// Whatever arrives, and however it is split, the request parser gives the same result, and stores
// no more than its limits allow.

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/unit/protocol/parse_in_pieces.h"

namespace {

using namespace fairlock::protocol;  // NOLINT(google-build-using-namespace)

// The limits are small enough for fuzzer inputs to reach them.
constexpr RequestLimits kSmallLimits{
    .arguments_max = 6, .argument_bytes_max = 40, .request_bytes_max = 100, .inline_bytes_max = 60};
constexpr std::size_t kLongestLengthLine = 36;

// The first byte chooses the limits; the second one chooses the size of the pieces and where the
// input is cut.
constexpr std::size_t kChoiceBytes = 2;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kChoiceBytes) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + kChoiceBytes,
                               size - kChoiceBytes);
  constexpr RequestLimits kChoices[] = {kDefaultLimits, kBeforeAuth, kSmallLimits};
  const RequestLimits& limits = kChoices[data[0] % 3];
  const std::size_t choice = data[1];

  const ParsedBytes whole = ParseWhole(bytes, limits);
  assert(whole == ParseInPieces(bytes, 1 + choice % 16, limits));
  assert(whole == ParseCut(bytes, bytes.size() * choice / 256, limits));
  assert(whole.unfinished_bytes < limits.request_bytes_max + kLongestLengthLine);
  for (const auto& request : whole.requests) {
    assert(!request.empty() && request.size() <= limits.arguments_max);
    for (const auto& argument : request) assert(argument.size() <= limits.argument_bytes_max);
  }
  return 0;
}

#include "server/process/start_values.h"

#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <filesystem>

#include "server/process/version.h"
#include "text/hexadecimal.h"

namespace fairlock::server {

namespace {

constexpr std::int64_t kBeginningOf2020 = 1'577'836'800;  // Unix seconds
constexpr int kTokenBitsPerSecond = 20;
constexpr std::int64_t kFirstTokenMax = std::int64_t{1} << 52;

// REQUIRES: `count` is at most 256. Up to that size, getrandom never returns fewer bytes than
// requested.
void FillRandomly(void* bytes, std::size_t count) {
  const ssize_t filled = getrandom(bytes, count, 0);
  assert(filled == static_cast<ssize_t>(count));
}

}  // namespace

std::uint64_t RandomSeed() {
  std::uint64_t seed = 0;
  FillRandomly(&seed, sizeof(seed));
  return seed;
}

std::string RandomRunId() {
  std::array<unsigned char, 20> bytes{};
  FillRandomly(bytes.data(), bytes.size());
  return text::HexOf(bytes);
}

std::uint64_t FirstToken(std::int64_t unix_us) {
  constexpr std::int64_t kSecond = 1'000'000;
  const std::int64_t since_us = std::max<std::int64_t>(unix_us - kBeginningOf2020 * kSecond, 0);
  const std::int64_t seconds = std::min(since_us / kSecond, kFirstTokenMax >> kTokenBitsPerSecond);
  // The fraction distinguishes starts within the same second.
  const std::int64_t fraction = (since_us % kSecond << kTokenBitsPerSecond) / kSecond;
  const std::int64_t token = (seconds << kTokenBitsPerSecond) + fraction;
  return static_cast<std::uint64_t>(std::clamp<std::int64_t>(token, 1, kFirstTokenMax));
}

command::ServerFacts ReadFacts() {
  command::ServerFacts facts;
  facts.version = Version();
  facts.run_id = RandomRunId();
  facts.process_id = getpid();
  std::error_code ignored;
  facts.executable = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  utsname system{};
  if (uname(&system) == 0) {
    facts.operating_system =
        std::string(system.sysname) + " " + system.release + " " + system.machine;
  }
  return facts;
}

}  // namespace fairlock::server

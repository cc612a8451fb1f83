#include "storage/replicated/beat.h"

#include <algorithm>
#include <random>
#include <tuple>

#include "storage/byte_coding.h"
#include "storage/crc32c.h"

namespace fairlock::storage::replicated {

namespace {

constexpr std::uint8_t kBeatVersion = 2;
constexpr std::size_t kNameBytesMax = 255;
constexpr std::uint64_t kPortMax = 65'535;

}  // namespace

RunId NewRunId() {
  RunId run;
  std::random_device random;
  std::ranges::generate(run, [&] { return static_cast<char>(random()); });
  return run;
}

bool IsBefore(const Beat& one, const Beat& other) {
  return std::tie(one.epoch, one.sequence) < std::tie(other.epoch, other.sequence);
}

Status ImportNotEnded() {
  return Refused(
      "an import or a copy into this fleet has not ended, or was interrupted; if none is running, "
      "run `fairlockctl cluster import` or `cluster copy` again");
}

std::string EncodeBeat(const Beat& beat) {
  std::string bytes(2 + sizeof(RunId) + 7 * kVarintBytesMax + beat.leader.size() +
                        beat.address.size() + beat.successor.size() + sizeof(std::uint32_t),
                    '\0');
  char* to = bytes.data();
  *to++ = static_cast<char>(kBeatVersion);
  *to++ = static_cast<char>(beat.state);
  to = WriteVarint(to, beat.epoch);
  to = WriteBytes(to, {beat.run.data(), beat.run.size()});
  to = WriteVarint(WriteVarint(to, beat.sequence), beat.next_frame);
  to = WriteVarint(WriteString(WriteString(to, beat.leader), beat.address), beat.tls_port);
  to = WriteString(to, beat.successor);
  const std::string_view content(bytes.data(), static_cast<std::size_t>(to - bytes.data()));
  to = WriteFixed(to, MaskedCrc32c(ExtendCrc32c(0, content)));
  bytes.resize(static_cast<std::size_t>(to - bytes.data()));
  return bytes;
}

Result<Beat> DecodeBeat(std::string_view bytes) {
  ByteReader reader(bytes);
  const auto version = reader.Fixed<std::uint8_t>();
  if (reader.ok() && version != kBeatVersion) {
    return Refused("the register has format " + std::to_string(version) +
                   ", but this version reads format " + std::to_string(kBeatVersion));
  }
  Beat beat;
  const auto state = reader.Fixed<std::uint8_t>();
  beat.state = static_cast<Beat::State>(state);
  beat.epoch = reader.Varint();
  const std::string_view run = reader.Bytes(sizeof(RunId));
  if (reader.ok()) std::ranges::copy(run, beat.run.begin());
  beat.sequence = reader.Varint();
  beat.next_frame = reader.Varint();
  beat.leader = reader.String();
  beat.address = reader.String();
  const std::uint64_t tls_port = reader.Varint();
  beat.tls_port = static_cast<std::uint16_t>(tls_port);
  beat.successor = reader.String();
  const std::size_t content_bytes = bytes.size() - reader.rest_bytes();
  const auto checksum = reader.Fixed<std::uint32_t>();
  const bool is_state = state >= static_cast<std::uint8_t>(Beat::State::kLeading) &&
                        state <= static_cast<std::uint8_t>(Beat::State::kImporting);
  const bool is_right = reader.AtEnd() && is_state && beat.leader.size() <= kNameBytesMax &&
                        beat.address.size() <= kNameBytesMax &&
                        beat.successor.size() <= kNameBytesMax && tls_port <= kPortMax &&
                        checksum == MaskedCrc32c(ExtendCrc32c(0, bytes.substr(0, content_bytes)));
  if (!is_right) return Damaged("the register (the key `beat`) is damaged");
  return beat;
}

}  // namespace fairlock::storage::replicated

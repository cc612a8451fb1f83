// Prints the table of malformed frames for tests in other languages: name, bytes and error in
// hexadecimal, and "before-auth" for frames that are wrong only then; tab-separated, one per line.

#include <iostream>
#include <string>

#include "tests/unit/protocol/malformed_frames.h"

namespace {

std::string Hexadecimal(const std::string& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text.append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
  }
  return text;
}

}  // namespace

int main() {
  for (const fairlock::protocol::MalformedFrame& frame : fairlock::protocol::MalformedFrames()) {
    std::cout << frame.name << "\t" << Hexadecimal(frame.bytes) << "\t" << Hexadecimal(frame.error)
              << "\t" << (frame.before_auth ? "before-auth" : "") << "\n";
  }
  return 0;
}

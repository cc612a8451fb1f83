#include "server/access/slow_hash.h"

#include <crypt.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "server/access/digest.h"

namespace fairlock::access {

namespace {

constexpr std::size_t kSlowHashBytesMax = CRYPT_OUTPUT_SIZE - 1;

// crypt would ignore everything after a zero byte.
bool CanBeHashed(std::string_view password) {
  return password.size() <= kSlowPasswordBytesMax && password.find('\0') == std::string_view::npos;
}

struct Kind {
  std::string_view prefix;
  std::size_t last_part_bytes;  // after the last $; with bcrypt this includes the salt
};

constexpr auto kKinds = std::to_array<Kind>({
    {"$y$", 43},
    {"$gy$", 43},
    {"$7$", 43},
    {"$2a$", 53},
    {"$2b$", 53},
    {"$2y$", 53},
    {"$6$", 86},
    {"$5$", 43},
});

constexpr std::string_view kHashLetters =
    "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

std::string Crypt(std::string_view password, const std::string& setting) {
  const auto scratch = std::make_unique<crypt_data>();
  std::string text(password);
  const char* hash = crypt_rn(text.c_str(), setting.c_str(), scratch.get(), sizeof(crypt_data));
  explicit_bzero(text.data(), text.size());
  return hash == nullptr ? "" : hash;
}

}  // namespace

std::string MakeSlowHash(std::string_view password) {
  if (!CanBeHashed(password)) return "";
  std::array<char, CRYPT_GENSALT_OUTPUT_SIZE> setting{};
  // Uses the cost that the library recommends, and a random salt from the system.
  if (crypt_gensalt_rn("$y$", 0, nullptr, 0, setting.data(), setting.size()) == nullptr) return "";
  return Crypt(password, setting.data());
}

bool BeginsAsSlowHash(std::string_view text) {
  const bool is_printable =
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
  return text.starts_with('$') && text.size() <= kSlowHashBytesMax && is_printable &&
         crypt_checksalt(std::string(text).c_str()) == CRYPT_SALT_OK;
}

bool IsSlowHash(std::string_view text) {
  if (!BeginsAsSlowHash(text)) return false;
  // A truncated hash is a valid setting for crypt, but not the hash of any password.
  const std::string_view last_part = text.substr(text.rfind('$') + 1);
  const auto* kind =
      std::ranges::find_if(kKinds, [&](const Kind& one) { return text.starts_with(one.prefix); });
  return kind != kKinds.end() && last_part.size() == kind->last_part_bytes &&
         last_part.find_first_not_of(kHashLetters) == std::string_view::npos;
}

bool IsPasswordOf(std::string_view slow_hash, std::string_view password) {
  if (!CanBeHashed(password)) return false;
  const std::string made = Crypt(password, std::string(slow_hash));
  return !made.empty() && AreEqual(made, slow_hash);
}

}  // namespace fairlock::access

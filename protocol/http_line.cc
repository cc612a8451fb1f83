#include "protocol/http_line.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "text/ascii.h"

namespace fairlock::protocol {
namespace {

// HTTP methods that are not also the name of a command.
constexpr auto kMethods = std::to_array<std::string_view>(
    {"POST", "PUT", "HEAD", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE"});

bool BeginsIgnoringCase(std::string_view text, std::string_view upper) {
  return text::EqualsIgnoreCase(text.substr(0, upper.size()), upper);
}

bool IsMethod(std::string_view word) {
  return std::any_of(kMethods.begin(), kMethods.end(), [word](std::string_view method) {
    return text::EqualsIgnoreCase(word, method);
  });
}

// Whether the word is a version such as HTTP/1.1 or HTTP/2.
bool IsVersion(std::string_view word) {
  constexpr std::string_view kName = "HTTP/";
  if (!BeginsIgnoringCase(word, kName)) return false;
  const std::string_view number = word.substr(kName.size());
  if (number.size() == 1) return text::IsDigit(number[0]);
  return number.size() == 3 && text::IsDigit(number[0]) && number[1] == '.' &&
         text::IsDigit(number[2]);
}

bool IsTarget(std::string_view word) {
  return word.starts_with('/') || BeginsIgnoringCase(word, "HTTP:") ||
         BeginsIgnoringCase(word, "HTTPS:");
}

}  // namespace

bool IsHttpLine(std::span<const std::string_view> words, bool first_line) {
  if (words.empty()) return false;
  if (IsMethod(words[0]) || BeginsIgnoringCase(words[0], "HOST:")) return true;
  if (words.size() >= 3 && IsVersion(words.back())) return true;
  return first_line && words.size() >= 2 && text::EqualsIgnoreCase(words[0], "GET") &&
         IsTarget(words[1]);
}

}  // namespace fairlock::protocol

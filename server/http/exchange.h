// One HTTP request and what is answered to it, apart from any socket.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fairlock::http {

enum class Verb : std::uint8_t { kGet, kPost, kOther };

// A HEAD is a GET here; the sender of the answer leaves its body out.
struct Request {
  Verb verb = Verb::kGet;
  std::string target;  // as it was sent, such as "/api/v1/locks?match=*"
  std::string host;
  std::string origin;  // empty: none
  std::string content_type;
  std::string authorization;
  std::string known_tag;  // If-None-Match
  std::string body;
};

struct Answer {
  unsigned status = 200;
  std::string_view content_type = "application/json";  // static text
  std::string body = {};
  std::string tag = {};                    // ETag; empty: not to be kept by anybody
  std::string_view allowed_verbs = {};     // Allow, of a 405
  std::string_view content_encoding = {};  // static text
};

// The JSON that every refusal has: a stable word, and what is allowed.
Answer Refusal(unsigned status, std::string_view word, std::string_view text);

}  // namespace fairlock::http

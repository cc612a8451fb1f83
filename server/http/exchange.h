// One HTTP request and its answer, independent of sockets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fairlock::http {

enum class Verb : std::uint8_t { kGet, kPost, kLock, kUnlock, kOther };

// A HEAD request is passed on as GET, and the sender of the answer omits the body.
struct Request {
  Verb verb = Verb::kGet;
  std::string target;  // as sent, such as "/api/v1/locks?match=*"
  std::string host;
  std::string origin;  // empty: none
  std::string content_type;
  std::string authorization;
  std::string known_tag;  // If-None-Match
  std::string body;
  // The partition whose leader must answer; nullopt: this node answers. The target does not name
  // it.
  std::optional<std::uint32_t> partition = {};
  bool is_forwarded = false;  // by another node of the fleet
};

// Whether the answer may come only after http_wait_max.
inline bool MayWait(const Request& request) { return request.target == "/api/v1/acquire"; }

struct Answer {
  unsigned status = 200;
  std::string_view content_type = "application/json";  // static text
  std::string body = {};
  std::string tag = {};                    // ETag; empty: the answer must not be cached
  std::string_view allowed_verbs = {};     // Allow header of a 405
  std::string_view content_encoding = {};  // static text
};

// The leader of another partition, which must answer the request in place of this node.
struct Elsewhere {
  std::uint32_t partition = 0;
  std::string host;  // a name or a numeric address
  std::uint16_t port = 0;
  bool is_tls = false;
  std::int64_t wait_ms_max = 0;  // http_wait_max of the node that asks
};

// Every refusal has a JSON body with a stable code and a message that says what is allowed.
Answer Refusal(unsigned status, std::string_view word, std::string_view text);

}  // namespace fairlock::http

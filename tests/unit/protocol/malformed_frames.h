// Bytes that are not valid requests, and the errors required for them.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace fairlock::protocol {

struct MalformedFrame {
  std::string name;
  std::string bytes;
  // The error text after "ERR Protocol error: ", with which the connection closes. Empty if the
  // bytes announce more than they contain, so that the server waits for the rest without reserving
  // memory.
  std::string error;
  // Applies only to connections that must authenticate first (kBeforeAuth).
  bool before_auth = false;
};

inline std::string Repeated(std::size_t count, const std::string& text) {
  std::string all;
  all.reserve(count * text.size());
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

inline std::vector<MalformedFrame> MalformedCounts() {
  const std::string kInvalid = "invalid multibulk length";
  const std::string kTooBig = "too big mbulk count string";
  return {
      {"count missing", "*\r\n", kInvalid},
      {"count is a letter", "*a\r\n$4\r\nPING\r\n", kInvalid},
      {"count with a letter behind", "*1a\r\n$4\r\nPING\r\n", kInvalid},
      {"count with a plus", "*+1\r\n$4\r\nPING\r\n", kInvalid},
      {"count with a leading zero", "*01\r\n$4\r\nPING\r\n", kInvalid},
      {"count of two zeros", "*00\r\n", kInvalid},
      {"count is a minus", "*-\r\n", kInvalid},
      {"count is minus zero", "*-0\r\n", kInvalid},
      {"count with two minuses", "*--1\r\n", kInvalid},
      {"count with a space before", "* 1\r\n$4\r\nPING\r\n", kInvalid},
      {"count with a space behind", "*1 \r\n$4\r\nPING\r\n", kInvalid},
      {"count is a fraction", "*1.0\r\n$4\r\nPING\r\n", kInvalid},
      {"count is hexadecimal", "*0x1\r\n$4\r\nPING\r\n", kInvalid},
      {"count with a zero byte", std::string("*1\0\r\n", 5), kInvalid},
      {"count ended by LF alone", "*1\n$4\nPING\n", kInvalid},
      {"count ended by CR alone", "*1\r$4\r\nPING\r\n", kInvalid},
      {"count ended by CR CR LF", "*1\r\r\n$4\r\nPING\r\n", kInvalid},
      {"count one above the limit", "*16385\r\n", kInvalid},
      {"count of 2^31 - 1", "*2147483647\r\n$4\r\nPING\r\n", kInvalid},
      {"count of 2^32", "*4294967296\r\n", kInvalid},
      {"count of 2^32 + 1", "*4294967297\r\n$4\r\nPING\r\n", kInvalid},
      {"count of 2^63 - 1", "*9223372036854775807\r\n", kInvalid},
      {"count of 2^64 + 1", "*18446744073709551617\r\n$4\r\nPING\r\n", kInvalid},
      {"count of 32 digits", "*" + Repeated(32, "9") + "\r\n", kInvalid},
      {"count of 33 digits", "*" + Repeated(33, "9") + "\r\n", kTooBig},
      {"count without an end", "*" + Repeated(70'000, "1"), kTooBig},
      {"frame in a frame", "**1\r\n$4\r\nPING\r\n", kInvalid},
      {"count is a bulk", "*$4\r\nPING\r\n", kInvalid},
      {"streamed array of RESP3", "*?\r\n$4\r\nPING\r\n.\r\n", kInvalid},
  };
}

inline std::vector<MalformedFrame> MalformedBulks() {
  const std::string kInvalid = "invalid bulk length";
  const std::string kTooBig = "too big bulk count string";
  const std::string kLineEnd = "expected CRLF after the bulk string";
  return {
      {"bulk without its letter", "*1\r\n4\r\nPING\r\n", "expected '$', got '4'"},
      {"bulk is an integer", "*1\r\n:4\r\n", "expected '$', got ':'"},
      {"bulk is a simple string", "*1\r\n+PING\r\n", "expected '$', got '+'"},
      {"bulk is an array", "*1\r\n*1\r\n$4\r\nPING\r\n", "expected '$', got '*'"},
      {"bulk is a RESP3 null", "*1\r\n_\r\n", "expected '$', got '_'"},
      {"bulk is a line end", "*1\r\n\r\n$4\r\nPING\r\n", "expected '$', got '\\x0d'"},
      {"bulk is a zero byte", std::string("*1\r\n\0\r\n", 7), "expected '$', got '\\x00'"},
      {"bulk is the byte 255", "*1\r\n\xff\r\n", "expected '$', got '\\xff'"},
      {"second bulk without its letter", "*2\r\n$4\r\nECHO\r\nhello\r\n", "expected '$', got 'h'"},
      {"last bulk without its letter", "*3\r\n$1\r\na\r\n$1\r\nb\r\nc", "expected '$', got 'c'"},
      {"length missing", "*1\r\n$\r\nPING\r\n", kInvalid},
      {"length is a letter", "*1\r\n$x\r\nPING\r\n", kInvalid},
      {"length with a letter behind", "*1\r\n$4x\r\nPING\r\n", kInvalid},
      {"length is -1, a null", "*1\r\n$-1\r\n", kInvalid},
      {"length is -4", "*1\r\n$-4\r\nPING\r\n", kInvalid},
      {"length of -2^63 - 1", "*1\r\n$-9223372036854775809\r\n", kInvalid},
      {"length with a plus", "*1\r\n$+4\r\nPING\r\n", kInvalid},
      {"length with a leading zero", "*1\r\n$04\r\nPING\r\n", kInvalid},
      {"length with a space before", "*1\r\n$ 4\r\nPING\r\n", kInvalid},
      {"length with a space behind", "*1\r\n$4 \r\nPING\r\n", kInvalid},
      {"length with an exponent", "*1\r\n$4e0\r\nPING\r\n", kInvalid},
      {"length ended by LF alone", "*1\r\n$4\nPING\r\n", kInvalid},
      {"length ended by CR alone", "*1\r\n$4\rPING\r\n", kInvalid},
      {"length of one digit and CR CR", "*1\r\n$4\r\rPING\r\n", kInvalid},
      {"length of two digits and CR CR", "*1\r\n$12\r\rPINGPINGPING\r\n", kInvalid},
      {"length one above the limit", "*1\r\n$524289\r\n", kInvalid},
      {"length of 512 MiB", "*1\r\n$536870912\r\n", kInvalid},
      {"length of 2^32 + 4", "*1\r\n$4294967300\r\nPING\r\n", kInvalid},
      {"length of 2^63 - 1", "*1\r\n$9223372036854775807\r\nPING\r\n", kInvalid},
      {"length of 2^64 - 1", "*1\r\n$18446744073709551615\r\nPING\r\n", kInvalid},
      {"length of 2^64 + 4", "*1\r\n$18446744073709551620\r\nPING\r\n", kInvalid},
      {"length of 33 digits", "*1\r\n$" + Repeated(33, "9") + "\r\n", kTooBig},
      {"length without an end", "*1\r\n$" + Repeated(70'000, "1"), kTooBig},
      {"streamed bulk of RESP3", "*1\r\n$?\r\n;4\r\nPING\r\n;0\r\n", kInvalid},
      {"length too short by one", "*1\r\n$3\r\nPING\r\n", kLineEnd},
      {"length too short by three", "*1\r\n$1\r\nPING\r\n", kLineEnd},
      {"length too long by one", "*2\r\n$5\r\nPING\r\n$1\r\nx\r\n", kLineEnd},
      {"length too long by two", "*2\r\n$6\r\nPING\r\n$1\r\nx\r\n", kLineEnd},
      {"length 0 before text", "*1\r\n$0\r\nPING\r\n", kLineEnd},
      {"body ended by LF alone", "*1\r\n$4\r\nPING\n\n", kLineEnd},
      {"body ended by CR CR", "*1\r\n$4\r\nPING\r\r", kLineEnd},
      {"body without a line end", "*2\r\n$4\r\nECHO$2\r\nhi\r\n", kLineEnd},
      {"long body without a line end", "*1\r\n$300\r\n" + Repeated(302, "x"), kLineEnd},
  };
}

inline std::vector<MalformedFrame> MalformedLines() {
  const std::string kQuotes = "unbalanced quotes in request";
  const std::string kTooBig = "too big inline request";
  const std::string kZero = "zero byte in inline request";
  return {
      {"double quote not closed", "LOCK \"key owner\r\n", kQuotes},
      {"single quote not closed", "LOCK 'key owner\r\n", kQuotes},
      {"double quote at the end", "LOCK key \"\r\n", kQuotes},
      {"closing quote escaped", "LOCK \"key\\\"\r\n", kQuotes},
      {"single closing quote escaped", "LOCK 'key\\'\r\n", kQuotes},
      {"word behind a double quote", "LOCK \"key\"owner\r\n", kQuotes},
      {"word behind a single quote", "LOCK 'key'owner\r\n", kQuotes},
      {"quote behind a quote", "LOCK \"key\"\"owner\"\r\n", kQuotes},
      {"quotes of two kinds", "LOCK \"key'\r\n", kQuotes},
      {"escape cut by the line end", "LOCK \"\\x4\r\n", kQuotes},
      {"backslash before the line end", "LOCK \"key\\\r\n", kQuotes},
      {"zero bytes", std::string("\0\0\0\0\n", 5), kZero},
      {"zero byte in a word", std::string("LOCK k\0y owner\r\n", 16), kZero},
      {"zero byte in quotes", std::string("LOCK \"k\0y\" owner\r\n", 18), kZero},
      {"line one byte too long", Repeated(65'536, "a") + "\n", kTooBig},
      {"line without an end", Repeated(70'000, "a"), kTooBig},
      {"spaces without an end", Repeated(70'000, " "), kTooBig},
      {"line of too many words", Repeated(16'385, "a ") + "\r\n", kTooBig},
  };
}

inline std::vector<MalformedFrame> ForeignProtocols() {
  const std::string kHttp = "HTTP request; this port speaks RESP";
  const std::string kTls = "TLS handshake; this port speaks RESP";
  const std::string kBody = "\r\nUser-Agent: x\r\n\r\nLOCK key owner\r\nUNLOCK key owner\r\n";
  return {
      {"GET", "GET / HTTP/1.1" + kBody, kHttp},
      {"GET of HTTP/1.0", "GET /index.html HTTP/1.0" + kBody, kHttp},
      {"GET of HTTP/0.9", "GET /index.html\r\nLOCK key owner\r\n", kHttp},
      {"GET in small letters", "get / http/1.1" + kBody, kHttp},
      {"GET of a proxy", "GET http://example.com/ HTTP/1.1" + kBody, kHttp},
      {"GET with LF alone", "GET / HTTP/1.1\nLOCK key owner\n", kHttp},
      {"GET behind an empty line", "\r\nGET / HTTP/1.1" + kBody, kHttp},
      {"GET behind an empty array", "*0\r\nGET /" + kBody, kHttp},
      {"GET with a space in its target", "GET key a HTTP/1.1" + kBody, kHttp},
      {"GET with a long target", "GET /" + Repeated(2'000, "a") + " HTTP/1.1" + kBody, kHttp},
      {"GET with a quote in its target", "GET /\" HTTP/1.1" + kBody,
       "unbalanced quotes in request"},
      {"GET without an end", "GET /" + Repeated(70'000, "a"), "too big inline request"},
      {"POST", "POST / HTTP/1.1" + kBody, kHttp},
      {"POST alone", "POST\r\nLOCK key owner\r\n", kHttp},
      {"POST in small letters", "post /x" + kBody, kHttp},
      {"POST in quotes", "\"POST\" /x" + kBody, kHttp},
      {"POST behind spaces", "  POST /x" + kBody, kHttp},
      {"PUT", "PUT /key HTTP/1.1" + kBody, kHttp},
      {"HEAD", "HEAD / HTTP/1.1" + kBody, kHttp},
      {"DELETE", "DELETE /key HTTP/1.1" + kBody, kHttp},
      {"OPTIONS", "OPTIONS * HTTP/1.1" + kBody, kHttp},
      {"PATCH", "PATCH /key HTTP/1.1" + kBody, kHttp},
      {"CONNECT", "CONNECT example.com:443 HTTP/1.1" + kBody, kHttp},
      {"TRACE", "TRACE / HTTP/1.1" + kBody, kHttp},
      {"LOCK of WebDAV", "LOCK /file HTTP/1.1" + kBody, kHttp},
      {"UNLOCK of WebDAV", "UNLOCK /file HTTP/1.1" + kBody, kHttp},
      {"SUBSCRIBE of UPnP", "SUBSCRIBE /event HTTP/1.1" + kBody, kHttp},
      {"preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", kHttp},
      {"version without a fraction", "GET key HTTP/2\r\n", kHttp},
      {"Host header", "Host: localhost:3247\r\nLOCK key owner\r\n", kHttp},
      {"Host header in small letters", "host: localhost\r\n", kHttp},
      {"Host header without a space", "Host:localhost\r\n", kHttp},
      {"TLS hello", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11), kTls},
      {"TLS hello with a line in it", "\x16\x03\x01\r\nLOCK key owner\r\n", kTls},
  };
}

inline std::vector<MalformedFrame> FramesTooLargeBeforeAuth() {
  const std::string kCount = "unauthenticated multibulk length";
  const std::string kLength = "unauthenticated bulk length";
  const std::string half = "$24576\r\n" + Repeated(24'576, "x") + "\r\n";
  return {
      {"eleven arguments", "*11\r\n" + Repeated(11, "$1\r\nx\r\n"), kCount, true},
      {"count of 2^31 before AUTH", "*2147483648\r\n", kCount, true},
      {"argument of 48 KiB", "*2\r\n$4\r\nAUTH\r\n$49152\r\n", kLength, true},
      {"argument above 48 KiB", "*2\r\n$4\r\nAUTH\r\n$49153\r\n", kLength, true},
      {"two arguments of 24 KiB", "*2\r\n" + half + half, kLength, true},
      {"eleven words", "a b c d e f g h i j k\r\n", kCount, true},
      {"line above 48 KiB", Repeated(49'152, "a") + "\r\n", "too big inline request", true},
  };
}

inline std::vector<MalformedFrame> FramesTooLargeTogether() {
  const std::string half = "$524288\r\n" + Repeated(524'288, "x") + "\r\n";
  return {{"two arguments of 512 KiB", "*2\r\n" + half + half, "too big request"}};
}

inline std::vector<MalformedFrame> UnfinishedFrames() {
  return {
      {"count not ended", "*3", ""},
      {"count with CR", "*3\r", ""},
      {"count alone", "*3\r\n", ""},
      {"largest count alone", "*16384\r\n", ""},
      {"length not ended", "*1\r\n$524288", ""},
      {"largest length alone", "*1\r\n$524288\r\n", ""},
      {"body not ended", "*1\r\n$524288\r\nLOCK", ""},
      {"body without LF", "*1\r\n$4\r\nPING\r", ""},
      {"one argument of two", "*2\r\n$4\r\nPING\r\n", ""},
      {"line not ended", "LOCK key owner", ""},
      {"line with CR", "LOCK key owner\r", ""},
      {"nothing but empty lines", Repeated(1'000, "\r\n"), ""},
      {"nothing but empty arrays", Repeated(1'000, "*0\r\n*-1\r\n"), ""},
      {"nothing but spaces", Repeated(1'000, " \t \r\n"), ""},
  };
}

// Frames that every server must survive.
inline std::vector<MalformedFrame> MalformedFrames() {
  std::vector<MalformedFrame> all;
  for (const auto& part :
       {MalformedCounts(), MalformedBulks(), MalformedLines(), ForeignProtocols(),
        FramesTooLargeBeforeAuth(), FramesTooLargeTogether(), UnfinishedFrames()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace fairlock::protocol

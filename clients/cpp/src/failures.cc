#include "failures.h"

#include <boost/asio/error.hpp>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

namespace fairlock::client {

namespace {

bool IsAny(const std::string& text, std::initializer_list<std::string_view> words) {
  for (const auto word : words) {
    if (text.starts_with(word)) return true;
  }
  return false;
}

bool IsTemporary(const std::string& text) {
  // A channel has no subscriber for a moment while its connection is re-established.
  return IsAny(text, {"CLUSTERDOWN", "LOADING", "NOQUORUM", "TRYAGAIN", "READONLY"}) ||
         text.find("has no subscriber") != std::string::npos;
}

bool IsUnknown(const std::string& text) {
  return text.find("unknown command") != std::string::npos || text.starts_with("NOPROTO");
}

}  // namespace

Moved::Moved(const std::string& text) : Temporary(text) {
  const auto slot = text.find(' ');
  const auto host = text.find(' ', slot + 1);
  const auto port = text.rfind(':');
  if (slot == std::string::npos || host == std::string::npos || port == std::string::npos) return;
  slot_ = std::atoi(text.c_str() + slot);
  address_ = {text.substr(host + 1, port - host - 1), text.substr(port + 1)};
}

void ThrowFailure(const std::string& text) {
  if (IsTemporary(text)) throw Temporary(text);
  if (text.starts_with("MOVED ")) throw Moved(text);
  if (text.starts_with("DEADLOCK ")) throw Deadlock(text.substr(9));
  if (IsAny(text, {"SUPERSEDED", "CANCELLED", "UNBLOCKED"})) throw WaitEnded(text);
  if (IsUnknown(text)) throw NotFairlock("the server is not fairlock, it may be Redis: " + text);
  throw Refused(text);
}

Temporary Failure(const std::string& what, const boost::system::system_error& failure) {
  // When their time is over, streams are closed, which aborts what they do.
  const auto& code = failure.code();
  const auto why =
      code == boost::asio::error::operation_aborted ? "there was no reply in time" : code.message();
  return Temporary(what + ": " + why);
}

void Failures::AddCurrent() {
  bool will_pass = false;
  try {
    throw;
  } catch (const ConnectionFailed&) {
    will_pass = true;
  } catch (...) {
  }
  if (reported_ != nullptr && will_pass) return;
  reported_ = std::current_exception();
}

}  // namespace fairlock::client

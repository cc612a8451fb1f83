// Turns errors of servers and connections into the exceptions of the library.
#pragma once

#include <boost/system/system_error.hpp>
#include <exception>
#include <string>

#include "fairlock/client/errors.h"
#include "stream.h"

namespace fairlock::client {

// Whether the same request may succeed later: the server is restarting, or fails over.
class Temporary : public ConnectionFailed {
  using ConnectionFailed::ConnectionFailed;
};

// The node has not executed the request: another one serves the key.
class Moved : public Temporary {
 public:
  explicit Moved(const std::string& text);  // MOVED slot host:port

  [[nodiscard]] int slot() const { return slot_; }
  [[nodiscard]] const Address& address() const { return address_; }

 private:
  int slot_ = -1;
  Address address_;
};

// Throws the exception for an error of a server.
[[noreturn]] void ThrowFailure(const std::string& text);

// The exception for a connection that failed.
Temporary Failure(const std::string& what, const boost::system::system_error& failure);

// Chooses which of the failures to reach several addresses is reported: an error that will not
// pass, such as a wrong password, rather than an address that cannot be reached.
class Failures {
 public:
  void AddCurrent();  // the exception that is being handled
  [[nodiscard]] std::exception_ptr reported() const { return reported_; }

 private:
  std::exception_ptr reported_;
};

}  // namespace fairlock::client

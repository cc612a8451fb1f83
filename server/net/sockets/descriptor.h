// Descriptors: those that Asio waits for, while all reads and writes are direct system calls, and
// one with which other threads wake the loop.
#pragma once

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <utility>

namespace fairlock::net {

// Closes its descriptor when destroyed. Uses the io_context's own executor type, which is cheaper
// than boost::asio::any_io_executor.
using Descriptor =
    boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;

// The address family of a socket, which Asio needs to adopt the socket.
boost::asio::ip::tcp TcpFamilyOf(int descriptor);

// An open descriptor that closes itself when its only owner destroys it.
class OwnedDescriptor {
 public:
  explicit OwnedDescriptor(int descriptor = -1) : descriptor_(descriptor) {}
  OwnedDescriptor(OwnedDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  OwnedDescriptor& operator=(OwnedDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~OwnedDescriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  bool is_open() const { return descriptor_ >= 0; }
  int number() const { return descriptor_; }
  int Release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

// A descriptor with which other threads wake the loop.
class EventDescriptor {
 public:
  EventDescriptor();
  EventDescriptor(const EventDescriptor&) = delete;
  EventDescriptor& operator=(const EventDescriptor&) = delete;
  ~EventDescriptor();

  int descriptor() const { return descriptor_; }

  // Thread-safe.
  void Signal();
  // Waits at most `wait_ms_max` for a Signal. Returns at once if there was one since the last
  // Await.
  void Await(int wait_ms_max);

 private:
  int descriptor_;
};

}  // namespace fairlock::net

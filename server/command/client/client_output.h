// The replies of a client, and how far they have been sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "server/command/table/command_table.h"

namespace fairlock::command {

// Loop-confined.
class ClientOutput {
 public:
  // The bytes to send, in order. After the transport has swapped or cleared them, or erased bytes
  // from the front, it must call CountTaken.
  std::string& bytes() { return bytes_; }
  const std::string& bytes() const { return bytes_; }

  // CountTaken: the transport has taken `bytes` bytes out of bytes(). CountSent: it has handed them
  // to the kernel.
  void CountTaken(std::size_t bytes) { taken_ += bytes; }
  void CountSent(std::size_t bytes) { sent_ += bytes; }
  // The number of bytes since the connection began: written in total, and handed to the kernel.
  std::uint64_t written() const { return taken_ + bytes_.size(); }
  std::uint64_t sent() const { return sent_; }

  // Says that the bytes written next are the reply to a command with these flags.
  void NoteFlags(std::uint32_t command_flags) { flags_ |= command_flags; }
  // Returns whether output written since the last call may reveal the state of locks.
  bool TakeStateDependency() { return (std::exchange(flags_, 0) & (kWrite | kReadOnly)) != 0; }

  // Makes the connection close once the output is sent.
  void CloseAfter() { is_closing_ = true; }
  bool is_closing() const { return is_closing_; }

 private:
  std::string bytes_;
  std::uint64_t taken_ = 0;
  std::uint64_t sent_ = 0;
  std::uint32_t flags_ = 0;  // of the commands whose output TakeStateDependency has not covered yet
  bool is_closing_ = false;
};

}  // namespace fairlock::command

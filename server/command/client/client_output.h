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
  // Bytes to send, in order. The transport may swap, clear or erase them from the front, and then
  // calls CountTaken.
  std::string& bytes() { return bytes_; }
  const std::string& bytes() const { return bytes_; }

  // The transport has taken `bytes` bytes out of bytes(), or has handed them to the kernel.
  void CountTaken(std::size_t bytes) { taken_ += bytes; }
  void CountSent(std::size_t bytes) { sent_ += bytes; }
  // Bytes since the connection began: written in total, and handed to the kernel.
  std::uint64_t written() const { return taken_ + bytes_.size(); }
  std::uint64_t sent() const { return sent_; }

  // The bytes written next are the reply to a command with these flags.
  void NoteFlags(std::uint32_t command_flags) { flags_ |= command_flags; }
  // True: output written since the last call may reveal the state of locks.
  bool TakeStateDependency() { return (std::exchange(flags_, 0) & (kWrite | kReadOnly)) != 0; }

  // The connection closes once the output is sent.
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

// What a client needs from the transport that carries its bytes.
#pragma once

#include <cstddef>

namespace fairlock::command {

// Input that was received and is not yet fully processed.
struct InputUse {
  std::size_t bytes = 0;  // bytes of requests that wait, are incomplete, or are being executed
  std::size_t memory_bytes = 0;  // memory that the connection has allocated for these bytes
};

// Implemented by the socket code, faked in tests. Loop-confined; no call destroys the caller.
class Transport {
 public:
  // Called when there is output to send, or when a waiting request was answered, so that buffered
  // input can be processed. May be called more than once, and at any time in a turn, even while
  // another connection's request is executed.
  virtual void NoticeOutput() = 0;

  // Asks to add `bytes` unsolicited bytes to the output. If it returns false, they would exceed the
  // output limit: the caller must not add them, and the connection closes in this turn.
  virtual bool AdmitOutput(std::size_t bytes) = 0;

  // Closes the connection in this turn without sending its remaining output.
  virtual void CloseNow() = 0;

  virtual InputUse UnexecutedInput() const { return {}; }

 protected:
  ~Transport() = default;
};

}  // namespace fairlock::command

// What the brain of a connection asks of that which carries its bytes.
#pragma once

#include <cstddef>

namespace fairlock::command {

// What came and is not done with.
struct InputUse {
  std::size_t bytes = 0;         // of requests that wait, are incomplete, or are being executed
  std::size_t memory_bytes = 0;  // that the connection has taken for them
};

// Implemented by the socket side, faked in tests. Loop-confined; no call destroys the caller.
class Transport {
 public:
  // There is output to send, or a request that waited is answered and buffered input can go on.
  // Called at any time in a turn, also while another connection's request is executed; may be
  // called more than once.
  virtual void NoticeOutput() = 0;

  // So many bytes that no request has asked for are to be added to the output. False: they would
  // exceed its limit; they must not be added, and the connection is closed in this turn.
  virtual bool AdmitOutput(std::size_t bytes) = 0;

  // Close in this turn, without sending what is still to be sent.
  virtual void CloseNow() = 0;

  virtual InputUse UnexecutedInput() const { return {}; }

 protected:
  ~Transport() = default;
};

}  // namespace fairlock::command

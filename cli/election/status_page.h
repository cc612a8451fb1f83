// Answers HTTP requests about an election, for sidecars and probes.
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "cli/base/clock.h"
#include "cli/base/descriptor.h"
#include "cli/base/result.h"

namespace fairlock::cli {

struct PageAnswer {
  unsigned status = 200;
  std::string body;
  std::string_view type = "text/plain";
};

// Accepts a few connections at a time, and answers one request on each. A connection that has not
// sent its request within some seconds is closed, and so is the oldest one when there are too many.
//
// Never blocks: the owner polls what AddInterest() adds, and then calls Advance().
class StatusPage {
 public:
  using Answer = std::function<PageAnswer(std::string_view path)>;

  // `address` is HOST:PORT, with a numeric host; port 0 is any free one.
  static Result<StatusPage> Listen(const std::string& address, Answer answer);

  // "127.0.0.1:4040": where it listens.
  const std::string& address() const { return address_; }

  void AddInterest(std::vector<pollfd>& events) const;
  TimeMs WakeAt() const;
  void Advance(TimeMs now);

 private:
  struct Visit {
    Descriptor socket;
    TimeMs until = 0;
    std::string input = {};
    std::string output = {};
  };

  StatusPage(Descriptor socket, std::string address, Answer answer);

  void Accept(TimeMs now);
  // Returns false when the connection has to be closed.
  bool Serve(Visit& visit);
  bool Read(Visit& visit);

  Descriptor socket_;
  std::string address_;
  Answer answer_;
  std::list<Visit> visits_;
};

}  // namespace fairlock::cli

// Logs waits and holds longer than log_waits_over and log_holds_over.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/command/environment/environment.h"
#include "server/engine/api/event.h"
#include "server/engine/state/client_table.h"
#include "server/logging/logging.h"

namespace fairlock::server {

// Logs one line when such a wait or hold ends, and at most kLinesMax lines per kPeriodMs. Further
// lines are counted, and the next line written gives their number. Loop-confined.
class SlowLockLog final : public engine::EventSink {
 public:
  static constexpr engine::DurationMs kPeriodMs = command::LineBudget::kPeriodMs;
  static constexpr std::uint64_t kLinesMax = 20;

  struct Limits {
    engine::DurationMs wait_ms = 0;  // if 0, no wait is logged
    engine::DurationMs hold_ms = 0;  // if 0, no hold is logged
  };

  // Both arguments must outlive this object.
  SlowLockLog(Log& log, const engine::ClientTable& clients) : log_(log), clients_(clients) {}

  void set_limits(const Limits& limits) { limits_ = limits; }
  // Whether any wait or hold is logged. If not, no events need to be delivered.
  bool is_on() const { return limits_.wait_ms > 0 || limits_.hold_ms > 0; }

  void Take(const engine::Event& event) override;

 private:
  void Write(std::string_view what, engine::DurationMs duration_ms, const engine::Event& event);

  Log& log_;
  const engine::ClientTable& clients_;
  Limits limits_;
  command::LineBudget lines_{kLinesMax};
};

}  // namespace fairlock::server

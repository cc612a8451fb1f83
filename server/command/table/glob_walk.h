// Limits the length of the globs in requests, and the work of matching them and of other commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/engine/api/glob.h"
#include "server/engine/lock_engine.h"

namespace fairlock::command {

// Returns "MATCH pattern must have at most 1024 bytes, got 2000"; empty if the glob is short
// enough. `name` is the command or the option to which the glob belongs.
std::string DescribeLongGlob(std::string_view name, std::string_view glob);

// Counts, for all clients of a server, the work that does not show in the bytes of requests and
// replies. The unit is the comparison of one byte, which takes about a nanosecond. Loop-confined.
class WorkMeter {
 public:
  // The approximate number of bytes that all walks of one transaction together may compare.
  static constexpr std::uint64_t kTransactionWorkMax = 4'000'000;
  // A client pays for work as it pays for the bytes of its requests and replies: comparing this
  // many bytes takes as long as executing one byte of a request.
  static constexpr std::uint64_t kWorkPerByte = 32;
  // The work of examining one place or hold in a search for a deadlock.
  static constexpr std::uint64_t kSearchWork = 400;

  explicit WorkMeter(const engine::LockEngine& engine) : engine_(engine) {}

  void Charge(std::uint64_t work) { total_ += work; }
  std::uint64_t total() const { return total_ + engine_.deadlocks().searched() * kSearchWork; }
  // Called when EXEC begins.
  void BeginTransaction() { transaction_began_at_ = total_; }
  void EndTransaction() { transaction_began_at_.reset(); }
  // Returns false if the running transaction has used up its allowance for matching.
  bool MayMatch() const {
    return !transaction_began_at_ || total_ - *transaction_began_at_ < kTransactionWorkMax;
  }

 private:
  const engine::LockEngine& engine_;
  std::uint64_t total_ = 0;
  std::optional<std::uint64_t> transaction_began_at_;
};

// The work that one command may spend on a walk over locks or names. The destructor charges the
// work done to the server's meter.
class GlobWalk : public engine::MatchBudget {
 public:
  // A command that returns a cursor ends its page after this much work, which takes less than 10
  // ms.
  static constexpr std::uint64_t kPageWorkMax = 2'000'000;
  // A command without a cursor is refused after this much work.
  static constexpr std::uint64_t kWholeWorkMax = 8'000'000;

  GlobWalk(WorkMeter& meter, std::uint64_t work_max) : MatchBudget(work_max), meter_(meter) {}
  GlobWalk(const GlobWalk&) = delete;
  GlobWalk& operator=(const GlobWalk&) = delete;
  ~GlobWalk() { meter_.Charge(spent()); }

 private:
  WorkMeter& meter_;
};

}  // namespace fairlock::command

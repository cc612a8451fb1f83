// Globs in requests: how long they may be, and how much work matching them may be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/engine/api/match_budget.h"

namespace fairlock::command {

// "MATCH pattern must have at most 1024 bytes, got 2000"; empty: the glob is not too long. `name`
// is the command or the option that the glob belongs to.
std::string DescribeLongGlob(std::string_view name, std::string_view glob);

// Counts the work of matching for all clients of a server. Loop-confined.
class MatchingMeter {
 public:
  // All walks of one transaction together compare about this many bytes.
  static constexpr std::uint64_t kTransactionWorkMax = 4'000'000;
  // A client pays for matching as it pays for requests and replies, by their bytes; this much
  // matching takes as long as to execute one byte of a request.
  static constexpr std::uint64_t kWorkPerByte = 32;

  void Charge(std::uint64_t work) { total_ += work; }
  std::uint64_t total() const { return total_; }
  // EXEC begins.
  void BeginTransaction() { transaction_began_at_ = total_; }
  void EndTransaction() { transaction_began_at_.reset(); }
  // False: the transaction under way has done all the matching that it may.
  bool MayMatch() const {
    return !transaction_began_at_ || total_ - *transaction_began_at_ < kTransactionWorkMax;
  }

 private:
  std::uint64_t total_ = 0;
  std::optional<std::uint64_t> transaction_began_at_;
};

// The work that one command may spend on a walk over locks or names; whatever it spends is charged
// to the server's meter at its end.
class GlobWalk : public engine::MatchBudget {
 public:
  // A command that returns a cursor ends its page after this much work, less than 10 ms of it.
  static constexpr std::uint64_t kPageWorkMax = 2'000'000;
  // A command that answers at once, or not at all, is refused after this much work.
  static constexpr std::uint64_t kWholeWorkMax = 8'000'000;

  GlobWalk(MatchingMeter& meter, std::uint64_t work_max) : MatchBudget(work_max), meter_(meter) {}
  GlobWalk(const GlobWalk&) = delete;
  GlobWalk& operator=(const GlobWalk&) = delete;
  ~GlobWalk() { meter_.Charge(spent()); }

 private:
  MatchingMeter& meter_;
};

}  // namespace fairlock::command

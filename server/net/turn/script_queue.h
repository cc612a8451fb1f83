// The connections whose next request runs a script and must wait for its turn.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace fairlock::net {

// The base class of a connection, for ScriptQueue. All times are those that scripts have used, not
// times of the clock.
class ScriptSender {
 protected:
  ~ScriptSender() = default;

 private:
  friend class ScriptQueue;

  std::uint64_t start_ = 0;  // of its next script, among those of its account
};

// Start-time fair queueing on two levels: among accounts, which are the users at each address, and
// among the connections of an account. Each script is charged with the processor time that it took.
// So a flood of connections of one user at one address delays the others by one script at a time,
// and those who have run few scripts come before those who have run many. Time that was used while
// nobody else waited does not count.
//
// At most kAccountsMax accounts are remembered while none of their connections waits.
// Loop-confined.
class ScriptQueue {
 public:
  static constexpr std::size_t kAccountsMax = 10'000;
  // Scripts that take less time are not charged: looking up an account would cost as much.
  static constexpr std::uint64_t kChargedNsMin = 100'000;

  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }
  // The number of accounts that are remembered.
  std::size_t accounts() const { return accounts_.size(); }
  // REQUIRES: the sender is not in the queue.
  void Add(ScriptSender& sender, const std::string& account);
  // Removes and returns the one that is next. REQUIRES: not empty.
  ScriptSender* TakeNext();
  // The sender has run scripts for that long.
  void Charge(ScriptSender& sender, const std::string& account, std::uint64_t ns);
  // What the account that was charged last has caused took that much more.
  void ChargeLast(std::uint64_t ns) {
    if (last_ != nullptr) last_->next += ns;
  }
  template <typename Predicate>
  void EraseIf(Predicate is_to_go) {
    std::erase_if(waiting_, [&](const Waiting& waiting) {
      if (!is_to_go(waiting.sender)) return false;
      --waiting.account->waiting;
      return true;
    });
  }

 private:
  struct Account {
    std::uint64_t now = 0;   // the start of its script that ran last, among its connections
    std::uint64_t next = 0;  // the start of its next script, among the accounts
    std::size_t waiting = 0;
  };
  struct Waiting {
    ScriptSender* sender;
    Account* account;
    std::uint64_t start;  // among the connections of the account
  };

  Account& AccountOf(const std::string& name);
  bool IsBefore(const Waiting& one, const Waiting& other) const;
  std::uint64_t StartOf(const Account& account) const { return std::max(account.next, now_); }
  void ForgetIdle();

  std::unordered_map<std::string, Account> accounts_;
  Account* last_ = nullptr;       // that was charged; null if it is forgotten
  std::vector<Waiting> waiting_;  // in the order of arrival
  std::uint64_t now_ = 0;         // the start of the script that ran last, among the accounts
};

}  // namespace fairlock::net

#include "server/net/turn/script_queue.h"

namespace fairlock::net {

void ScriptQueue::Add(ScriptSender& sender, const std::string& account) {
  Account& its = AccountOf(account);
  ++its.waiting;
  waiting_.push_back(
      {.sender = &sender, .account = &its, .start = std::max(its.now, sender.start_)});
}

bool ScriptQueue::IsBefore(const Waiting& one, const Waiting& other) const {
  if (one.account == other.account) return one.start < other.start;
  return StartOf(*one.account) < StartOf(*other.account);
}

ScriptSender* ScriptQueue::TakeNext() {
  const auto next = std::ranges::min_element(
      waiting_, [this](const Waiting& one, const Waiting& other) { return IsBefore(one, other); });
  ScriptSender* const sender = next->sender;
  --next->account->waiting;
  waiting_.erase(next);
  return sender;
}

void ScriptQueue::Charge(ScriptSender& sender, const std::string& account, std::uint64_t ns) {
  Account& its = AccountOf(account);
  now_ = StartOf(its);
  its.next = now_ + ns;
  its.now = std::max(its.now, sender.start_);
  sender.start_ = its.now + ns;
  last_ = &its;
}

ScriptQueue::Account& ScriptQueue::AccountOf(const std::string& name) {
  const auto found = accounts_.find(name);
  if (found != accounts_.end()) return found->second;
  if (accounts_.size() >= kAccountsMax) ForgetIdle();
  return accounts_[name];
}

// Forgets first those of which nothing is lost.
void ScriptQueue::ForgetIdle() {
  last_ = nullptr;
  std::erase_if(accounts_, [this](const auto& entry) {
    return entry.second.waiting == 0 && entry.second.next <= now_;
  });
  if (accounts_.size() < kAccountsMax) return;
  std::erase_if(accounts_, [](const auto& entry) { return entry.second.waiting == 0; });
}

}  // namespace fairlock::net

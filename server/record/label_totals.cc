#include "server/record/label_totals.h"

#include "server/record/label_counts.h"

namespace fairlock::record {

namespace {

constexpr std::size_t kTotalsBeside = 2;  // the total without a label, and kOther
constexpr engine::DurationMs kIdleSearchEveryMs = 60'000;

}  // namespace

LabelTotals::LabelTotals() {
  Add("");
  Add(kOther);
}

void LabelTotals::Take(const engine::Event& event) {
  LabelTotal& total = event.label.empty() ? *totals_.front() : Find(event.label, event.at);
  total.last_at = event.at;
  CountEvent(event, total);
}

void LabelTotals::TakeWithoutAge(const engine::Event& event) {
  LabelTotal& total = event.label.empty() ? *totals_.front() : Find(event.label, event.at);
  total.last_at = event.at;
  CountEventWithoutAge(event, total);
}

std::size_t LabelTotals::IndexOf(std::string_view label) const {
  const auto found = by_label_.find(label);
  return found == by_label_.end() ? 1 : found->second->index;
}

LabelTotal& LabelTotals::Find(std::string_view label, engine::TimeMs at) {
  if (const auto found = by_label_.find(label); found != by_label_.end()) return *found->second;
  const bool has_room = bytes_ + kBytesBeside + label.size() <= kBytesMax || MakeRoom(label, at);
  return has_room ? Add(label) : *totals_[1];
}

LabelTotal& LabelTotals::Add(std::string_view label) {
  auto total = std::make_unique<LabelTotal>();
  total->label = label;
  total->index = totals_.size();
  totals_.push_back(std::move(total));
  LabelTotal& added = *totals_.back();
  by_label_.emplace(added.label, &added);
  bytes_ += kBytesBeside + label.size();
  return added;
}

bool LabelTotals::MakeRoom(std::string_view label, engine::TimeMs at) {
  if (at < idle_searched_at_ + kIdleSearchEveryMs) return false;
  idle_searched_at_ = at;
  for (std::size_t i = kTotalsBeside; i < totals_.size(); ++i) {
    LabelTotal& idle = *totals_[i];
    const std::size_t bytes_with = bytes_ - idle.label.size() + label.size();
    if (idle.last_at + kIdleMs > at || bytes_with > kBytesMax) continue;
    by_label_.erase(idle.label);
    bytes_ -= kBytesBeside + idle.label.size();
    totals_[i] = std::move(totals_.back());
    totals_.pop_back();
    if (i < totals_.size()) totals_[i]->index = i;
    return true;
  }
  return false;
}

}  // namespace fairlock::record

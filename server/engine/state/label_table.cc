#include "server/engine/state/label_table.h"

#include <cassert>

namespace fairlock::engine {

LabelTable::LabelTable() {
  entries_.resize(2);
  entries_[kNoLabel].text = std::make_unique<std::string>();
  entries_[kOther].text = std::make_unique<std::string>("other");
}

LabelRef LabelTable::Use(std::string_view label) {
  if (label.empty()) return kNoLabel;
  if (const auto found = refs_.find(label); found != refs_.end()) {
    ++entries_[found->second].uses;
    return found->second;
  }
  LabelRef ref = kOther;
  if (!free_.empty()) {
    ref = free_.back();
    free_.pop_back();
  } else if (entries_.size() <= kLabelRefMax) {
    ref = static_cast<LabelRef>(entries_.size());
    entries_.emplace_back();
  } else {
    return kOther;
  }
  Entry& entry = entries_[ref];
  entry.text = std::make_unique<std::string>(label);
  entry.uses = 1;
  refs_.emplace(*entry.text, ref);
  return ref;
}

void LabelTable::AddUse(LabelRef ref) {
  if (ref > kOther) ++entries_[ref].uses;
}

void LabelTable::DropUseOfOwn(LabelRef ref) {
  Entry& entry = entries_[ref];
  assert(entry.uses > 0);
  if (--entry.uses > 0) return;
  refs_.erase(*entry.text);
  entry.text.reset();
  free_.push_back(ref);
}

}  // namespace fairlock::engine

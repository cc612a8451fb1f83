#include "server/script/script_cache.h"

#include <cassert>
#include <utility>

namespace fairlock::script {

Script* ScriptCache::Find(const Digest& digest) const {
  const auto found = by_digest_.find(digest);
  return found == by_digest_.end() ? nullptr : found->second.get();
}

Script& ScriptCache::Add(std::unique_ptr<Script> script) {
  Script& added = *script;
  [[maybe_unused]] const auto [place, is_new] = by_digest_.emplace(added.digest, std::move(script));
  assert(is_new);
  text_bytes_ += added.text_bytes;
  by_use_.push_back(added);
  return added;
}

void ScriptCache::Remove(Script& script) {
  text_bytes_ -= script.text_bytes;
  by_use_.erase(List::s_iterator_to(script));
  by_digest_.erase(Digest(script.digest));
}

void ScriptCache::Touch(Script& script) {
  by_use_.splice(by_use_.end(), by_use_, List::s_iterator_to(script));
}

}  // namespace fairlock::script

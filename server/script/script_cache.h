// The cached scripts, by digest.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <memory>
#include <unordered_map>

#include "server/script/digest.h"
#include "server/script/script.h"

namespace fairlock::script {

// Owns the scripts and tracks when they were used; removing them from Lua is the caller's task.
// 1. Each script is in the list once; the least recently used one is at the front.
// 2. text_bytes() is the sum of the lengths of the scripts' texts.
// Loop-confined.
class ScriptCache {
 public:
  // Null: not cached.
  Script* Find(const Digest& digest) const;

  // REQUIRES: not cached.
  Script& Add(std::unique_ptr<Script> script);
  void Remove(Script& script);

  // Marks the script as used now.
  void Touch(Script& script);
  // The least recently used script. Null: the cache is empty.
  Script* Oldest() { return by_use_.empty() ? nullptr : &by_use_.front(); }

  std::size_t count() const { return by_digest_.size(); }
  std::size_t text_bytes() const { return text_bytes_; }

 private:
  using List = boost::intrusive::list<Script, boost::intrusive::constant_time_size<false>>;

  std::unordered_map<Digest, std::unique_ptr<Script>, DigestHash> by_digest_;
  List by_use_;
  std::size_t text_bytes_ = 0;
};

}  // namespace fairlock::script

// The cached scripts, by digest.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <memory>
#include <unordered_map>

#include "server/script/digest.h"

namespace fairlock::script {

// A compiled script.
struct Script : boost::intrusive::list_base_hook<> {
  Digest digest;
  std::size_t text_bytes = 0;
  bool has_shebang = false;
  bool is_read_only = false;  // because its shebang says so
  int function = 0;           // reference to the compiled function in the registry of the Lua state
};

// Owns the scripts and tracks which were used last. The caller must remove them from Lua.
// 1. Each script is in the list once; the least recently used one is at the front.
// 2. text_bytes() is the sum of the lengths of the scripts' texts.
// Loop-confined.
class ScriptCache {
 public:
  // Returns null if the script is not cached.
  Script* Find(const Digest& digest) const;

  // REQUIRES: the script is not cached.
  Script& Add(std::unique_ptr<Script> script);
  void Remove(Script& script);

  // Marks the script as used now.
  void Touch(Script& script);
  // Returns the least recently used script, or null if the cache is empty.
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

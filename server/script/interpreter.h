// Runs the scripts that clients send with EVAL and similar commands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "protocol/reply_writer.h"
#include "server/script/digest.h"
#include "server/script/host.h"
#include "server/script/sandbox.h"
#include "server/script/script_cache.h"
#include "server/script/script_limits.h"

namespace fairlock::script {

// How a script is run.
struct RunOptions {
  Host& host;
  std::span<const std::string_view> keys;
  std::span<const std::string_view> arguments;
  protocol::RespVersion version;  // the RESP version of the reply
  bool is_read_only;              // commands that write are refused
  std::uint64_t used_ns = 0;      // how much of its time earlier scripts have used
};

struct LoadResult {
  Script* script = nullptr;  // null if the script is refused
  std::string error = {};
};

// Runs PUC Lua 5.1 under ScriptLimits: every script ends, stays within its memory limit, can reach
// nothing but its host, and leaves nothing behind for the next script. If a script is stopped, the
// effects of its commands remain.
//
// Loading a new script may drop others from the cache; pointers to scripts are valid until then.
//
// Loop-confined. Not reentrant: the host must not run scripts.
class Interpreter {
 public:
  explicit Interpreter(const ScriptLimits& limits = {});
  ~Interpreter();

  // Finds the script with that text, or compiles it.
  LoadResult Load(std::string_view text, Host& host);
  // Returns null if the script is not cached. Finding a script does not count as using it.
  Script* Find(const Digest& digest) const { return cache_.Find(digest); }
  // Forgets all scripts, and creates a new Lua state.
  void Flush();

  // Whether earlier scripts have left a lot of garbage. Collecting it may take half as long as they
  // ran.
  bool has_garbage() const { return sandbox_->garbage().is_much(); }
  // Collects the garbage, or only a part of it if the host's clock reaches `until_ns` first.
  void CollectGarbage(std::uint64_t until_ns, Host& host);

  // Appends exactly one reply. Returns true if it is an error; the host has then counted it. If
  // there is a lot of garbage, it is collected first, in the time of this script.
  bool Run(Script& script, const RunOptions& options, std::string& out);

  const ScriptLimits& limits() const { return sandbox_->limits(); }
  void set_limits(const ScriptLimits& limits);
  std::size_t script_count() const { return cache_.count(); }
  std::size_t text_bytes() const { return cache_.text_bytes(); }
  // The memory that Lua uses, including that of the compiled scripts.
  std::size_t memory_bytes() const { return sandbox_->memory().used_bytes(); }
  // The number of steps that the last run took.
  std::uint64_t steps() const { return sandbox_->budget().steps(); }

 private:
  std::string Compile(std::string_view code, Host& host, int& function);
  // Drops the least recently used scripts until the cache has room for this many more.
  void MakeRoom(std::size_t scripts, std::size_t text_bytes);
  void Forget(Script& script);

  std::unique_ptr<Sandbox> sandbox_;
  ScriptCache cache_;
};

}  // namespace fairlock::script

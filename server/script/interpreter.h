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
#include "server/script/script.h"
#include "server/script/script_cache.h"
#include "server/script/script_limits.h"

namespace fairlock::script {

// How a script is run.
struct RunOptions {
  Host& host;
  std::span<const std::string_view> keys;
  std::span<const std::string_view> arguments;
  protocol::RespVersion version;  // of the reply
  bool is_read_only;              // commands that write are refused
};

struct LoadResult {
  Script* script = nullptr;  // null: it is refused
  std::string error = {};
};

// PUC Lua 5.1 behind ScriptLimits: whatever a script does, it ends, it holds no more memory than it
// may, it reaches nothing but its host, and it leaves nothing behind for the next one. What its
// commands did before it was stopped stays done.
//
// A script that is loaded for the first time can make it forget others; pointers to scripts are
// valid until then. Loop-confined. Not reentrant: the host runs no script.
class Interpreter {
 public:
  explicit Interpreter(const ScriptLimits& limits = {});
  ~Interpreter();

  // Finds the script of that text, or compiles it.
  LoadResult Load(std::string_view text);
  // Null: not known. Being asked for is not being used.
  Script* Find(const Digest& digest) const { return cache_.Find(digest); }
  // Forgets all scripts, and begins with a new Lua state.
  void Flush();

  // Appends exactly one reply. Returns whether it is an error; the host has then counted it.
  bool Run(Script& script, const RunOptions& options, std::string& out);

  void set_limits(const ScriptLimits& limits);
  std::size_t script_count() const { return cache_.count(); }
  std::size_t text_bytes() const { return cache_.text_bytes(); }
  // Of Lua, the compiled scripts included.
  std::size_t memory_bytes() const { return sandbox_->memory().used_bytes(); }
  // Of the last run.
  std::uint64_t steps() const { return sandbox_->budget().steps(); }

 private:
  std::string Compile(std::string_view code, int& function);
  // For that many more.
  void MakeRoom(std::size_t scripts, std::size_t text_bytes);
  void Forget(Script& script);

  std::unique_ptr<Sandbox> sandbox_;
  ScriptCache cache_;
};

}  // namespace fairlock::script

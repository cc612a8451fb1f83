#include "server/script/interpreter.h"

#include <cassert>
#include <lua.hpp>
#include <utility>

#include "server/script/lua_to_reply.h"
#include "server/script/script_run.h"
#include "server/script/shebang.h"

namespace fairlock::script {

namespace {

// The name of every chunk, which Lua shows in error messages.
constexpr const char* kChunkName = "@user_script";

struct Compilation {
  std::string_view code;
  Host& host;
  std::uint64_t until_ns = 0;  // measured in the processor time
  int function = 0;
};

// Gives the code to the parser in pieces, and looks at the clock before each. In chains of `and`,
// `or` or `elseif`, and for `break`s of one loop, the parser walks over all that came before: the
// time that it takes is quadratic.
const char* NextPiece(lua_State* lua, void* data, std::size_t* bytes) {
  constexpr std::size_t kPieceBytes = 256;
  auto& compilation = *static_cast<Compilation*>(data);
  if (compilation.host.ProcessorNs() >= compilation.until_ns) {
    luaL_error(lua, "it takes too long to compile; divide its long chains of conditions");
  }
  const std::string_view piece = compilation.code.substr(0, kPieceBytes);
  compilation.code.remove_prefix(piece.size());
  *bytes = piece.size();
  return piece.data();
}

// Runs in protected mode: stores the compiled function in the registry.
int CompileChunk(lua_State* lua) {
  auto& compilation = *static_cast<Compilation*>(lua_touserdata(lua, 1));
  // Keeps the name on the stack, and so alive, because the parser holds no reference to it.
  lua_pushstring(lua, kChunkName);
  if (lua_load(lua, NextPiece, &compilation, kChunkName) != 0) return lua_error(lua);
  compilation.function = luaL_ref(lua, LUA_REGISTRYINDEX);
  return 0;
}

constexpr std::uint64_t kNsPerMs = 1'000'000;

LoadResult Refused(std::string error) { return {nullptr, std::move(error)}; }

}  // namespace

Interpreter::Interpreter(const ScriptLimits& limits)
    : sandbox_(std::make_unique<Sandbox>(limits)) {}

Interpreter::~Interpreter() = default;

LoadResult Interpreter::Load(std::string_view text, Host& host) {
  const Digest digest = DigestOf(text);
  if (Script* known = cache_.Find(digest)) {
    cache_.Touch(*known);
    return {known};
  }
  const std::size_t bytes_max = sandbox_->limits().script_bytes_max;
  if (text.size() > bytes_max) {
    return Refused("the script has " + std::to_string(text.size()) + " bytes; the limit is " +
                   std::to_string(bytes_max));
  }
  const Shebang shebang = ReadShebang(text);
  if (!shebang.error.empty()) return Refused(shebang.error);
  int function = 0;
  // Keeps the line break after the shebang, so that line numbers in errors match those of the text.
  const std::string error = Compile(text.substr(shebang.bytes), host, function);
  if (!error.empty()) return Refused("Error compiling script (new function): " + error);
  MakeRoom(1, text.size());
  auto script = std::make_unique<Script>();
  script->digest = digest;
  script->text_bytes = text.size();
  script->has_shebang = shebang.bytes > 0;
  script->is_read_only = shebang.is_read_only;
  script->function = function;
  return {&cache_.Add(std::move(script))};
}

// Returns the error in the code; empty if there is none.
std::string Interpreter::Compile(std::string_view code, Host& host, int& function) {
  // Lua would load such code as bytecode, which it does not verify.
  if (code.starts_with(LUA_SIGNATURE[0])) return "user_script:1: compiled code is not accepted";
  lua_State* lua = sandbox_->lua();
  Compilation compilation{code, host,
                          host.ProcessorNs() + sandbox_->limits().compile_ms_max * kNsPerMs};
  std::string error;
  sandbox_->BoundMemory();
  const int status = lua_cpcall(lua, CompileChunk, &compilation);
  sandbox_->UnboundMemory();
  if (status != 0) {
    error = lua_tostring(lua, -1);
    lua_pop(lua, 1);
  }
  sandbox_->garbage().Note(sandbox_->limits().memory_bytes_max / 4);
  function = compilation.function;
  return error;
}

void Interpreter::MakeRoom(std::size_t scripts, std::size_t text_bytes) {
  const ScriptLimits& limits = sandbox_->limits();
  while (cache_.count() > 0 && (cache_.count() + scripts > limits.cached_scripts_max ||
                                cache_.text_bytes() + text_bytes > limits.cached_bytes_max)) {
    Forget(*cache_.Oldest());
  }
}

void Interpreter::Forget(Script& script) {
  luaL_unref(sandbox_->lua(), LUA_REGISTRYINDEX, script.function);
  cache_.Remove(script);
}

void Interpreter::Flush() {
  while (Script* script = cache_.Oldest()) cache_.Remove(*script);
  const ScriptLimits limits = sandbox_->limits();
  sandbox_ = std::make_unique<Sandbox>(limits);
}

void Interpreter::set_limits(const ScriptLimits& limits) {
  sandbox_->set_limits(limits);
  MakeRoom(0, 0);
}

void Interpreter::CollectGarbage(std::uint64_t until_ns, Host& host) {
  Garbage& garbage = sandbox_->garbage();
  while (garbage.is_much() && host.NowNs() < until_ns) garbage.CollectSome(sandbox_->lua());
}

bool Interpreter::Run(Script& script, const RunOptions& options, std::string& out) {
  cache_.Touch(script);
  RunState run;
  run.host = &options.host;
  run.is_read_only = options.is_read_only || script.is_read_only;
  run.used_ns = options.used_ns;
  if (has_garbage()) {
    const std::uint64_t begun_ns = options.host.NowNs();
    while (has_garbage()) sandbox_->garbage().CollectSome(sandbox_->lua());
    run.used_ns += options.host.NowNs() - begun_ns;
  }
  return RunScript(*sandbox_, script, run, options, out);
}

}  // namespace fairlock::script

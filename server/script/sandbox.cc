#include "server/script/sandbox.h"

#include <cassert>
#include <lua.hpp>

#include "server/script/library_table.h"
#include "server/script/raise.h"
#include "server/script/read_only.h"

namespace fairlock::script {

namespace {

void* Allocate(void* sandbox, void* block, std::size_t old_bytes, std::size_t new_bytes) {
  auto& owner = *static_cast<Sandbox*>(sandbox);
  if (new_bytes > old_bytes && owner.run().host != nullptr) {
    owner.budget().NoticeBlock(owner.lua(), new_bytes);
  }
  return owner.memory().Resize(block, old_bytes, new_bytes);
}

// The __index function of the globals, which Lua calls only for names that do not exist.
int RefuseUnknownGlobal(lua_State* lua) {
  const char* name = lua_type(lua, 2) == LUA_TSTRING ? lua_tostring(lua, 2) : "?";
  Raise(lua, "Script attempted to access nonexistent global variable '%s'", name);
}

// Pushes the real table of globals, which has no _G.
void PushGlobals(lua_State* lua) {
  struct Library {
    const char* name;
    void (*push)(lua_State*);
  };
  constexpr Library kLibraries[] = {
      {"string", PushStringLibrary},
      {"table", PushTableLibrary},
      {"math", PushMathLibrary},
      {"cjson", PushJsonLibrary},
      {"redis", PushRedisLibrary},
      {"server", PushRedisLibrary},  // the same in Valkey
      {"bit", PushBitLibrary},
      {"struct", PushStructLibrary},
      {"cmsgpack", PushMessagePackLibrary},
  };
  PushBaseLibrary(lua);
  for (const Library& library : kLibraries) {
    library.push(lua);
    ReplaceByReadOnly(lua);
    lua_setfield(lua, -2, library.name);
  }
  lua_createtable(lua, 0, 1);
  lua_pushcfunction(lua, RefuseUnknownGlobal);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);
}

}  // namespace

Sandbox::Sandbox(const ScriptLimits& limits)
    : limits_(limits),
      budget_(memory_),
      garbage_(memory_, budget_),
      lua_(lua_newstate(Allocate, this)) {
  assert(lua_ != nullptr);
  [[maybe_unused]] const int status = lua_cpcall(lua_, OpenLibraries, &globals_);
  assert(status == 0);
  garbage_.CollectAll(lua_);
}

Sandbox::~Sandbox() { lua_close(lua_); }

Sandbox& Sandbox::Of(lua_State* lua) {
  void* sandbox = nullptr;
  lua_getallocf(lua, &sandbox);
  return *static_cast<Sandbox*>(sandbox);
}

int Sandbox::OpenLibraries(lua_State* lua) {
  auto* globals = static_cast<int*>(lua_touserdata(lua, 1));
  PushGlobals(lua);
  lua_pushvalue(lua, -1);
  *globals = luaL_ref(lua, LUA_REGISTRYINDEX);
  lua_pushvalue(lua, -1);
  ReplaceByReadOnly(lua);
  lua_pushvalue(lua, -1);
  lua_setfield(lua, -3, "_G");
  // Functions that are compiled after this have the table as their environment.
  lua_replace(lua, LUA_GLOBALSINDEX);
  // Drops Lua's own registrations of the libraries.
  lua_pushnil(lua);
  lua_setfield(lua, LUA_REGISTRYINDEX, "_LOADED");
  return 0;
}

void Sandbox::BoundMemory() {
  memory_.set_limit_bytes(memory_.used_bytes() + limits_.memory_bytes_max);
}

void Sandbox::UnboundMemory() { memory_.set_limit_bytes(LuaMemory::kUnlimited); }

void Sandbox::BeginRun(const RunState& run) {
  run_ = run;
  BoundMemory();
  budget_.Begin(lua_, limits_, *run.host, run.used_ns);
}

void Sandbox::EndRun() {
  lua_sethook(lua_, nullptr, 0, 0);
  run_ = RunState{};
  UnboundMemory();
}

void Sandbox::SetGlobal(const char* name) {
  lua_rawgeti(lua_, LUA_REGISTRYINDEX, globals_);
  lua_insert(lua_, -2);
  lua_setfield(lua_, -2, name);
  lua_pop(lua_, 1);
}

}  // namespace fairlock::script

// Replies that handlers of several command families write, and checks that several of them make.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "server/command/table/invocation.h"
#include "server/engine/api/glob.h"
#include "server/engine/api/redis_requests.h"
#include "server/engine/api/requests.h"

namespace fairlock::command {

// Sends the error for a bound that has been reached: either a configured bound, or the bound on
// memory. REQUIRES: engine::IsRefusal(status).
void RefuseBound(Invocation& call, engine::LockStatus status);
// Like the above, but for a write. REQUIRES: engine::IsRefusal(status).
void RefuseBound(Invocation& call, engine::WriteStatus status);

// Returns nullopt after sending an error if the glob is too long. `name` is the command or the
// option to which the glob belongs.
std::optional<engine::Glob> ReadGlob(Invocation& call, std::string_view name,
                                     std::string_view glob);
// If the running transaction has used up its allowance for matching, sends an error and returns
// true.
bool RefusesToMatch(Invocation& call);

// Replies to CONTAINER HELP.
void AnswerHelp(Invocation& call);

// The name is stored with the connection, and shown with each lock that the connection holds.
inline constexpr std::size_t kClientNameBytesMax = 1024;

// What is wrong with such a name, to be said after "Client names "; empty: nothing. A client's
// entry in CLIENT LIST remains one line whose fields can be told apart. The empty name means no
// name.
inline std::string_view WrongInClientName(std::string_view name) {
  if (name.size() > kClientNameBytesMax) return "cannot have more than 1024 bytes.";
  const auto is_visible = [](char c) { return c >= '!' && c <= '~'; };
  if (std::all_of(name.begin(), name.end(), is_visible)) return "";
  return "cannot contain spaces, newlines or special characters.";
}

}  // namespace fairlock::command

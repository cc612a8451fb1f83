// Reads the options of LOCK, and of the commands that have some of them.
#pragma once

#include <optional>
#include <string_view>

#include "server/command/table/argument_reader.h"
#include "server/command/table/command_table.h"
#include "server/command/table/invocation.h"
#include "server/engine/api/requests.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

// Reads all remaining arguments, i.e. those that may follow LOCK key owner. `request` already
// contains the owner. Returns true if EXPLAIN is among them.
bool ReadLockOptions(const Invocation& call, ArgumentReader& arguments,
                     engine::LockRequest& request);

// Reads the arguments that may follow RENEW key owner.
void ReadRenewOptions(ArgumentReader& arguments, engine::RenewRequest& request);

// Reads the arguments that may follow TRANSFER key owner new-owner.
void ReadTransferOptions(ArgumentReader& arguments, engine::TransferRequest& request);

// Reads the arguments that may follow UNLOCK key owner.
std::optional<engine::Token> ReadTokenOption(ArgumentReader& arguments);

// Returns false after sending an error if the request cannot use NOTIFY. `key` is one of its keys.
bool CheckNotify(Invocation& call, std::string_view key, const engine::LockRequest& request);

}  // namespace fairlock::command

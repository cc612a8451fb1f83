#include "server/command/handlers/command_families.h"

namespace fairlock::command {

CommandTable WholeLanguage() {
  return CommandTable({LockCommands(),
                       MlockCommands(),
                       LookCommands(),
                       RecordCommands(),
                       LimitCommands(),
                       RedisWriteCommands(),
                       BitFieldCommands(),
                       RedisKeyCommands(),
                       RedisWalkCommands(),
                       HashCommands(),
                       ListCommands(),
                       ListWaitCommands(),
                       SetCommands(),
                       SortedSetCommands(),
                       SortedSetRangeCommands(),
                       SortedSetStoreCommands(),
                       ScriptCommands(),
                       SubscriptionCommands(),
                       TransactionCommands(),
                       ConnectionCommands(),
                       AclCommands(),
                       ClientCommands(),
                       ServerCommands(),
                       ClusterCommands(),
                       RedisClusterCommands(),
                       IntrospectionCommands()});
}

}  // namespace fairlock::command

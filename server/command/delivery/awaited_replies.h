// The replies that end waits.
#pragma once

#include <string>

#include "protocol/reply_writer.h"
#include "server/command/client/client.h"
#include "server/command/environment/unix_time.h"
#include "server/command/locks/locks.h"
#include "server/command/statistics/statistics.h"
#include "server/command/table/command_table.h"
#include "server/engine/api/effects.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

// Loop-confined.
class AwaitedReplies {
 public:
  AwaitedReplies(Locks& locks, const UnixTime& unix_time, const CommandTable& table,
                 Statistics& statistics)
      : locks_(locks), unix_time_(unix_time), table_(table), statistics_(statistics) {}

  // Answers the LOCK, MLOCK or WAIT of that client, whose wait the engine has ended.
  void Resolve(Client& client, const engine::Resolution& resolution, engine::TimeMs now);
  // The backup was made, unless there is an error. `path`: of a folder that the server has named.
  void AnswerBackup(Client& client, const std::string& error, const std::string& path);
  // The reply has ended a wait; if it is an error, it counts for the command that waited.
  void CountError(const Client& client, const protocol::ReplyWriter& reply);

 private:
  void AnswerLock(Client& client, const engine::Resolution& resolution,
                  protocol::ReplyWriter& reply, engine::TimeMs now);

  Locks& locks_;
  const UnixTime& unix_time_;
  const CommandTable& table_;
  Statistics& statistics_;
};

}  // namespace fairlock::command

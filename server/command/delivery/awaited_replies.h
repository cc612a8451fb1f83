// Writes the replies that end waits.
#pragma once

#include <string>

#include "protocol/reply_writer.h"
#include "server/command/client/client.h"
#include "server/command/environment/clock.h"
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

  // Answers the client's LOCK, MLOCK or WAIT, whose wait the engine has ended.
  void Resolve(Client& client, const engine::Resolution& resolution, engine::TimeMs now);
  // Answers the client's BACKUP. The backup is complete unless `error` is set. `path` is set if the
  // server chose the folder's name.
  void AnswerBackup(Client& client, const std::string& error, const std::string& path);
  // Called after a reply has ended a wait: if the reply is an error, counts it for the command that
  // waited.
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

// Finds out whether clients are who they say.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/reply_writer.h"
#include "server/access/digest.h"
#include "server/access/failed_log_ins.h"
#include "server/access/user.h"
#include "server/access/user_table.h"
#include "server/command/client/greeting.h"
#include "server/engine/types.h"

namespace fairlock::command {

class AccessControl;
class AwaitedReplies;
class Client;
class ClientRegistry;
class Sessions;
struct ClientProfile;
struct Environment;
struct Statistics;

struct LogInRequest {
  std::string_view user;
  std::string_view password;
  std::optional<Greeting> greeting = {};
};

// A password that was once found right for a slow hash is known again by a digest under a key of
// this process, in memory only, so that of all who log in with it only the first one waits. Who
// asks meanwhile for what is being compared waits for the same result. Loop-confined.
class LogIns {
 public:
  // Of the environment it uses the users and the log.
  LogIns(const Environment& environment, const AccessControl& access, Sessions& sessions,
         ClientRegistry& clients, AwaitedReplies& replies, Statistics& statistics);

  // Answers, or lets the client wait for the answer. `may_wait`: not inside a step.
  void Begin(const LogInRequest& request, Client& client, bool may_wait,
             protocol::ReplyWriter& reply, engine::TimeMs now);
  // The password of that comparison is that of the slow hash at that place; none: of none.
  void Finish(std::uint64_t comparison_id, std::optional<std::size_t> match, engine::TimeMs now);

  // Passwords that were known are forgotten, but for those of these users.
  void ForgetOthers(const access::UserTable& users);
  access::FailedLogIns& failures() { return failures_; }

 private:
  struct Comparison {
    std::string user;
    std::vector<std::string> stored;      // the slow hashes that the password is compared with
    std::vector<access::Digest> digests;  // of the password with each of them
    std::vector<std::uint64_t> clients;   // that wait for the result; the first one has begun it
  };

  bool IsKnown(const access::User& user, std::string_view password) const;
  void BeginSlowly(const LogInRequest& request, const access::User* user, Client& client,
                   bool may_wait, protocol::ReplyWriter& reply, engine::TimeMs now);
  // False: too many are under way.
  bool BeginComparison(Comparison comparison, std::string_view password,
                       const ClientProfile& client, engine::TimeMs now);
  void End(Client& client, const Comparison& comparison, std::optional<std::size_t> match,
           engine::TimeMs now);
  void Accept(Client& client, const access::User& user, const std::optional<Greeting>& greeting);
  void Refuse(const Client& client, std::string_view user, protocol::ReplyWriter& reply,
              engine::TimeMs now);

  const Environment& environment_;
  const AccessControl& access_;
  Sessions& sessions_;
  ClientRegistry& clients_;
  AwaitedReplies& replies_;
  Statistics& statistics_;
  const access::DigestKey key_;
  std::map<std::string, access::Digest, std::less<>> known_;  // by slow hash
  std::map<std::uint64_t, Comparison> under_way_;
  std::uint64_t last_comparison_id_ = 0;
  access::FailedLogIns failures_;
};

}  // namespace fairlock::command

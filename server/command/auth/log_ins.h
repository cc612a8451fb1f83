// Checks the passwords of clients that log in.
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
#include "server/command/auth/known_passwords.h"
#include "server/command/client/greeting.h"
#include "server/engine/api/types.h"

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

// A password that has matched a slow hash is recognised afterwards, so only the first client that
// logs in with it waits. Clients that ask for a comparison that is already running wait for its
// result. Loop-confined.
class LogIns {
 public:
  // Uses `users` and `log` of the environment.
  LogIns(const Environment& environment, const AccessControl& access, Sessions& sessions,
         ClientRegistry& clients, AwaitedReplies& replies, Statistics& statistics);

  // Replies, or makes the client wait for the reply. `may_wait` is false inside a step.
  void Begin(const LogInRequest& request, Client& client, bool may_wait,
             protocol::ReplyWriter& reply, engine::TimeMs now);
  // Called when a comparison has ended: the password matches the slow hash at index `match`, or
  // none of them if `match` is nullopt.
  void Finish(std::uint64_t comparison_id, std::optional<std::size_t> match, engine::TimeMs now);

  // Forgets all recognised passwords except those of these users.
  void ForgetOthers(const access::UserTable& users) { known_.ForgetOthers(users); }
  access::FailedLogIns& failures() { return failures_; }

 private:
  struct Comparison {
    std::string user;
    std::vector<std::string> stored;      // the slow hashes to compare the password with
    std::vector<access::Digest> digests;  // digests of the password, one for each slow hash
    // waiting for the result; the first one started the comparison
    std::vector<std::uint64_t> clients;
  };

  void BeginSlowly(const LogInRequest& request, const access::User* user, Client& client,
                   bool may_wait, protocol::ReplyWriter& reply, engine::TimeMs now);
  // Returns false if too many comparisons are running.
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
  KnownPasswords known_;
  std::map<std::uint64_t, Comparison> under_way_;
  std::uint64_t last_comparison_id_ = 0;
  access::FailedLogIns failures_;
};

}  // namespace fairlock::command

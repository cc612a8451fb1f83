// Logs clients in and out, and checks their passwords.
#pragma once

#include <cstdint>
#include <functional>
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
#include "server/command/auth/access_control.h"
#include "server/command/auth/newcomers.h"
#include "server/command/client/client.h"
#include "server/command/client/client_wait.h"
#include "server/engine/api/types.h"
#include "server/engine/lock_engine.h"

namespace fairlock::command {

class AwaitedReplies;
class ClientRegistry;
struct Environment;
struct Statistics;

// Logs clients in and out. Loop-confined.
class Sessions {
 public:
  Sessions(const AccessControl& access, Newcomers& newcomers, engine::LockEngine& engine)
      : access_(access), newcomers_(newcomers), engine_(engine) {}

  // The user must outlive the client's use of it.
  void LogIn(Client& client, const access::User& user);
  // Logs in a client that has proved its identity by other means, such as a certificate. Returns
  // false if there is no such user, or if the user is off.
  [[nodiscard]] bool LogInAs(Client& client, std::string_view name);
  // Gives the client the rights of a new connection.
  void LogOut(Client& client);
  // Deauthenticates the client. Its connection closes in this turn.
  static void Deauthenticate(Client& client);

 private:
  const AccessControl& access_;
  Newcomers& newcomers_;
  engine::LockEngine& engine_;
};

// Recognises passwords that have matched a slow hash before. Stores only digests made with a secret
// key of this process, and only in memory. Loop-confined.
class KnownPasswords {
 public:
  // Whether the password is known to be that of the user, without computing a slow hash.
  bool Match(const access::User& user, std::string_view password) const;

  // Returns the digest to pass to Remember once the password has matched that slow hash.
  access::Digest DigestOf(std::string_view slow_hash, std::string_view password) const;
  void Remember(const std::string& slow_hash, const access::Digest& digest);
  // Forgets all passwords except those of these users.
  void ForgetOthers(const access::UserTable& users);

 private:
  const access::DigestKey key_;
  std::map<std::string, access::Digest, std::less<>> digests_;  // by slow hash
};

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

// Applies HELLO, and replies in the protocol version that it selects.
void Greet(Client& client, ClientRegistry& clients, const Greeting& greeting,
           const Environment& environment);

}  // namespace fairlock::command

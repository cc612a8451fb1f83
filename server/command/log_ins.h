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
#include "server/command/greeting.h"
#include "server/engine/types.h"

namespace fairlock::command {

class Client;
class Dispatcher;
struct Invocation;

// A log-in whose password is being compared.
struct PendingLogIn {
  std::string user;
  std::optional<Greeting> greeting;  // by HELLO; none: by AUTH
};

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
  explicit LogIns(Dispatcher& dispatcher) : dispatcher_(dispatcher) {}

  // Answers, or lets the client wait for the answer.
  void Begin(const LogInRequest& request, Invocation& call);
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
  void BeginSlowly(const LogInRequest& request, const access::User* user, Invocation& call);
  // False: too many are under way.
  bool BeginComparison(Comparison comparison, std::string_view password, Invocation& call);
  void End(Client& client, const Comparison& comparison, std::optional<std::size_t> match,
           engine::TimeMs now);
  void Accept(Client& client, const access::User& user, const std::optional<Greeting>& greeting);
  void Refuse(const Client& client, std::string_view user, protocol::ReplyWriter& reply,
              engine::TimeMs now);

  Dispatcher& dispatcher_;
  const access::DigestKey key_;
  std::map<std::string, access::Digest, std::less<>> known_;  // by slow hash
  std::map<std::uint64_t, Comparison> under_way_;
  std::uint64_t last_comparison_id_ = 0;
  access::FailedLogIns failures_;
};

}  // namespace fairlock::command

// Checks requests against the permissions of their users.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/reply_writer.h"
#include "server/access/user.h"
#include "server/access/user_table.h"
#include "server/access/vocabulary.h"
#include "server/command/auth/access_rows.h"
#include "server/command/pubsub/channels.h"
#include "server/command/table/invocation.h"

namespace fairlock::command {

class Client;
class CommandTable;
struct CommandSpec;
struct ServerCounters;

// Returns the commands of the table by their row numbers, followed by SET NX.
access::Vocabulary VocabularyOf(const CommandTable& table);

// Until Replace is called, there is one user, `default`, which may do everything and needs no
// password. Loop-confined.
class AccessControl {
 public:
  AccessControl(const CommandTable& table, ServerCounters& counters);

  const access::Vocabulary& vocabulary() const { return vocabulary_; }
  const access::UserTable& users() const { return *users_; }
  // Changes with each Replace.
  std::uint64_t generation() const { return generation_; }

  // Returns the previous users: connected clients refer to them until AccessReview has applied the
  // change.
  [[nodiscard]] std::shared_ptr<const access::UserTable> Replace(
      std::shared_ptr<const access::UserTable> users);

  // Returns the user of a new connection; null if the client must log in.
  const access::User* NewcomersUser() const;
  // The user of connections that the server itself opens. It may do everything and is not in the
  // table.
  const access::User& own_user() const { return own_user_; }

  // Returns why the user may not make this request, whose command is at `row`; empty if it may.
  // Does not check whether the request is otherwise valid.
  std::string Judge(const access::User& user, std::size_t row,
                    std::span<const std::string_view> request) const;
  // Checks the request of a client whose rights are limited. If it returns false, the error has
  // been sent.
  bool Admit(const Client& client, const RequestAhead& request, protocol::ReplyWriter& reply) const;
  // Like Admit, but for a request whose row is known and whose client has logged in.
  bool AdmitRow(const Client& client, std::size_t row, const protocol::Arguments& arguments,
                protocol::ReplyWriter& reply) const;
  // Whether the user may subscribe to the channel or pattern `name`.
  static bool MayHear(const access::User& user, ChannelKind kind, std::string_view name);

 private:
  std::string JudgeKeys(const access::User& user, const CommandSpec& spec, const AccessRow& row,
                        std::span<const std::string_view> request) const;

  const CommandTable& table_;
  ServerCounters& counters_;
  std::vector<AccessRow> rows_;  // indexed by the row of the command table
  std::size_t set_row_;
  std::size_t wait_row_;
  access::Vocabulary vocabulary_;
  std::shared_ptr<const access::UserTable> users_;
  std::uint64_t generation_ = 0;
  const access::User own_user_;
};

}  // namespace fairlock::command

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
#include "server/command/table/request_window.h"

namespace fairlock::command {

class Client;
class CommandTable;
struct CommandSpec;
struct ServerCounters;

// The commands of the table by their numbers there, and SET NX behind them.
access::Vocabulary VocabularyOf(const CommandTable& table);

// Before Replace there is one user, `default`, which may do everything and needs no password.
// Loop-confined.
class AccessControl {
 public:
  AccessControl(const CommandTable& table, ServerCounters& counters);

  const access::Vocabulary& vocabulary() const { return vocabulary_; }
  const access::UserTable& users() const { return *users_; }
  // A number that differs after each Replace.
  std::uint64_t generation() const { return generation_; }

  // AccessReview applies the change to the clients that are connected. They refer to the users of
  // before until then, so these are returned.
  [[nodiscard]] std::shared_ptr<const access::UserTable> Replace(
      std::shared_ptr<const access::UserTable> users);

  // The user of a new connection; null: it has to log in.
  const access::User* NewcomersUser() const;
  // The user of connections that the server itself makes. It may do everything, and is not in the
  // table.
  const access::User& own_user() const { return own_user_; }

  // Why that user may not make that request, of the command at that row; empty: it may. Does not
  // check whether the request is valid otherwise.
  std::string Judge(const access::User& user, std::size_t row,
                    std::span<const std::string_view> request) const;
  // Checks the request of a limited client. False: the error is answered.
  bool Admit(const Client& client, const RequestAhead& request, protocol::ReplyWriter& reply) const;
  // The same for a request whose row is found, and whose client has logged in.
  bool AdmitRow(const Client& client, std::size_t row, const protocol::Arguments& arguments,
                protocol::ReplyWriter& reply) const;
  // Whether that user may subscribe to the channel of that name, or to the pattern.
  static bool MayHear(const access::User& user, ChannelKind kind, std::string_view name);

 private:
  std::string JudgeKeys(const access::User& user, const CommandSpec& spec, const AccessRow& row,
                        std::span<const std::string_view> request) const;

  const CommandTable& table_;
  ServerCounters& counters_;
  std::vector<AccessRow> rows_;  // by row of the command table
  std::size_t set_row_;
  std::size_t wait_row_;
  access::Vocabulary vocabulary_;
  std::shared_ptr<const access::UserTable> users_;
  std::uint64_t generation_ = 0;
  const access::User own_user_;
};

}  // namespace fairlock::command

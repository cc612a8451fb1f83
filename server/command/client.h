// The brain of one RESP connection: bytes in, replies out, in order.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/reply_writer.h"
#include "protocol/request_parser.h"
#include "server/access/user.h"
#include "server/command/channels.h"
#include "server/command/command_table.h"
#include "server/command/request_window.h"
#include "server/command/transport.h"
#include "server/engine/attachment.h"
#include "server/engine/effects.h"
#include "server/engine/types.h"

namespace fairlock::command {

class Dispatcher;
class Transaction;
struct ExplainedRequest;
struct PendingLogIn;

// What a connection waits for; each ends with exactly one reply.
enum class WaitKind : std::uint8_t { kNothing, kLock, kKeyFree, kBackup, kLogIn };

struct ClientAddress {
  std::string peer;  // "127.0.0.1:50312", or of a unix socket, as Redis shows it, "/path:0"
  std::string local;
  int descriptor = -1;  // for display only
};

// What CLIENT shows and sets.
struct ClientProfile {
  std::uint64_t id = 0;
  ClientAddress address;
  std::string name;
  std::string library_name;
  std::string library_version;
  std::string user = "default";
  engine::TimeMs connected_at = 0;
  engine::TimeMs active_at = 0;  // when its last request was executed
  const CommandSpec* last_command = nullptr;
  std::uint64_t commands_processed = 0;
};

// Links the clients that have grants whose replies are not sent.
using UnsentGrantsHook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct UnsentGrantsTag>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

// Knows no socket. The transport gives it bytes and takes its output.
//
// While a request waits, nothing behind it is executed (is_waiting). After QUIT or a protocol error
// the connection is to be closed once the output is sent (is_closing). Loop-confined.
class Client final : public engine::Attachment, public UnsentGrantsHook {
 public:
  Client(Dispatcher& dispatcher, Transport& transport, ClientAddress address, engine::TimeMs now);
  ~Client();  // REQUIRES: detached

  // Executes whole requests from the front of `input`, at most `requests_max` of them, and returns
  // how many bytes are done with. What is not consumed must be given again, with more behind it.
  // Stops early when a request waits, the connection is to close, or the output becomes long.
  std::size_t Consume(std::string_view input, std::size_t requests_max, engine::TimeMs now);

  // True if the last Consume stopped at `requests_max`, a wait or long output and requests may be
  // left.
  bool has_more_to_execute() const { return has_more_; }

  // Bytes to send, in order. The transport may swap, clear or erase from the front.
  std::string& output() { return output_; }
  const std::string& output() const { return output_; }

  // The transport took so many bytes out of output(), and handed so many to the kernel: a grant is
  // confirmed when its reply was handed over whole.
  void NoticeTaken(std::size_t bytes) { taken_bytes_ += bytes; }
  void NoticeSent(std::size_t bytes);
  // Of all output ever: written, and handed to the kernel.
  std::uint64_t written_bytes() const { return taken_bytes_ + output_.size(); }
  std::uint64_t sent_bytes() const { return sent_bytes_; }
  // True: what was written since the last call may tell of locks.
  bool TakeNews() { return (std::exchange(news_, 0) & (kWrite | kReadOnly)) != 0; }

  bool is_waiting() const { return wait_kind_ != WaitKind::kNothing; }
  bool is_closing() const { return is_closing_; }

  // The connection is gone: leaves all lines and the registry. Idempotent.
  void Detach(engine::TimeMs now);

  // For the dispatcher and the commands.

  // The request that waited is answered.
  void Resolve(const engine::Resolution& resolution, engine::TimeMs now);
  // The backup is made, unless there is an error. `path`: of a folder that the server has named.
  void AnswerBackup(const std::string& error, const std::string& path);
  // The request being executed waits; ExplainLater remembers it for the map of EXPLAIN.
  void WaitFor(WaitKind kind);
  void ExplainLater(const ExplainedRequest& request);
  // If the wait ends by its time-out, the reply is an error that names CLIENT UNBLOCK.
  void FailAtTimeOut() { fails_at_time_out_ = true; }
  // The wait is about to be ended because the user may no longer wait; this is why.
  void DenyWait(std::string denial);

  // Who the client is from now on. The user outlives it, or is replaced before it goes.
  void LogIn(const access::User& user);
  // It can no longer log in as a user without a password: that would prove nothing.
  void set_must_prove_itself() { must_prove_itself_ = true; }
  bool must_prove_itself() const { return must_prove_itself_; }
  // As when it was new.
  void LogOut();
  // Deauthenticates the client; its connection closes in this turn.
  void Expel();
  // Null: it has to log in.
  const access::User* user() const { return user_; }
  // Its requests are to be judged.
  bool is_limited() const { return is_limited_; }
  bool MayRead(std::string_view key) const {
    std::uint64_t compared = 0;
    return MayRead(key, compared);
  }
  // The same; adds how many bytes were compared.
  bool MayRead(std::string_view key, std::uint64_t& compared) const {
    return !is_limited_ ||
           (user_ != nullptr && user_->MayUse(key, access::KeyUse::kRead, compared));
  }
  // Its password is compared off the loop.
  void WaitForLogIn(PendingLogIn log_in);
  std::unique_ptr<PendingLogIn> EndLogIn();  // null: it does not wait for that, or is gone
  // The reply that ends the output now holds the token of a grant; it is undone if the connection
  // closes before that reply is sent. Not so what a step did.
  void NoteGrant(std::uint64_t key_hash, engine::Token token);
  // The same of a grant that was waited for.
  void NoteAwaitedGrant(std::uint64_t key_hash, engine::Token token);
  // The same of a message that ends the output, or, if it was not written, never comes. Shared:
  // others get it too, and it is undone only if none of them does.
  void NoteDelivery(const DeliveredGrant& grant, bool is_written, bool is_shared);
  // True: a grant with that token was on its way to this client, and is forgotten here.
  bool ForgetGrant(engine::Token token);
  bool HasUnsentGrant(engine::Token token) const;
  // One that was waited for, or that a message tells of.
  bool HasUnsentAwaitedGrant() const;
  void CloseAfterOutput() { is_closing_ = true; }
  // Sends the error and closes the connection after it.
  void EndWith(protocol::ErrorCode code, std::string_view text);
  // The output is that of a command with these flags.
  void NoteNews(std::uint32_t command_flags) { news_ |= command_flags; }
  // Something that the client did not wait for, but asked for: a message in its version of the
  // protocol, or a line about a request. Whoever does not take them is closed at the output limit.
  // False: it was not written, for the connection is about to close.
  bool Push(std::string_view bytes);
  // As RESET: RESP2, database 0, no name, no subscriptions, no monitor, no transaction, logged out.
  void Reset(engine::TimeMs now);
  void SetName(std::string_view name);

  void CountAwaitedError(const protocol::ReplyWriter& reply);

  Transaction* transaction() const { return transaction_.get(); }  // null: no MULTI, no WATCH
  Transaction& NeedTransaction();
  void EndWatches();
  void DropTransaction();

  // For the channels.
  Subscriptions& NeedSubscriptions();
  void DropEmptySubscriptions();
  std::unique_ptr<Subscriptions> TakeSubscriptions();

  std::uint8_t database() const { return database_; }
  void set_database(std::uint8_t database) { database_ = database; }
  protocol::RespVersion version() const { return version_; }
  void set_version(protocol::RespVersion version) { version_ = version; }
  protocol::ReplyWriter writer() { return {output_, version_}; }
  WaitKind wait_kind() const { return wait_kind_; }
  Transport& transport() const { return transport_; }
  // Null: it is subscribed to nothing.
  const Subscriptions* subscriptions() const { return subscriptions_.get(); }
  // In RESP2 a message looks like a reply: who is subscribed to something may ask for little else.
  bool is_confined() const {
    return subscriptions_ != nullptr && version_ == protocol::RespVersion::kResp2;
  }
  // For the monitors.
  bool is_monitor() const { return is_monitor_; }
  void set_monitor(bool is_monitor) { is_monitor_ = is_monitor; }
  ClientProfile& profile() { return profile_; }
  const ClientProfile& profile() const { return profile_; }

 private:
  struct RequestToExplain {
    std::uint8_t db;
    std::string key;
    std::string owner;
    bool names_key;
  };

  void ReadAhead(std::string_view input, std::size_t requests_max, RequestWindow& window);
  // Returns how many were executed: all, unless one waits or closes the connection.
  std::size_t ExecuteAhead(const RequestWindow& window, std::uint64_t matched_max,
                           engine::TimeMs now);
  bool HasDoneMuch(std::uint64_t matched_max) const;
  void RefuseInput(const protocol::WireError& error);
  // A grant whose reply ends at that byte of all that was ever written.
  struct UnsentGrant {
    std::uint64_t reply_end;
    std::uint64_t key_hash;
    engine::Token token;
    bool is_awaited = false;
    bool is_shared = false;
  };

  void EndWait();
  void AddUnsent(const UnsentGrant& grant);
  void ConfirmShared();
  void ForgetAllGrants();
  void UndoUnsentGrants(engine::TimeMs now);
  void AnswerWaitingLock(const engine::Resolution& resolution, protocol::ReplyWriter& reply,
                         engine::TimeMs now);

  Dispatcher& dispatcher_;
  Transport& transport_;
  std::string output_;
  protocol::RequestParser parser_;
  protocol::RespVersion version_ = protocol::RespVersion::kResp2;
  std::uint8_t database_ = 0;
  WaitKind wait_kind_ = WaitKind::kNothing;
  bool is_closing_ = false;
  bool has_more_ = false;
  bool is_detached_ = false;
  bool fails_at_time_out_ = false;
  bool is_monitor_ = false;
  bool is_limited_ = false;
  bool must_prove_itself_ = false;
  std::uint32_t news_ = 0;  // flags of the commands whose output was not looked at yet
  const access::User* user_ = nullptr;
  std::uint64_t taken_bytes_ = 0;
  std::uint64_t sent_bytes_ = 0;
  std::vector<UnsentGrant> grants_;
  std::unique_ptr<RequestToExplain> explained_;  // only while one with EXPLAIN waits
  std::unique_ptr<Subscriptions> subscriptions_;
  std::unique_ptr<Transaction> transaction_;
  std::unique_ptr<PendingLogIn> log_in_;  // only while it waits for that
  std::unique_ptr<std::string> denial_;   // of the wait that is about to be ended
  ClientProfile profile_;
};

}  // namespace fairlock::command

// One client as commands see it, and what it needs from the transport that carries its bytes.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/reply_writer.h"
#include "protocol/wire_error.h"
#include "server/access/user.h"
#include "server/command/client/client_wait.h"
#include "server/command/client/unsent_grants.h"
#include "server/command/statistics/statistics.h"
#include "server/command/table/command_table.h"
#include "server/engine/api/attachment.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

class Transaction;
struct Channel;

// Input that was received and is not yet fully processed.
struct InputUse {
  std::size_t bytes = 0;  // bytes of requests that wait, are incomplete, or are being executed
  std::size_t memory_bytes = 0;  // memory that the connection has allocated for these bytes
};

// Implemented by the socket code, faked in tests. Loop-confined; no call destroys the caller.
class Transport {
 public:
  // Called when there is output to send, or when a waiting request was answered, so that buffered
  // input can be processed. May be called more than once, and at any time in a turn, even while
  // another connection's request is executed.
  virtual void NoticeOutput() = 0;

  // Asks to add `bytes` unsolicited bytes to the output. If it returns false, they would exceed the
  // output limit: the caller must not add them, and the connection closes in this turn.
  virtual bool AdmitOutput(std::size_t bytes) = 0;

  // Closes the connection in this turn without sending its remaining output.
  virtual void CloseNow() = 0;

  virtual InputUse UnexecutedInput() const { return {}; }

 protected:
  ~Transport() = default;
};

// Which user a client has logged in as, and what the client may do. Loop-confined.
class ClientRights {
 public:
  // Null: the client must log in.
  const access::User* user() const { return user_; }
  // Whether each request of this client is checked for permission.
  bool is_limited() const { return is_limited_; }
  // Whether the client is barred from logging in as a user that has no password, because that would
  // prove nothing.
  bool must_prove_itself() const { return must_prove_itself_; }

  // The user must outlive the client's use of it.
  void LogIn(const access::User& user) {
    user_ = &user;
    is_limited_ = !user.IsUnlimited();
  }
  void LogOut() {
    user_ = nullptr;
    is_limited_ = true;
  }
  void set_must_prove_itself() { must_prove_itself_ = true; }

  bool MayRead(std::string_view key) const {
    std::uint64_t compared = 0;
    return MayRead(key, compared);
  }
  // Like MayRead above, but also adds the number of compared bytes to `compared`.
  bool MayRead(std::string_view key, std::uint64_t& compared) const {
    return !is_limited_ ||
           (user_ != nullptr && user_->MayUse(key, access::KeyUse::kRead, compared));
  }

 private:
  const access::User* user_ = nullptr;
  bool is_limited_ = false;
  bool must_prove_itself_ = false;
};

// What is known about a client: the properties that CLIENT shows and sets.
struct ClientAddress {
  std::string peer;  // "127.0.0.1:50312"; for a unix socket "/path:0", as in Redis
  std::string local;
  int descriptor = -1;  // for display only
  bool is_tls = false;
};

struct ClientProfile {
  protocol::RespVersion version = protocol::RespVersion::kResp2;
  std::uint8_t database = 0;
  bool is_monitor = false;
  bool is_at_sentinel_port = false;
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

// The replies of a client, and how far they have been sent. Loop-confined.
class ClientOutput {
 public:
  // The bytes to send, in order. After the transport has swapped or cleared them, or erased bytes
  // from the front, it must call CountTaken.
  std::string& bytes() { return bytes_; }
  const std::string& bytes() const { return bytes_; }

  // CountTaken: the transport has taken `bytes` bytes out of bytes(). CountSent: it has handed them
  // to the kernel.
  void CountTaken(std::size_t bytes) { taken_ += bytes; }
  void CountSent(std::size_t bytes) { sent_ += bytes; }
  // The number of bytes since the connection began: written in total, and handed to the kernel.
  std::uint64_t written() const { return taken_ + bytes_.size(); }
  std::uint64_t sent() const { return sent_; }

  // Says that the bytes written next are the reply to a command with these flags.
  void NoteFlags(std::uint32_t command_flags) { flags_ |= command_flags; }
  // Returns whether output written since the last call may reveal the state of locks.
  bool TakeStateDependency() { return (std::exchange(flags_, 0) & (kWrite | kReadOnly)) != 0; }

  // Makes the connection close once the output is sent.
  void CloseAfter() { is_closing_ = true; }
  bool is_closing() const { return is_closing_; }

 private:
  std::string bytes_;
  std::uint64_t taken_ = 0;
  std::uint64_t sent_ = 0;
  std::uint32_t flags_ = 0;  // of the commands whose output TakeStateDependency has not covered yet
  bool is_closing_ = false;
};

// Shard channels are a separate name space: their messages reach no ordinary channel or pattern.
enum class ChannelKind : std::uint8_t { kExact, kPattern, kShard };
inline constexpr std::size_t kChannelKinds = 3;

// What one client is subscribed to, by kind. A client without subscriptions has no such object.
struct Subscriptions {
  std::array<boost::unordered_flat_set<Channel*>, kChannelKinds> by_kind;
  std::size_t pattern_bytes = 0;   // total for all its patterns
  std::uint64_t pattern_cost = 0;  // the maximum that they cost per message, in total

  const boost::unordered_flat_set<Channel*>& of(ChannelKind kind) const {
    return by_kind[static_cast<std::size_t>(kind)];
  }
  std::size_t size() const {
    std::size_t names = 0;
    for (const auto& channels : by_kind) names += channels.size();
    return names;
  }
};

// Independent of sockets: a transport sends the output. Loop-confined.
class Client final : public engine::Attachment {
 public:
  Client(Transport& the_transport, GrantsInFlight& in_flight, ClientAddress address,
         engine::TimeMs now);
  ~Client();  // REQUIRES: Detach was called

  protocol::ReplyWriter writer() { return {output.bytes(), profile.version}; }
  // Appends bytes that answer no request: a message in the client's protocol version, or a line
  // about another client's request. A client that does not read such bytes is closed when it
  // reaches its output limit. Returns false if they were not appended because the connection is
  // about to close.
  bool Push(std::string_view bytes);
  // Sends the error, then closes the connection.
  void EndWith(protocol::ErrorCode code, std::string_view text, CommandStatistics& statistics);
  // Called when the transport has passed `bytes` more bytes of the output to the kernel.
  void NoticeSent(std::size_t bytes) {
    output.CountSent(bytes);
    grants.Confirm(output.sent());
  }
  // Whether the client may use only a few commands, because it is a subscriber and in RESP2 a
  // message looks like a reply.
  bool is_confined() const {
    return subscriptions != nullptr && profile.version == protocol::RespVersion::kResp2;
  }

  Transport& transport;
  ClientOutput output;
  ClientProfile profile;
  ClientRights rights;
  ClientWait wait;
  UnsentGrants grants;
  std::unique_ptr<Subscriptions> subscriptions;  // null: no subscriptions
  std::unique_ptr<Transaction> transaction;      // null: no MULTI, no WATCH
  bool is_detached = false;                      // its connection is closed
};

}  // namespace fairlock::command

#include "server/command/log_ins.h"

#include <algorithm>
#include <utility>

#include "server/command/client.h"
#include "server/command/dispatcher.h"
#include "server/command/text.h"

namespace fairlock::command {

using protocol::ErrorCode;

bool LogIns::IsKnown(const access::User& user, std::string_view password) const {
  if (user.needs_no_password) return true;
  const access::Digest digest = access::DigestOf(password);
  return std::ranges::any_of(user.passwords, [&](const access::StoredPassword& stored) {
    if (stored.digest) return access::AreEqual(*stored.digest, digest);
    const auto known = known_.find(stored.rule);
    return known != known_.end() &&
           access::AreEqual(known->second, key_.Of({stored.rule, password}));
  });
}

void LogIns::Begin(const LogInRequest& request, Invocation& call) {
  const std::string& address = call.client.profile().address.peer;
  const engine::DurationMs wait_ms = failures_.WaitOf(address, call.now);
  if (wait_ms > 0) {
    // A right password is not looked at either: else this would tell which one is right.
    return call.reply.Error(ErrorCode::kErr,
                            "too many log-ins from this address have failed "
                            "(max_failed_log_ins); another try in " +
                                std::to_string((wait_ms + 999) / 1000) + " s would be right");
  }
  const access::User* user = dispatcher_.access().users().Find(request.user);
  if (user != nullptr && !user->is_on) user = nullptr;
  if (user != nullptr && IsKnown(*user, request.password)) {
    return Accept(call.client, *user, request.greeting);
  }
  BeginSlowly(request, user, call);
}

void LogIns::BeginSlowly(const LogInRequest& request, const access::User* user, Invocation& call) {
  PendingLogIn pending;
  pending.user = request.user;
  pending.greeting = request.greeting;
  if (user != nullptr) {
    for (const access::StoredPassword& stored : user->passwords) {
      if (!stored.digest) pending.stored.push_back(stored.rule);
    }
  }
  // The time that the answer takes must not tell which users there are.
  const std::string& decoy = dispatcher_.access().users().decoy();
  if (pending.stored.empty() && !decoy.empty()) pending.stored.push_back(decoy);
  if (pending.stored.empty()) return Refuse(call.client, request.user, call.now);
  if (dispatcher_.is_in_step()) {
    return call.reply.Error(ErrorCode::kErr,
                            "a log-in between MULTI and EXEC is possible only with a password that "
                            "the server knows from before; one before MULTI would be right");
  }
  for (const std::string& stored : pending.stored) {
    pending.digests.push_back(key_.Of({stored, request.password}));
  }
  const bool has_begun = dispatcher_.environment().StartPasswordCheck(
      {.stored = pending.stored, .password = std::string(request.password)},
      call.client.profile().id);
  if (!has_begun) {
    return call.reply.Error(ErrorCode::kErr,
                            "too many passwords are being compared; another try soon would be "
                            "right");
  }
  // It counts while it is under way, or a storm would be compared before the first has failed.
  failures_.Add(call.client.profile().address.peer, call.now);
  call.client.WaitForLogIn(std::move(pending));
}

void LogIns::Finish(std::uint64_t client_id, std::optional<std::size_t> match, engine::TimeMs now) {
  Client* client = dispatcher_.FindClient(client_id);
  const auto pending = client == nullptr ? nullptr : client->EndLogIn();
  if (pending == nullptr) return;
  failures_.TakeBack(client->profile().address.peer);
  // Meanwhile the users may have changed.
  const access::User* user = dispatcher_.access().users().Find(pending->user);
  const bool is_right =
      user != nullptr && user->is_on && match &&
      std::ranges::any_of(user->passwords, [&](const access::StoredPassword& stored) {
        return stored.rule == pending->stored[*match];
      });
  if (!is_right) {
    Refuse(*client, pending->user, now);
    return client->transport().NoticeOutput();
  }
  known_.insert_or_assign(pending->stored[*match], pending->digests[*match]);
  Accept(*client, *user, pending->greeting);
  client->transport().NoticeOutput();
}

void LogIns::Accept(Client& client, const access::User& user,
                    const std::optional<Greeting>& greeting) {
  client.LogIn(user);
  if (greeting) {
    Greet(client, *greeting);
  } else {
    client.writer().Ok();
  }
}

void LogIns::Refuse(Client& client, std::string_view user, engine::TimeMs now) {
  const std::string& address = client.profile().address.peer;
  failures_.Add(address, now);
  ++dispatcher_.counters().failed_log_ins;
  dispatcher_.environment().NoteFailedLogIn(address, user);
  client.writer().Error(ErrorCode::kWrongPass,
                        "invalid username-password pair or user is disabled.");
}

}  // namespace fairlock::command

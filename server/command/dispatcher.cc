#include "server/command/dispatcher.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <string>
#include <utility>

#include "server/command/foreign_commands.h"
#include "server/command/refusals.h"
#include "server/command/text.h"

namespace fairlock::command {

using protocol::ErrorCode;

Dispatcher::Dispatcher(const engine::EngineOptions& engine_options, Environment environment,
                       engine::TimeMs now, const record::RecorderOptions& recorder_options,
                       CommandTable commands)
    : environment_(std::move(environment)),
      started_at_(now),
      commands_(std::move(commands)),
      engine_(engine_options),
      recorder_(recorder_options, now),
      channels_(engine_options.hash_seed, matching_),
      event_publisher_(*this),
      notifier_(*this),
      watched_keys_(*this),
      scripts_(*this),
      access_(*this),
      log_ins_(*this),
      newcomers_(*this),
      unit_warnings_(environment_.log),
      memory_(environment_.resources),
      statistics_(environment_.clock, commands_.rows().size()) {
  if (recorder_.is_on()) AddEventSink(recorder_);
  engine_.set_notice_sink(&notifier_);
}

bool Dispatcher::Advance(engine::TimeMs now, std::size_t steps_max) {
  if (newcomers_.NextDeadline() <= now) newcomers_.CloseDue(now);
  channels_.PublishDeferred();
  const bool is_more_due = engine_.Advance(now, steps_max, effects_);
  DeliverEffects(now);
  return is_more_due || channels_.has_deferred();
}

namespace {

// What to use instead of a command that there is not, behind a semicolon; empty: nothing comes
// close.
std::string HintFor(const CommandTable& table, std::string_view name) {
  if (const std::string_view instead = InsteadOf(name); !instead.empty()) {
    return "; " + std::string(instead);
  }
  const std::string_view meant = CommandMeantBy(table, name);
  return meant.empty() ? "" : "; did you mean " + std::string(meant) + "?";
}

void RefuseUnknownCommand(const CommandTable& table, const protocol::Arguments& arguments,
                          protocol::ReplyWriter& reply) {
  if (IsOfClusters(arguments[0])) {
    return reply.Error(ErrorCode::kErr, "This instance has cluster support disabled");
  }
  std::string text =
      "unknown command " + Quoted(arguments[0], 128) + ", with args beginning with: ";
  for (std::size_t i = 1; i < arguments.size() && text.size() < 256; ++i) {
    text += Quoted(arguments[i], 128) + " ";
  }
  reply.Error(ErrorCode::kErr, text + HintFor(table, arguments[0]));
}

// In the words of Redis.
void RefuseUnknownInScript(const CommandTable& table, const protocol::Arguments& arguments,
                           protocol::ReplyWriter& reply) {
  reply.Error(ErrorCode::kErr,
              "Unknown Redis command called from script" + HintFor(table, arguments[0]));
}

void RefuseUnknownSubcommand(const CommandTable& table, const CommandSpec& container,
                             std::string_view subcommand, protocol::ReplyWriter& reply) {
  std::string text = "unknown subcommand " + Quoted(subcommand, 128) + ". Try " +
                     std::string(container.name) + " HELP.";
  const std::string_view meant = SubcommandMeantBy(table, container, subcommand);
  if (!meant.empty()) {
    text.append(" Did you mean ").append(container.name).append(" ").append(meant).append("?");
  }
  reply.Error(ErrorCode::kErr, text);
}

}  // namespace

void Dispatcher::Prepare(const Client& client, RequestAhead& request) const {
  request.row = commands_.IndexOf(request.arguments[0]);
  request.has_key = false;
  if (request.row == CommandTable::kNone) return;
  const auto position = static_cast<std::size_t>(commands_.rows()[request.row]->keys.first);
  if (position == 0 || position >= request.arguments.size()) return;
  request.has_key = true;
  request.database = client.database();
  request.key_hash = engine_.Prefetch({request.database, request.arguments[position]});
  recorder_.Prefetch(request.key_hash);
}

void Dispatcher::PrefetchLock(const RequestAhead& request) const {
  if (request.has_key) engine_.PrefetchLock(request.key_hash);
}

Dispatcher::FoundCommand Dispatcher::FindCommand(const Client& client, const RequestAhead& request,
                                                 protocol::ReplyWriter& reply) const {
  const protocol::Arguments& arguments = request.arguments;
  FoundCommand found{.row = request.row};
  const CommandSpec* spec =
      found.row == CommandTable::kNone ? nullptr : commands_.rows()[found.row];
  const bool names_subcommand = spec != nullptr && HasSubcommands(*spec) && arguments.size() > 1;
  if (names_subcommand) found.row = commands_.IndexOfSubcommand(*spec, arguments[1]);
  if (client.is_limited() && !access_.Admit(client, request, reply)) return found;
  if (found.row != CommandTable::kNone) {
    spec = commands_.rows()[found.row];
    found.is_accepted = !IsRefused(client, *spec, arguments.size(), reply);
  } else if (scripts_.is_running()) {
    RefuseUnknownInScript(commands_, arguments, reply);
  } else if (names_subcommand) {
    RefuseUnknownSubcommand(commands_, *spec, arguments[1], reply);
  } else {
    RefuseUnknownCommand(commands_, arguments, reply);
  }
  return found;
}

bool Dispatcher::IsRefused(const Client& client, const CommandSpec& spec, std::size_t arguments,
                           protocol::ReplyWriter& reply) const {
  if (spec.handler == nullptr || !FitsArity(spec, arguments)) {
    scripts_.is_running() ? RefuseArityInScript(spec, reply) : RefuseArity(spec, reply);
    return true;
  }
  if (RefusesNow(spec.flags, reply)) return true;
  if (!client.is_confined() || (spec.flags & kWhileConfined) != 0) return false;
  RefuseConfined(spec, reply);
  return true;
}

bool Dispatcher::MayStill(const Client& client, std::size_t row,
                          const protocol::Arguments& arguments,
                          protocol::ReplyWriter& reply) const {
  return !client.is_limited() || access_.AdmitRow(client, row, arguments, reply);
}

bool Dispatcher::Collect(Client& client, const FoundCommand& found,
                         const protocol::Arguments& arguments, protocol::ReplyWriter& reply) const {
  Transaction* const transaction = client.transaction();
  if (transaction == nullptr || !transaction->is_open()) return false;
  if (!found.is_accepted) {
    transaction->Spoil();
    return true;
  }
  const std::uint32_t flags = commands_.rows()[found.row]->flags;
  const TransactionLimits limits = TransactionLimitsNow();
  if ((flags & kNotQueued) != 0) return false;
  if ((flags & kNoMulti) != 0) {
    transaction->Spoil();
    reply.Error(ErrorCode::kErr, "Command not allowed inside a transaction");
  } else if (RefusesQueued(flags, reply)) {
    transaction->Spoil();
  } else if (transaction->is_spoiled()) {
    reply.Simple("QUEUED");
  } else if (transaction->size() >= transaction_limits_.requests_max) {
    transaction->Spoil();
    reply.Error(ErrorCode::kFull, "more requests behind MULTI than " +
                                      std::to_string(transaction_limits_.requests_max) +
                                      " (max_transaction_requests); EXEC first");
  } else if (memory_.is_short() && transaction->BytesWith(arguments) > limits.bytes_max) {
    transaction->Spoil();
    RefuseForMemory(reply);
  } else if (transaction->BytesWith(arguments) > limits.bytes_max) {
    transaction->Spoil();
    reply.Error(ErrorCode::kFull, "more bytes of requests behind MULTI than " +
                                      std::to_string(transaction_limits_.bytes_max) +
                                      " (max_transaction_size); EXEC first");
  } else {
    transaction->Add(found.row, flags, arguments);
    reply.Simple("QUEUED");
  }
  return true;
}

namespace {

// Of the key in the database of now: a request before this one may have changed it.
std::uint64_t HashFor(const Client& client, const RequestAhead& request) {
  return request.has_key && request.database == client.database() ? request.key_hash : 0;
}

}  // namespace

void Dispatcher::Execute(Client& client, const RequestAhead& request, engine::TimeMs now) {
  ++counters_.commands_processed;
  protocol::ReplyWriter reply = client.writer();
  const FoundCommand found = FindCommand(client, request, reply);
  const bool is_collected = Collect(client, found, request.arguments, reply);
  const bool is_executed = found.is_accepted && !is_collected;
  statistics_.TurnTo(is_executed ? found.row : CommandTable::kNone);
  if (is_executed) {
    Invocation invocation{*this, client, request.arguments, reply, now, HashFor(client, request)};
    // Its messages come behind its reply, whatever the handler sets in motion.
    is_executing_ = true;
    Run(found.row, invocation);
    is_executing_ = false;
    CountIfFailed(found.row, invocation);
  } else if (const auto error = reply.error()) {
    statistics_.CountRejected(found.row, *error);
  }
  if (!effects_.resolutions.empty() || channels_.has_waiting() || notifier_.has_changes()) {
    DeliverEffects(now);
  }
}

void Dispatcher::Run(std::size_t row, Invocation& invocation) {
  statistics_.CountCall(row);
  const CommandSpec& spec = *commands_.rows()[row];
  Client& client = invocation.client;
  client.profile().last_command = &spec;
  client.NoteNews(spec.flags);
  // As in Redis what a script calls is shown behind the script.
  const bool is_shown_first = !monitors_.empty() && spec.name.starts_with("EVAL");
  if (is_shown_first) ShowToMonitors(invocation, spec);
  spec.handler(invocation);
  assert(!is_in_step() || !client.is_waiting());
  if (!is_shown_first && !monitors_.empty()) ShowToMonitors(invocation, spec);
}

void Dispatcher::CountIfFailed(std::size_t row, const Invocation& invocation) {
  if (const auto error = invocation.reply.error()) {
    statistics_.CountFailed(row, *error);
  } else if (invocation.has_script_failed) {
    statistics_.CountFailed(row);
  }
}

void Dispatcher::RunInStep(std::size_t row, Invocation& invocation) {
  const std::uint64_t begun = environment_.clock.Ticks();
  Run(row, invocation);
  statistics_.AddTicks(row, environment_.clock.Ticks() - begun);
  CountIfFailed(row, invocation);
}

void Dispatcher::ShowToMonitors(const Invocation& invocation, const CommandSpec& spec) {
  const Origin origin = scripts_.is_running() ? Origin::kScript : Origin::kClient;
  monitors_.Show(invocation.client, spec, invocation.arguments, origin,
                 environment_.clock.UnixTimeUs());
}

void Dispatcher::ExecuteForScript(Client& client, const RequestAhead& request, bool is_read_only,
                                  engine::TimeMs now, std::string& reply) {
  LookAtMemory(now);
  protocol::ReplyWriter writer(reply, protocol::RespVersion::kResp2);
  FoundCommand found = FindCommand(client, request, writer);
  if (found.is_accepted) {
    const CommandSpec& spec = *commands_.rows()[found.row];
    found.is_accepted = false;
    if ((spec.flags & kNoScript) != 0) {
      RefuseInScript(writer);
    } else if (is_read_only && (spec.flags & kWrite) != 0) {
      RefuseInReadOnlyScript(writer);
    } else {
      found.is_accepted = true;
    }
  }
  if (found.is_accepted) {
    Invocation invocation{*this, client, request.arguments, writer, now, HashFor(client, request)};
    RunInStep(found.row, invocation);
  } else {
    statistics_.CountRejected(found.row, *writer.error());
  }
}

void Dispatcher::BeginStep(engine::TimeMs now) {
  if (step_depth_++ == 0) engine_.BeginStep(now);
}

void Dispatcher::EndStep(engine::TimeMs now) {
  assert(is_in_step());
  if (--step_depth_ == 0) engine_.EndStep(now, effects_);
}

void Dispatcher::DeliverEffects(engine::TimeMs now) {
  if (is_in_step()) return;
  notifier_.FollowSubscribers(now);
  DeliverOnce(now);
  while (!undelivered_.empty()) {
    for (const DeliveredGrant& grant : std::exchange(undelivered_, {})) {
      engine_.UndoGrant(grant.key_hash, grant.token, now, effects_);
    }
    DeliverOnce(now);
  }
}

void Dispatcher::DeliverOnce(engine::TimeMs now) {
  // By index: to explain an answer may settle a key, which adds to the list.
  for (std::size_t i = 0; i < effects_.resolutions.size(); ++i) {
    const engine::Resolution resolution = effects_.resolutions[i];
    static_cast<Client*>(resolution.to)->Resolve(resolution, now);
  }
  effects_.resolutions.clear();
  if (channels_.has_waiting() && !is_executing_) channels_.PublishWaiting(undelivered_);
}

void Dispatcher::ResetStatistics() {
  counters_ = {};
  statistics_.Reset();
}

void Dispatcher::MoveDelivery(std::uint64_t key_hash, engine::Token token, Client& client) {
  if (ForgetGrantElsewhere(token, client)) client.NoteGrant(key_hash, token);
}

bool Dispatcher::IsOnItsWayElsewhere(engine::Token token, const Client& client) const {
  return std::any_of(unsent_grants_.begin(), unsent_grants_.end(), [&](const Client& other) {
    return &other != &client && other.HasUnsentGrant(token);
  });
}

bool Dispatcher::ForgetGrantElsewhere(engine::Token token, const Client& client) {
  bool was_any = false;
  for (auto at = unsent_grants_.begin(); at != unsent_grants_.end();) {
    // It leaves the list with its last grant.
    Client& other = *at++;
    if (&other != &client && other.ForgetGrant(token)) was_any = true;
  }
  return was_any;
}

void Dispatcher::AddEventSink(engine::EventSink& sink) {
  events_.Add(sink);
  engine_.set_event_sink(events_.entrance());
}

void Dispatcher::DropEventSink(engine::EventSink& sink) {
  events_.Remove(sink);
  engine_.set_event_sink(events_.entrance());
}

std::uint64_t Dispatcher::Register(Client& client) {
  const std::uint64_t id = next_client_id_++;
  ++counters_.connections_received;
  clients_.emplace(id, &client);
  client.client = engine_.clients().Connect(client.profile().address.peer, client.profile().user);
  return id;
}

void Dispatcher::Unregister(Client& client, engine::TimeMs now) {
  engine_.Detach(client, now, effects_);
  DeliverEffects(now);
  engine_.clients().Disconnect(client.client);
  client.client = engine::kUnknownClient;
  clients_.erase(client.profile().id);
}

Client* Dispatcher::FindClient(std::uint64_t id) const {
  const auto found = clients_.find(id);
  return found == clients_.end() ? nullptr : found->second;
}

std::int64_t Dispatcher::UnixMs(engine::TimeMs at, engine::TimeMs now) const {
  // Both clocks are read in whole milliseconds, so their difference varies by one.
  const std::int64_t offset_ms = environment_.clock.UnixTimeUs() / 1000 - now;
  if (std::abs(offset_ms - unix_offset_ms_) > 1) unix_offset_ms_ = offset_ms;
  return at + unix_offset_ms_;
}

}  // namespace fairlock::command

#include "server/command/execution/executor.h"

#include <cassert>
#include <cstdint>

#include "server/command/table/refusals.h"

namespace fairlock::command {

namespace {

// An earlier request may have changed the database. In that case the hash is that of another key.
engine::KeyName KeyOf(const Client& client, const RequestAhead& request) {
  const std::uint8_t database = client.profile.database;
  return request.key.db == database ? request.key : engine::KeyName{.db = database};
}

// Errors of requests that another node serves, or will serve once one leads. That node logs them.
bool IsOfAnotherNode(protocol::ErrorCode error) {
  return error == protocol::ErrorCode::kMoved || error == protocol::ErrorCode::kClusterDown;
}

// The error that the writer has written: its last line, because an error is always one line.
std::string_view LastLine(const protocol::ReplyWriter& reply) {
  const std::string_view written = reply.written();
  const std::size_t end = written.rfind('\n', written.size() - 2);
  return end == std::string_view::npos ? written : written.substr(end + 1);
}

// What is compared to learn whether a command has changed something.
class ChangeMark {
 public:
  ChangeMark(const Values& values, const Locks& locks, const protocol::ReplyWriter& reply)
      : values_(values.store()),
        locks_(locks.engine().counts()),
        reply_(reply),
        reply_begins_at_(reply.written().size()),
        value_changes_(values_.changes()),
        newest_token_(locks_.newest_token) {}

  // Those of locks that have changed nothing reply with nil or 0, except GETEX and BITFIELD, for
  // which it does no harm that they count as changes.
  bool HasChanged(const CommandSpec& spec) const {
    if ((spec.flags & kWrite) == 0 || reply_.error()) return false;
    if (values_.changes() != value_changes_ || locks_.newest_token != newest_token_) return true;
    if (IsOfValues(spec)) return false;
    const std::string_view reply = reply_.written().substr(reply_begins_at_);
    return reply != protocol::replies::kZero && reply != protocol::replies::kNullBulk &&
           reply != protocol::replies::kNullArray && reply != protocol::replies::kNull;
  }

 private:
  const values::ValueStore& values_;
  const engine::EngineCounts& locks_;
  const protocol::ReplyWriter& reply_;
  const std::size_t reply_begins_at_;
  const std::uint64_t value_changes_;
  const engine::Token newest_token_;
};

}  // namespace

void Executor::Execute(Client& client, const RequestAhead& request, engine::TimeMs now) {
  ++parts_.statistics.counters.commands_processed;
  CommandStatistics& statistics = parts_.statistics.commands;
  protocol::ReplyWriter reply = client.writer();
  const FoundCommand found = parts_.admission.Find(client, request, Origin::kClient, reply);
  bool is_executed = found.is_accepted;
  if (client.transaction != nullptr) {
    is_executed = is_executed && !Collect(client, found.row, request.arguments, reply);
    if (!found.is_accepted) Transactions::Spoil(client);
  }
  statistics.TurnTo(is_executed ? found.row : CommandTable::kNone);
  if (is_executed) {
    Invocation invocation{server_, client, request.arguments, reply, now, KeyOf(client, request)};
    // Holds back messages that the handler causes until its reply has been written.
    parts_.delivery.set_executing(true);
    Run(found.row, invocation, Origin::kClient);
    parts_.delivery.set_executing(false);
    CountIfFailed(found.row, invocation, Origin::kClient);
  } else if (reply.error()) {
    NoteRejected(found.row, client, request.arguments, reply, Origin::kClient, now);
  }
  if (parts_.delivery.has_effects()) parts_.delivery.Deliver(now);
}

bool Executor::Collect(Client& client, std::size_t row, const protocol::Arguments& arguments,
                       protocol::ReplyWriter& reply) const {
  const CommandSpec& spec = *parts_.table.rows()[row];
  if (!parts_.transactions.Collect(client, row, spec.flags, arguments, reply)) return false;
  if (parts_.routing.is_on()) {
    if (const auto slot = KeyRouting::SlotOfRequest(spec, arguments)) {
      client.transaction->slots().Note(*slot);
    }
  }
  return true;
}

void Executor::Run(std::size_t row, Invocation& invocation, Origin origin) {
  parts_.statistics.commands.CountCall(row);
  const CommandSpec& spec = *parts_.table.rows()[row];
  Client& client = invocation.client;
  client.profile.last_command = &spec;
  client.output.NoteFlags(spec.flags);
  // As in Redis, MONITOR shows a script before the commands that it calls.
  const bool is_shown_first = !parts_.monitors.empty() && spec.name.starts_with("EVAL");
  if (is_shown_first) ShowToMonitors(invocation, spec, origin);
  if ((spec.flags & kAudited) == 0) {
    spec.handler(invocation);
  } else {
    RunAudited(spec, invocation, origin);
  }
  assert(!parts_.delivery.is_in_step() || !client.wait.is_waiting());
  if (!is_shown_first && !parts_.monitors.empty()) ShowToMonitors(invocation, spec, origin);
}

void Executor::RunAudited(const CommandSpec& spec, Invocation& invocation, Origin origin) {
  const std::size_t reply_begins_at = invocation.reply.written().size();
  const std::string begun = parts_.audit.Begin(
      {invocation.client.profile, spec, invocation.arguments, origin, invocation.now});
  spec.handler(invocation);
  if (invocation.is_own_affair) return;
  parts_.audit.End(begun, invocation.reply.written().substr(reply_begins_at));
}

void Executor::NoteRejected(std::size_t row, const Client& client,
                            const protocol::Arguments& arguments,
                            const protocol::ReplyWriter& reply, Origin origin, engine::TimeMs now) {
  parts_.statistics.commands.CountRejected(row, *reply.error());
  if (row == CommandTable::kNone || IsOfAnotherNode(*reply.error())) return;
  const CommandSpec& spec = *parts_.table.rows()[row];
  if ((spec.flags & kAudited) == 0 && reply.error() != protocol::ErrorCode::kNoPerm) return;
  parts_.audit.NoteRefused({client.profile, spec, arguments, origin, now}, LastLine(reply));
}

void Executor::CountIfFailed(std::size_t row, const Invocation& invocation, Origin origin) {
  if (const auto error = invocation.reply.error()) {
    parts_.statistics.commands.CountFailed(row, *error);
    const CommandSpec& spec = *parts_.table.rows()[row];
    if (error == protocol::ErrorCode::kNoPerm && (spec.flags & kAudited) == 0) {
      parts_.audit.NoteRefused(
          {invocation.client.profile, spec, invocation.arguments, origin, invocation.now},
          LastLine(invocation.reply));
    }
  } else if (invocation.has_script_failed) {
    parts_.statistics.commands.CountFailed(row);
  }
}

void Executor::RunInStep(std::size_t row, Invocation& invocation, Origin origin) {
  const std::uint64_t begun = parts_.clock.Ticks();
  const ChangeMark mark(parts_.values, parts_.locks, invocation.reply);
  Run(row, invocation, origin);
  if (!parts_.availability.are_bounds_lifted() && mark.HasChanged(*parts_.table.rows()[row])) {
    parts_.availability.NoteChange();
  }
  parts_.statistics.commands.AddTicks(row, parts_.clock.Ticks() - begun);
  CountIfFailed(row, invocation, origin);
}

void Executor::ShowToMonitors(const Invocation& invocation, const CommandSpec& spec,
                              Origin origin) {
  parts_.monitors.Show(invocation.client, spec, invocation.arguments, origin,
                       parts_.clock.UnixTimeUs());
}

void Executor::ExecuteForScript(Client& client, const RequestAhead& request, bool is_read_only,
                                engine::TimeMs now, std::string& reply) {
  protocol::ReplyWriter writer(reply, protocol::RespVersion::kResp2);
  FoundCommand found = parts_.admission.Find(client, request, Origin::kScript, writer);
  if (found.is_accepted) {
    const CommandSpec& spec = *parts_.table.rows()[found.row];
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
    Invocation invocation{server_, client, request.arguments, writer, now, KeyOf(client, request)};
    RunInStep(found.row, invocation, Origin::kScript);
  } else {
    NoteRejected(found.row, client, request.arguments, writer, Origin::kScript, now);
  }
}

}  // namespace fairlock::command

#include "server/command/auth/access_control.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "server/command/client/client.h"
#include "server/command/statistics/statistics.h"
#include "server/command/table/command_docs.h"
#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

using access::KeyUse;
using access::User;
using protocol::ErrorCode;

constexpr std::size_t kShownBytes = 128;

std::vector<AccessRow> RowsOf(const CommandTable& table) {
  std::vector<AccessRow> rows(table.rows().size());
  for (const AccessRow& row : AccessRows()) {
    const std::size_t index = table.IndexOf(row.command);
    if (index != CommandTable::kNone) rows[index] = row;
  }
  return rows;
}

std::shared_ptr<const access::UserTable> OnlyDefaultUser() {
  auto table = std::make_shared<access::UserTable>();
  table->Add(access::UnlimitedUser(access::kDefaultUser));
  return table;
}

// No user in an ACL file can have this name.
constexpr std::string_view kOwnUserName = "(server)";

std::string Denial(const User& user, std::string_view verb, std::string_view name,
                   std::string_view kind) {
  return "User " + Escaped(user.name, kShownBytes) + " has no permissions to " + std::string(verb) +
         " the " + Quoted(name, kShownBytes) + " " + std::string(kind);
}

// Returns the index of the argument after the keys, for commands whose requests state the number of
// their keys.
std::size_t IndexBehindKeys(const CommandSpec& spec, std::span<const std::string_view> request) {
  const KeyRange keys = KeyRangeOf(spec, request);
  return keys.end == 0 ? request.size() : keys.end;
}

// Calls `visit` with each owner that the request names, until `visit` returns false.
template <typename Visit>
void VisitOwners(const CommandSpec& spec, OwnerPlace place,
                 std::span<const std::string_view> request, Visit visit) {
  const auto at = [&](std::size_t index) {
    return index >= request.size() || visit(request[index]);
  };
  switch (place) {
    case OwnerPlace::kNone:
    case OwnerPlace::kComputed:
      return;
    case OwnerPlace::kSecond:
      at(2);
      return;
    case OwnerPlace::kSecondAndThird:
      if (at(2)) at(3);
      return;
    case OwnerPlace::kThird:
      at(3);
      return;
    case OwnerPlace::kBehindKeys:
      at(IndexBehindKeys(spec, request));
      return;
    case OwnerPlace::kBehindEachKey: {
      const KeyRange keys = KeyRangeOf(spec, request);
      for (std::size_t i = keys.first; i < keys.end && at(i + 1); i = keys.After(i)) continue;
      return;
    }
  }
}

std::string JudgeOwners(const User& user, const CommandSpec& spec, OwnerPlace place,
                        std::span<const std::string_view> request) {
  if (user.owners.is_all()) return "";
  if (place == OwnerPlace::kComputed) return Denial(user, "name", "*", "owner");
  std::string denial;
  VisitOwners(spec, place, request, [&](std::string_view owner) {
    if (!user.owners.Match(owner)) denial = Denial(user, "name", owner, "owner");
    return denial.empty();
  });
  return denial;
}

ChannelKind KindOf(Reach reach) {
  if (reach == Reach::kPatterns) return ChannelKind::kPattern;
  return reach == Reach::kShardChannels ? ChannelKind::kShard : ChannelKind::kExact;
}

// Returns the refusal for the first channel that the user may not use; empty if all are allowed.
std::string JudgeChannels(const User& user, const CommandSpec& spec, Reach reach,
                          std::span<const std::string_view> request) {
  const auto denied = [&](std::string_view name) {
    return Denial(user, "access", name, "channel");
  };
  if (reach == Reach::kNotify) {
    const std::size_t options =
        spec.keys.is_counted ? IndexBehindKeys(spec, request) + 1 : std::size_t{3};
    const std::string_view channel = FindNotifyChannel(request, options);
    return channel.empty() || user.channels.Match(channel) ? "" : denied(channel);
  }
  if (reach == Reach::kFirstChannel) {
    return user.channels.Match(request[1]) ? "" : denied(request[1]);
  }
  const ChannelKind kind = KindOf(reach);
  for (const std::string_view name : request.subspan(1)) {
    if (!AccessControl::MayHear(user, kind, name)) return denied(name);
  }
  return "";
}

// Returns the key in "__lock@0__:KEY" or "__keyspace@0__:KEY"; nullopt if the name has another
// form.
std::optional<std::string_view> KeyOfOwnChannel(std::string_view name) {
  for (const std::string_view begin : {"__lock@", "__keyspace@"}) {
    if (!name.starts_with(begin)) continue;
    const std::string_view rest = name.substr(begin.size());
    const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    if (digits == 0 || !rest.substr(digits).starts_with("__:")) continue;
    return rest.substr(digits + 3);
  }
  return std::nullopt;
}

// Whether a glob may match one of the channels on which the server publishes key events.
bool MayMatchOwnChannels(std::string_view glob) {
  const std::string_view begin = glob.substr(0, glob.find_first_of("*?[\\"));
  return begin.starts_with(kOwnChannelPrefix) ||
         (begin.size() < glob.size() && kOwnChannelPrefix.starts_with(begin));
}

// Users who may read a key may also listen to the channels that carry its events. A glob is
// accepted only if the user's rules contain exactly that glob, because no other test proves that it
// matches only keys that the user may read.
bool MayHearOwn(const User& user, ChannelKind kind, std::string_view name) {
  if (user.read_keys.is_all()) return true;
  const auto key = KeyOfOwnChannel(name);
  if (!key) return false;
  if (kind == ChannelKind::kExact) return user.read_keys.Match(*key);
  const bool is_exact = key->find_first_of("*?[\\") == std::string_view::npos;
  return is_exact ? user.read_keys.Match(*key) : user.read_keys.Have(*key);
}

}  // namespace

access::Vocabulary VocabularyOf(const CommandTable& table) {
  std::vector<access::NamedCommand> names;
  for (const CommandSpec* spec : table.rows()) {
    names.push_back({Lowered(spec->name), CategoriesOf(*spec)});
  }
  if (const CommandSpec* set = table.Find("SET")) {
    std::vector<std::string_view> categories = CategoriesOf(*set);
    std::erase(categories, "unowned");
    names.push_back({std::string(kSetNewName), std::move(categories)});
  }
  return access::Vocabulary(std::move(names));
}

AccessControl::AccessControl(const CommandTable& table, ServerCounters& counters)
    : table_(table),
      counters_(counters),
      rows_(RowsOf(table)),
      set_row_(table.IndexOf("SET")),
      wait_row_(table.IndexOf("WAIT")),
      vocabulary_(VocabularyOf(table)),
      users_(OnlyDefaultUser()),
      own_user_(access::UnlimitedUser(kOwnUserName)) {}

std::shared_ptr<const access::UserTable> AccessControl::Replace(
    std::shared_ptr<const access::UserTable> users) {
  ++generation_;
  return std::exchange(users_, std::move(users));
}

const User* AccessControl::NewcomersUser() const {
  const User* user = users_->Default();
  return user != nullptr && user->is_on && user->needs_no_password ? user : nullptr;
}

std::string AccessControl::JudgeKeys(const User& user, const CommandSpec& spec,
                                     const AccessRow& row,
                                     std::span<const std::string_view> request) const {
  const KeyUse use = (spec.flags & kWrite) != 0 ? KeyUse::kWrite : KeyUse::kRead;
  const bool may_all =
      user.read_keys.is_all() && (use == KeyUse::kRead || user.written_keys.is_all());
  if (may_all || spec.keys.are_channels) return "";
  if (row.reach == Reach::kAllKeys || (row.reach == Reach::kKeyOrAll && request[1] == "*")) {
    return Denial(user, "access", "*", "key");
  }
  const KeyRange keys = KeyRangeOf(spec, request);
  for (std::size_t i = keys.first; i < keys.end; i = keys.After(i)) {
    const KeyUse each = keys.IsOnlyRead(i) ? KeyUse::kRead : use;
    if (!user.MayUse(request[i], each)) return Denial(user, "access", request[i], "key");
  }
  return "";
}

std::string AccessControl::Judge(const User& user, std::size_t row,
                                 std::span<const std::string_view> request) const {
  const CommandSpec& spec = *table_.rows()[row];
  const bool is_set_new = row == set_row_ && IsSetNew(request);
  const std::size_t number = is_set_new ? table_.rows().size() : row;
  if (!user.commands.test(number) && (spec.flags & kNoAuth) == 0) {
    return Denial(user, "run", Lowered(spec.name), "command");
  }
  if (row == wait_row_ && IsWaitForReplicas(request)) return "";
  const AccessRow& access_row = rows_[row];
  std::string denial = JudgeKeys(user, spec, access_row, request);
  if (denial.empty()) denial = JudgeOwners(user, spec, access_row.owners, request);
  if (denial.empty() && access_row.reach >= Reach::kFirstChannel) {
    denial = JudgeChannels(user, spec, access_row.reach, request);
  }
  return denial;
}

bool AccessControl::Admit(const Client& client, const RequestAhead& request,
                          protocol::ReplyWriter& reply) const {
  const protocol::Arguments& arguments = request.arguments;
  std::size_t row = request.row;
  const bool is_known = row != CommandTable::kNone;
  if (client.rights.user() == nullptr) {
    // Commands that need no log-in, such as AUTH, are admitted before any other check.
    if (is_known && (table_.rows()[row]->flags & kNoAuth) != 0) return true;
    reply.Error(ErrorCode::kNoAuth, "Authentication required.");
    return false;
  }
  if (is_known && HasSubcommands(*table_.rows()[row]) && arguments.size() > 1) {
    row = table_.IndexOfSubcommand(*table_.rows()[row], arguments[1]);
  }
  // An invalid request is admitted here: the executor refuses it with a better error.
  if (row == CommandTable::kNone || !FitsArity(*table_.rows()[row], arguments.size())) return true;
  return AdmitRow(client, row, arguments, reply);
}

bool AccessControl::AdmitRow(const Client& client, std::size_t row,
                             const protocol::Arguments& arguments,
                             protocol::ReplyWriter& reply) const {
  const std::string denial = Judge(*client.rights.user(), row, arguments.views());
  if (denial.empty()) return true;
  ++counters_.denied_requests;
  reply.Error(ErrorCode::kNoPerm, denial);
  return false;
}

bool AccessControl::MayHear(const User& user, ChannelKind kind, std::string_view name) {
  // No check for reserved names is needed, because the server publishes nothing on shard channels.
  if (kind == ChannelKind::kShard) return user.channels.Match(name);
  const bool may_listen = kind == ChannelKind::kExact
                              ? user.channels.Match(name)
                              : user.channels.is_all() || user.channels.Have(name);
  const bool is_own =
      kind == ChannelKind::kExact ? name.starts_with(kOwnChannelPrefix) : MayMatchOwnChannels(name);
  return may_listen && (!is_own || MayHearOwn(user, kind, name));
}

}  // namespace fairlock::command

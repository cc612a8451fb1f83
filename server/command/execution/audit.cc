#include "server/command/execution/audit.h"

#include <algorithm>
#include <vector>

#include "server/command/table/text.h"

namespace fairlock::command {

namespace {

// "BREAK", "CONFIG SET".
std::string NameOf(const CommandSpec& spec) {
  std::string name(spec.name);
  std::ranges::replace(name, '|', ' ');
  return name;
}

// Numbers and errors are one line each, of printable characters.
std::string_view FirstLine(std::string_view reply) { return reply.substr(0, reply.find('\r')); }

}  // namespace

std::string Audit::Begin(const Request& request) {
  return executed_.Take(request.now) ? Describe(request) : "";
}

void Audit::End(const std::string& begun, std::string_view reply) {
  if (begun.empty()) return;
  const std::string_view line = FirstLine(reply);
  std::string outcome = "done";
  if (line.empty()) {
    outcome = "begun";
  } else if (line.front() == '-') {
    outcome = "failed: " + std::string(line.substr(1, kOutcomeBytesMax));
  } else if (line.front() == ':') {
    outcome.append(": ").append(line.substr(1));
  }
  environment_.log.LogAudit(begun + "; " + outcome + executed_.TakeUnwritten());
}

void Audit::NoteRefused(const Request& request, std::string_view error) {
  const bool is_audited = (request.spec.flags & kAudited) != 0;
  LineBudget& budget = is_audited ? refused_ : denied_;
  if (!budget.Take(request.now)) return;
  std::string line = Describe(request) + "; refused: ";
  line.append(FirstLine(error).substr(1, kOutcomeBytesMax)).append(budget.TakeUnwritten());
  if (is_audited) {
    environment_.log.LogAudit(line);
  } else {
    environment_.log.LogWarning("denied: " + line);
  }
}

std::string Audit::Describe(const Request& request) const {
  const protocol::Arguments& arguments = request.arguments;
  std::string text = NameOf(request.spec);
  const std::size_t first = IsSubcommand(request.spec) ? 2 : 1;
  for (std::size_t i = first; i < arguments.size(); ++i) {
    if (i == first + kArgumentsMax) {
      text += " and " + std::to_string(arguments.size() - i) + " more";
      break;
    }
    text += " " + (IsSecret(request, i) ? "(hidden)" : Quoted(arguments[i], kArgumentBytesMax));
  }
  const ClientProfile& client = request.client;
  text += "; db " + std::to_string(client.database) + "; user " + Escaped(client.user) + ", " +
          Escaped(client.address.peer, 128);
  if (!client.name.empty()) text += " " + Quoted(client.name, 128);
  if (request.origin == Origin::kScript) text += ", in a script";
  return text;
}

// The value of a setting is shown only if the setting exists and is known not to be a secret.
bool Audit::IsSecret(const Request& request, std::size_t argument) const {
  if (request.spec.name != "CONFIG|SET" || argument % 2 == 0) return false;
  const std::string name = Lowered(request.arguments[argument - 1]);
  const std::vector<Setting> settings = environment_.settings.FindSettings(engine::Glob("*"));
  const auto named = std::ranges::find(settings, name, &Setting::name);
  return named == settings.end() || named->is_secret;
}

}  // namespace fairlock::command

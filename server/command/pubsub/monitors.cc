#include "server/command/pubsub/monitors.h"

#include <algorithm>

#include "server/command/client/client.h"
#include "server/command/table/text.h"
#include "text/address.h"
#include "text/ascii.h"
#include "text/hexadecimal.h"

namespace fairlock::command {

namespace {

constexpr std::string_view kHidden = "(redacted)";

// Finds arguments that must not be shown because they are user names or passwords. Called for each
// argument in turn.
class Secrets {
 public:
  explicit Secrets(const CommandSpec& spec)
      : is_auth_(spec.name == "AUTH"), is_hello_(spec.name == "HELLO") {}

  bool Includes(std::size_t index, std::string_view argument) {
    if (is_auth_) return index > 0;
    if (!is_hello_ || index < kFirstOption) return false;
    if (hidden_ > 0) {
      --hidden_;
      return true;
    }
    const bool is_name = is_name_next_;
    is_name_next_ = !is_name && EqualsIgnoreCase(argument, "SETNAME");
    if (!is_name && EqualsIgnoreCase(argument, "AUTH")) hidden_ = 2;
    return false;
  }

 private:
  static constexpr std::size_t kFirstOption = 2;  // the first argument after HELLO and the version

  const bool is_auth_;
  const bool is_hello_;
  bool is_name_next_ = false;
  int hidden_ = 0;
};

void AppendByte(std::string& out, char c) {
  constexpr std::string_view kEscaped = "\a\b\\\"";
  constexpr std::string_view kLetters = "ab\\\"";
  if (const std::size_t at = kEscaped.find(c); at != std::string_view::npos) {
    out.append(1, '\\').append(1, kLetters[at]);
  } else if (text::IsPrintable(c)) {
    out += c;
  } else {
    text::AppendEscape(out, c);
  }
}

void AppendArgument(std::string& out, std::string_view argument) {
  out += " \"";
  for (const char c : argument) AppendByte(out, c);
  out += '"';
}

void AppendAddress(std::string& out, std::string_view peer) {
  if (!peer.starts_with('/')) {
    out += peer;
    return;
  }
  // The peer is "/path/of/socket:0", whose number has no meaning.
  out.append("unix:").append(text::SplitAddress(peer).host);
}

}  // namespace

void Monitors::Add(Client& client) {
  monitors_.push_back(&client);
  client.profile.is_monitor = true;
}

void Monitors::Remove(Client& client) {
  if (!client.profile.is_monitor) return;
  std::erase(monitors_, &client);
  client.profile.is_monitor = false;
}

void Monitors::Show(const Client& from, const CommandSpec& spec,
                    const protocol::Arguments& arguments, Origin origin, std::int64_t unix_us) {
  if ((spec.flags & kAdmin) != 0 && spec.group != "lock") return;
  constexpr std::int64_t kMillion = 1'000'000;
  const std::string fraction = std::to_string(kMillion + unix_us % kMillion);
  line_ = "+" + std::to_string(unix_us / kMillion);
  line_.append(".").append(fraction, 1).append(" [").append(std::to_string(from.profile.database));
  line_ += ' ';
  if (origin == Origin::kScript) {
    line_ += "lua";
  } else {
    AppendAddress(line_, from.profile.address.peer);
  }
  line_ += ']';
  Secrets secrets(spec);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    AppendArgument(line_, secrets.Includes(i, arguments[i]) ? kHidden : arguments[i]);
  }
  line_ += "\r\n";
  for (Client* monitor : monitors_) monitor->Push(line_);
  constexpr std::size_t kBytesKept = 64 * 1024;
  if (line_.capacity() > kBytesKept) std::string().swap(line_);
}

}  // namespace fairlock::command

#include "server/http/client_pages.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/reply_json.h"
#include "server/command/table/text.h"
#include "server/http/answers.h"
#include "server/http/text_parts.h"

namespace fairlock::http {

namespace {

// How many connections one turn examines, and how many it describes.
constexpr std::size_t kLookedAtPerStep = 2000;
constexpr std::size_t kDescribedPerStep = 100;

// These fields remain strings even if they consist of digits.
constexpr auto kTextFields = std::to_array<std::string_view>(
    {"addr", "laddr", "name", "flags", "events", "cmd", "user", "lib-name", "lib-ver"});
constexpr std::string_view kWaitKey = "wait-key";

// Decodes the \xHH that CLIENT LIST writes for backslashes and for bytes that would split a line.
std::string Unescaped(std::string_view text) {
  constexpr std::size_t kEscapeBytes = 4;
  std::string bytes;
  while (!text.empty()) {
    unsigned code = 0;
    const bool is_escape =
        text.starts_with("\\x") && text.size() >= kEscapeBytes &&
        std::from_chars(text.data() + 2, text.data() + kEscapeBytes, code, 16).ptr ==
            text.data() + kEscapeBytes;
    bytes += is_escape ? static_cast<char>(code) : text.front();
    text.remove_prefix(is_escape ? kEscapeBytes : 1);
  }
  return bytes;
}

// Converts a line of the form "name=value name=value ..." to an object.
boost::json::object ClientOf(std::string_view line) {
  boost::json::object client;
  while (!line.empty()) {
    std::string_view value = TakeUpTo(line, " ");
    const std::string_view name = TakeUpTo(value, "=");
    if (name == kWaitKey) {
      json::AddText(client, name, Unescaped(value));
    } else if (std::find(kTextFields.begin(), kTextFields.end(), name) != kTextFields.end()) {
      json::AddText(client, name, value);
    } else {
      AddNumberOrText(client, name, value);
    }
  }
  return client;
}

class ClientPages final : public Job {
 public:
  ClientPages(CommandCaller& commands, const ClientQuery& query)
      : commands_(commands), query_(query), last_(query.after) {}

  std::optional<Answer> Step(engine::TimeMs now) override {
    const bool is_end = FindNext();
    if (!ids_.empty()) {
      std::vector<std::string_view> arguments = {"CLIENT", "LIST", "ID"};
      arguments.insert(arguments.end(), ids_.begin(), ids_.end());
      const protocol::Reply list = commands_.Call(arguments, now);
      if (list.IsError()) return RefusalOf(list);
      for (std::string_view rest = list.text; !rest.empty();) {
        clients_.push_back(ClientOf(TakeUpTo(rest, "\n")));
      }
    }
    const bool is_full = clients_.size() >= query_.count_max;
    if (!is_end && !is_full) return std::nullopt;
    return JsonAnswer({{"clients", std::move(clients_)},
                       {"connected", commands_.server().clients.size()},
                       {"next", is_end ? 0 : last_}});
  }

 private:
  // Returns true if there are no more connections.
  bool FindNext() {
    ids_.clear();
    const auto& clients = commands_.server().clients.all();
    auto client = clients.upper_bound(last_);
    std::size_t looked_at = 0;
    while (client != clients.end() && looked_at++ < kLookedAtPerStep &&
           ids_.size() < kDescribedPerStep && clients_.size() + ids_.size() < query_.count_max) {
      last_ = client->first;
      const bool is_wanted = !query_.is_only_waiting || client->second->wait.is_waiting();
      if (is_wanted) ids_.push_back(std::to_string(client->first));
      ++client;
    }
    return client == clients.end();
  }

  CommandCaller& commands_;
  const ClientQuery query_;
  std::uint64_t last_;
  std::vector<std::string> ids_;
  boost::json::array clients_;
};

}  // namespace

std::unique_ptr<Job> ListClients(CommandCaller& commands, const ClientQuery& query) {
  return std::make_unique<ClientPages>(commands, query);
}

}  // namespace fairlock::http

#include "server/services/user_service.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "server/access/slow_hash.h"
#include "server/access/user_table.h"
#include "server/command/handlers/command_families.h"
#include "server/config/config_file.h"
#include "server/config/config_values.h"
#include "server/net/clock.h"
#include "server/net/tls/tls_context.h"
#include "text/file.h"

namespace fairlock::server {

namespace {

// The limit on password checks in progress. Each takes about 10 ms; further clients are told to
// retry.
constexpr std::size_t kChecksMax = 64;

constexpr const char* kOpenDoor =
    "other machines can connect (bind) and no password is needed: give --requirepass or "
    "--acl-file, bind to 127.0.0.1, or allow it with --allow-open-bind yes";

access::UsersRead ReadUsersOf(const Config& config, const access::Vocabulary& vocabulary) {
  access::UserSource source{.acl_text = std::nullopt, .default_password = config.requirepass};
  if (!config.acl_file.empty()) {
    if (std::string why = WhyUntrusted("acl_file: ", config.acl_file); !why.empty()) {
      return {.users = nullptr, .error = std::move(why)};
    }
    text::FileContent file = text::ReadFile(config.acl_file);
    if (!file.is_read()) {
      return {.users = nullptr,
              .error = "acl_file: " + config.acl_file + " cannot be read: " + file.reason()};
    }
    // An empty file is valid: it defines no users, so nobody can log in.
    source.acl_text = std::move(file.bytes);
  }
  access::UsersRead read = access::ReadUsers(source, vocabulary);
  if (!read.error.empty() && source.acl_text) {
    read.error.insert(0, "acl_file: " + config.acl_file + " ");
  }
  return read;
}

}  // namespace

std::string CheckUsers(const Config& config) {
  const auto read = ReadUsersOf(config, command::VocabularyOf(command::WholeLanguage()));
  if (!read.error.empty()) return read.error;
  const bool asks_for_nothing =
      config.port != 0 ||
      (config.tls_port != 0 && config.tls_auth_clients != net::ClientCertificates::kRequired);
  const bool is_reachable = asks_for_nothing && !std::ranges::all_of(config.bind, IsLoopback);
  const bool is_open_door = is_reachable && read.users->IsOpen() && !config.allow_open_bind;
  return is_open_door ? kOpenDoor : "";
}

UserService::UserService(command::ServerParts& parts, net::TurnLoop& loop, Log& log,
                         const Config& config)
    : parts_(parts), to_loop_(loop.io_context()), log_(log), config_(config) {}

UserService::~UserService() {
  if (!checker_) return;
  checker_->stop();
  checker_->join();
}

std::string UserService::Load(const Config& config) {
  AssertInLoop();
  access::UsersRead read = ReadUsersOf(config, parts_.access.vocabulary());
  if (!read.error.empty()) return read.error;
  const bool may_be_open = config.allow_open_bind;
  if (is_reachable_ && read.users->IsOpen() && !may_be_open) return kOpenDoor;
  requirepass_ = config.requirepass;
  may_be_open_ = may_be_open;
  parts_.log_ins.failures().set_per_minute_max(config.max_failed_log_ins);
  parts_.log_ins.ForgetOthers(*read.users);
  if (!config.acl_file.empty()) {
    log_.Info("{} users were read from {}", read.users->users().size(), config.acl_file);
  }
  parts_.access_review.SetUsers(std::move(read.users), net::BoottimeMs());
  return "";
}

std::string UserService::ReloadUsers() {
  if (config_.acl_file.empty()) return "there is no ACL file; start the server with --acl-file";
  return Load(config_);
}

std::string UserService::Apply(const Config& config, bool is_rereading) {
  parts_.log_ins.failures().set_per_minute_max(config.max_failed_log_ins);
  const bool is_changed =
      config.requirepass != requirepass_ || config.allow_open_bind != may_be_open_;
  return is_changed || is_rereading ? Load(config) : "";
}

std::string UserService::GuardDoor(std::span<const net::ListeningSocket> sockets,
                                   const Config& config) {
  // Requiring a certificate protects as well as requiring a password.
  const bool asks_for_certificates = config.tls_auth_clients == net::ClientCertificates::kRequired;
  is_reachable_ = !std::ranges::all_of(sockets, [&](const net::ListeningSocket& socket) {
    return IsLocalSocket(socket.name) || (socket.is_tls && asks_for_certificates);
  });
  const bool is_open = parts_.access.users().IsOpen();
  if (is_reachable_ && is_open && !may_be_open_) return kOpenDoor;
  if (is_reachable_ && is_open) {
    log_.Warning(
        "allow_open_bind: every client that reaches the port can take and break every lock");
  }
  return "";
}

bool UserService::StartPasswordCheck(command::PasswordQuestion question,
                                     std::uint64_t comparison_id) {
  if (checks_ == kChecksMax) return false;
  ++checks_;
  if (!checker_) checker_.emplace(1);
  const auto asked = std::make_shared<command::PasswordQuestion>(std::move(question));
  boost::asio::post(*checker_, [this, asked, comparison_id] {
    const auto match = std::ranges::find_if(asked->stored, [&](const std::string& stored) {
      return access::IsPasswordOf(stored, asked->password);
    });
    std::optional<std::size_t> place;
    if (match != asked->stored.end()) {
      place = static_cast<std::size_t>(match - asked->stored.begin());
    }
    explicit_bzero(asked->password.data(), asked->password.size());
    to_loop_.Post([this, comparison_id, place] { EndCheck(comparison_id, place); });
  });
  return true;
}

void UserService::EndCheck(std::uint64_t comparison_id, std::optional<std::size_t> match) {
  AssertInLoop();
  --checks_;
  parts_.log_ins.Finish(comparison_id, match, net::BoottimeMs());
}

}  // namespace fairlock::server

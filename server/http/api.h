// Finds the route of a request, checks whether the request is allowed, and calls the handler.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/command_caller.h"
#include "server/http/exchange.h"
#include "server/http/route.h"
#include "server/http/target.h"

namespace fairlock::http {

struct ApiOptions {
  // The names by which requests may address this server, in addition to numeric addresses. A
  // request that uses another name is refused, because it may come from DNS rebinding.
  std::vector<std::string> host_names = {};
  // The bearer token for requests that change something; empty: such requests are refused.
  std::string token = {};
  // Whether read requests need the token too, even if clients need no password.
  bool is_token_for_reading = false;
  // Whether this server speaks HTTPS. It then sends credentials to no node that does not.
  bool is_https = false;
  engine::DurationMs wait_ms_max = 0;  // http_wait_max
  std::string terraform_lease = "0";   // in milliseconds; 0 for the longest
};

// A file of the dashboard, embedded in the program.
struct Asset {
  std::string_view path;
  std::string_view content_type;
  std::string_view content_encoding;  // "gzip", or empty
  std::string tag;                    // ETag
  std::string_view bytes;
};

// Loop-confined.
class Api {
 public:
  // `assets` and `figures` must outlive this object.
  Api(ApiOptions options, std::span<const Asset> assets, Figures& figures);

  void set_options(ApiOptions options) { options_ = std::move(options); }

  // The returned job, if any, must not outlive `commands`. `may_wait`: there is room for one more
  // request that waits for a lock.
  Outcome Take(const Request& request, CommandCaller& commands, bool may_wait,
               engine::TimeMs now) const;

  // Whether the answer depends on the user. If it does not, no password is compared, so that
  // neither a foreign page that makes a browser send requests here nor a request for an open page
  // can cause a failed log-in.
  [[nodiscard]] bool DependsOnCaller(const Request& request, CommandCaller& commands) const;

  // Returns the user of a request that comes from a page of this server or from no page; null if
  // the request is refused. Used directly for upgrades, which have no route. `commands` belongs to
  // the same connection.
  [[nodiscard]] const access::User* Admit(const Request& request, Access access,
                                          CommandCaller& commands, Answer& refusal) const;

 private:
  bool IsFromHere(const Request& request, Answer& refusal) const;
  bool IsOurHost(std::string_view host) const;
  // Returns the user for requests without credentials; null if credentials are required.
  const access::User* AnybodysUser(const Request& request, Access access,
                                   CommandCaller& commands) const;
  bool HasToken(std::string_view authorization) const;
  Outcome TakeRoute(const Route& route, const Request& request, const Target& target,
                    CommandCaller& commands, bool may_wait, engine::TimeMs now) const;
  const Asset* FindAsset(std::string_view path) const;
  Answer AnswerWithAsset(const Asset& asset, const Request& request) const;

  ApiOptions options_;
  std::span<const Asset> assets_;
  Figures& figures_;
  const std::vector<const Route*> routes_;  // in the order of their families
};

}  // namespace fairlock::http

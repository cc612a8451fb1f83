// Finds the route of a request, decides whether it may be taken, and takes it.
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
  // The names of this server besides numeric addresses. A request under another name is refused,
  // since it may come from DNS rebinding.
  std::vector<std::string> host_names = {};
  // The bearer token for requests that change something; empty: they are refused.
  std::string token = {};
  // Whether requests that only read need the token even if clients need no password.
  bool is_token_for_reading = false;
};

// A file of the page, embedded in the program.
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
  // `assets` and `figures` must outlive it.
  Api(ApiOptions options, std::span<const Asset> assets, Figures& figures);

  void set_options(ApiOptions options) { options_ = std::move(options); }

  // The job, if it becomes one, must not outlive `commands`.
  Outcome Take(const Request& request, CommandCaller& commands, engine::TimeMs now) const;

  // Whether the answer depends on the user. If not, no password is compared: a page of another site
  // that leads a browser here, or a request for an open page, cannot make a log-in fail.
  [[nodiscard]] bool DependsOnCaller(const Request& request, CommandCaller& commands) const;

  // The user of a request that comes from a page of this server or from no page; null: it is
  // refused. For upgrades, which have no route. `commands` are those of its connection.
  [[nodiscard]] const access::User* Admit(const Request& request, Access access,
                                          CommandCaller& commands, Answer& refusal) const;

 private:
  bool IsFromHere(const Request& request, Answer& refusal) const;
  bool IsOurHost(std::string_view host) const;
  // The user for requests without credentials; null: credentials are needed.
  const access::User* AnybodysUser(Access access, CommandCaller& commands) const;
  bool HasToken(std::string_view authorization) const;
  Outcome TakeRoute(const Route& route, const Request& request, const Target& target,
                    CommandCaller& commands, engine::TimeMs now) const;
  const Asset* FindAsset(std::string_view path) const;
  Answer AnswerWithAsset(const Asset& asset, const Request& request) const;

  ApiOptions options_;
  std::span<const Asset> assets_;
  Figures& figures_;
  const std::vector<const Route*> routes_;  // in the order of the families
};

}  // namespace fairlock::http

// Whatever arrives over HTTP, each answer is valid HTTP, and valid JSON where it claims to be; the
// engine's invariants hold afterwards. The first line chooses options; the rest is the input of one
// connection.

#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <boost/json/parse.hpp>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "server/http/api.h"
#include "server/http/command_caller.h"
#include "server/http/event_feed.h"
#include "server/http/minute_figures.h"
#include "server/http/target.h"
#include "server/net/http/http_messages.h"
#include "tests/fuzz/play.h"
#include "tests/unit/server/command/command_test_support.h"

namespace {

namespace beast = boost::beast;
namespace command = fairlock::command;
namespace http = fairlock::http;
namespace net = fairlock::net;

using RequestParser = beast::http::request_parser<beast::http::string_body>;
using ResponseParser = beast::http::response_parser<beast::http::string_body>;

constexpr std::size_t kRequestsMax = 20;
constexpr int kStepsMax = 1000;
// The limits are small enough for fuzzer inputs to reach them.
constexpr fairlock::protocol::RequestLimits kSmallLimits{.arguments_max = 64,
                                                         .argument_bytes_max = 100,
                                                         .request_bytes_max = 200,
                                                         .inline_bytes_max = 100};

const http::Asset kAsset{.path = "/page.css",
                         .content_type = "text/css",
                         .content_encoding = "",
                         .tag = "\"1\"",
                         .bytes = "body{}"};

bool IsJson(std::string_view text) {
  boost::json::error_code error;
  boost::json::parse({text.data(), text.size()}, error);
  return !error;
}

// Sets up locks, waiters and limits for the API to show, and a connection that sends requests.
class Stage {
 public:
  explicit Stage(unsigned choice)
      : api_({.host_names = {"lock.test"},
              .token = (choice & 1U) != 0 ? "" : "secret",
              .is_token_for_reading = (choice & 2U) != 0},
             {&kAsset, 1}, figures_),
        commands_(server_.parts(), {"127.0.0.1:40000", "127.0.0.1:3248", 9}, server_.now(), [] {}) {
    if ((choice & 32U) != 0) {
      server_.SetUsers("user default on >pw ~* &* +@all\nuser u on >p ~order:* &* +@read\n");
    }
    const auto say = [](command::TestClient& client, std::string_view line) { client.Send(line); };
    say(server_.Connect(), "LOCK k1 a PX 5000 LABEL x META 'm\\xff'");
    say(server_.Connect(), "LOCK k1 b WAIT FOREVER KEEP 10s");
    say(server_.Connect(), "LOCK \"k\\xff\" a LIMIT 2");
    say(server_.Connect(), "LIMIT SET 'order:*' 0 REASON 'x'");
    if ((choice & 4U) != 0) server_.parts().pipeline.limits = kSmallLimits;
    server_.parts().availability.set_service(static_cast<command::Service>(choice / 8 % 4));
    figures_.minutes.Note(http::MomentOf(server_.parts(), server_.now()));
  }
  ~Stage() {
    commands_.Detach(server_.now());
    server_.parts().locks.engine().CheckInvariants();
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // Returns false if the connection ends.
  bool Take(const RequestParser& parser) {
    const http::Request request = net::ToRequest(parser.get());
    // In this test, the first call already compares all passwords, so the caller is known.
    const bool is_known = !api_.DependsOnCaller(request, commands_) ||
                          commands_.Identify(request.authorization, server_.now());
    assert(is_known);
    if (beast::websocket::is_upgrade(parser.get())) {
      Watch(request);
      return false;
    }
    Check(Ask(request));
    commands_.Forget();
    server_.AdvanceBy(100);
    return !commands_.is_killed() && parser.get().keep_alive();
  }

 private:
  http::Answer Ask(const http::Request& request) {
    http::Outcome outcome = api_.Take(request, commands_, false, server_.now());
    if (auto* answer = std::get_if<http::Answer>(&outcome)) return std::move(*answer);
    // A single server leads no partition, so no other node can be asked.
    const auto& job = std::get<std::unique_ptr<http::Job>>(outcome);
    for (int i = 0; i < kStepsMax; ++i) {
      std::optional<http::Answer> answer = job->Step(server_.now());
      if (answer) return *std::move(answer);
    }
    assert(false);
    return {};
  }

  static void Check(http::Answer answer) {
    assert(answer.status >= 200 && answer.status < 600);
    if (answer.content_type == "application/json" && answer.status != 304) {
      assert(IsJson(answer.body));
    }
    const std::string body = answer.body;
    const auto response = net::ToResponse(std::move(answer), true);
    beast::http::response_serializer<beast::http::string_body> serializer(response);
    std::string sent;
    beast::error_code error;
    while (!serializer.is_done()) {
      serializer.next(error, [&](beast::error_code&, const auto& buffers) {
        sent += beast::buffers_to_string(buffers);
        serializer.consume(beast::buffer_bytes(buffers));
      });
      assert(!error);
    }
    ResponseParser again;
    again.eager(true);
    again.put(boost::asio::buffer(sent), error);
    assert(!error && again.is_done() && again.get().body() == body);
  }

  void Watch(const http::Request& request) {
    http::Answer refusal;
    const fairlock::access::User* user =
        api_.Admit(request, http::Access::kRead, commands_, refusal);
    if (user == nullptr) return Check(std::move(refusal));
    const std::optional<http::Target> target = http::ParseTarget(request.target);
    const std::string* match = target ? target->FindParameter("match") : nullptr;
    if (match == nullptr) return;
    http::EventFeed feed(
        server_.parts(),
        {.address = {"127.0.0.1:40001", "127.0.0.1:3248", 9}, .user = *user, .match = *match},
        server_.now());
    server_.Connect().Send("LOCK k9 \"a\\xff\"");
    server_.AdvanceBy(10'000);
    const std::string events = feed.TakeEvents();
    assert(events.empty() || IsJson(events));
    feed.Detach(server_.now());
  }

  command::TestServer server_{
      {}, {.history_bytes = fairlock::record::History::kBytesMin, .labels_max = 3}};
  http::Figures figures_;
  const http::Api api_;
  http::CommandCaller commands_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  Stage stage(static_cast<unsigned>(fairlock::fuzz::NumberAt(fairlock::fuzz::TakeLine(rest), 255)));
  for (std::size_t i = 0; i < kRequestsMax && !rest.empty(); ++i) {
    RequestParser parser;
    parser.header_limit(8 * 1024);
    parser.body_limit(64 * 1024);
    parser.eager(true);
    beast::error_code error;
    const std::size_t consumed = parser.put(boost::asio::buffer(rest.data(), rest.size()), error);
    if (error || !parser.is_done() || !stage.Take(parser)) break;
    rest.remove_prefix(consumed);
  }
  return 0;
}

#include "server/net/http/http_forward.h"

#include <boost/asio/post.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <utility>
#include <vector>

#include "server/net/http/http_messages.h"
#include "text/address.h"

namespace fairlock::net {

namespace beast = boost::beast;
namespace beast_http = boost::beast::http;

namespace {

beast_http::verb MethodOf(http::Verb verb) {
  switch (verb) {
    case http::Verb::kPost:
      return beast_http::verb::post;
    case http::Verb::kLock:
      return beast_http::verb::lock;
    case http::Verb::kUnlock:
      return beast_http::verb::unlock;
    default:
      return beast_http::verb::get;
  }
}

beast_http::request<beast_http::string_body> MessageOf(const http::Request& request) {
  using beast_http::field;
  beast_http::request<beast_http::string_body> message;
  message.version(11);
  message.method(MethodOf(request.verb));
  message.target(request.target);
  message.set(field::user_agent, "fairlock");
  message.set(kForwardedHeader, "1");
  if (!request.authorization.empty()) message.set(field::authorization, request.authorization);
  if (!request.content_type.empty()) message.set(field::content_type, request.content_type);
  message.keep_alive(false);
  message.body() = request.body;
  message.prepare_payload();
  return message;
}

std::string TextOf(const boost::asio::ip::tcp::endpoint& endpoint) {
  return text::JoinAddress(endpoint.address().to_string(), endpoint.port());
}

}  // namespace

HttpForward::HttpForward(boost::asio::io_context& io, http::Elsewhere to,
                         const http::Request& request, const TlsClientContext& tls,
                         std::function<void(http::Answer)> done)
    : to_(std::move(to)),
      tls_(tls),
      done_(std::move(done)),
      resolver_(io),
      deadline_(io),
      stream_(boost::asio::ip::tcp::socket(io), nullptr),
      message_(MessageOf(request)),
      wait_max_(http::MayWait(request) ? to_.wait_ms_max : 0) {
  parser_.body_limit(kAnswerBytesMax);
}

std::shared_ptr<HttpForward> HttpForward::Start(boost::asio::io_context& io, http::Elsewhere to,
                                                const http::Request& request,
                                                const TlsClientContext& tls,
                                                std::function<void(http::Answer)> done) {
  const std::shared_ptr<HttpForward> forward(
      new HttpForward(io, std::move(to), request, tls, std::move(done)));
  boost::asio::post(io, [forward] { forward->Begin(); });
  return forward;
}

void HttpForward::Cancel() {
  done_ = nullptr;
  deadline_.cancel();
  resolver_.Cancel();
  stream_.Close();
}

void HttpForward::Begin() {
  if (!done_) return;
  const bool is_change = message_.method() != beast_http::verb::get;
  const auto time_max = (is_change ? kChangeTimeMax : kReadTimeMax) +
                        std::chrono::duration_cast<std::chrono::seconds>(wait_max_);
  deadline_.expires_after(time_max);
  deadline_.async_wait([self = shared_from_this(), time_max](const auto& error) {
    if (error) return;
    self->Fail("did not answer within " + std::to_string(time_max.count()) + " s");
  });
  resolver_.Resolve(to_.host, [self = shared_from_this()](const HostAddresses& addresses) {
    self->Connect(addresses);
  });
}

bool HttpForward::IsOver(const beast::error_code& error) {
  if (!done_) return true;
  if (!error) return false;
  Fail("did not answer: " + error.message());
  return true;
}

void HttpForward::Connect(const HostAddresses& addresses) {
  if (addresses.empty()) return Fail("is not known: its name cannot be resolved");
  std::vector<boost::asio::ip::tcp::endpoint> endpoints;
  for (const auto& address : addresses) endpoints.emplace_back(address, to_.port);
  stream_.next_layer().async_connect(
      endpoints, [self = shared_from_this()](const beast::error_code& error,
                                             const boost::asio::ip::tcp::endpoint& endpoint) {
        if (self->IsOver(error)) return;
        // Every node accepts a numeric address as its own host.
        self->message_.set(beast_http::field::host, TextOf(endpoint));
        self->OnConnected();
      });
}

void HttpForward::OnConnected() {
  if (!to_.is_tls) return Write();
  SslHandle ssl = tls_.NewConnection(to_.host);
  if (ssl == nullptr) return Fail("cannot be verified: " + tls_.error());
  stream_.BeginTls(std::move(ssl));
  stream_.AsyncHandshakeAsClient([self = shared_from_this()](const beast::error_code& error) {
    if (!self->IsOver(error)) self->Write();
  });
}

void HttpForward::Write() {
  beast_http::async_write(stream_, message_,
                          [self = shared_from_this()](const beast::error_code& error, std::size_t) {
                            if (!self->IsOver(error)) self->Read();
                          });
}

void HttpForward::Read() {
  beast_http::async_read(stream_, buffer_, parser_,
                         [self = shared_from_this()](const beast::error_code& error, std::size_t) {
                           if (!self->IsOver(error)) self->OnAnswer();
                         });
}

void HttpForward::OnAnswer() {
  auto& message = parser_.get();
  if (!std::string_view(message[beast_http::field::content_type]).starts_with("application/json")) {
    return Fail("gave an answer that is not fairlock's");
  }
  // This node has accepted the credentials, so a 401 would mislead the caller.
  if (message.result_int() == 401) {
    return End(http::Refusal(503, "NOAUTH",
                             "the leader of partition " + std::to_string(to_.partition) +
                                 " refuses these credentials; its users or its token differ"));
  }
  End({.status = message.result_int(), .body = std::move(message.body())});
}

void HttpForward::Fail(std::string_view why) {
  End(http::Refusal(503, "CLUSTERDOWN",
                    "the leader of partition " + std::to_string(to_.partition) + " at " + to_.host +
                        ":" + std::to_string(to_.port) + " " + std::string(why)));
}

void HttpForward::End(http::Answer answer) {
  const auto done = std::exchange(done_, nullptr);
  if (!done) return;
  Cancel();
  done(std::move(answer));
}

}  // namespace fairlock::net

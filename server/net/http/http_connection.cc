#include "server/net/http/http_connection.h"

#include <algorithm>
#include <array>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <cassert>
#include <utility>

#include "server/http/answers.h"
#include "server/http/event_feed.h"
#include "server/net/http/http_messages.h"
#include "server/net/http/web_socket_connection.h"
#include "server/persist/state_log.h"

namespace fairlock::net {

namespace beast = boost::beast;
namespace beast_http = boost::beast::http;

namespace {

// Whether the target is one that monitoring requests: these are answered even while all connections
// are in use.
bool IsProbe(std::string_view target) {
  constexpr std::array<std::string_view, 4> kPaths = {"/healthz", "/readyz", "/leaderz",
                                                      "/metrics"};
  return std::ranges::find(kPaths, target.substr(0, target.find('?'))) != kPaths.end();
}

}  // namespace

HttpConnection::HttpConnection(Turn& turn, const http::Api& api, HttpConnectionOwner& owner,
                               HttpStream stream, command::ClientAddress address,
                               bool is_for_probes)
    : turn_(turn),
      api_(api),
      owner_(owner),
      stream_(std::move(stream)),
      address_(std::move(address)),
      commands_(turn.server, address_, turn.now,
                [this] {
                  if (wait_.awaited) return Resume();
                  if (caller_ != Caller::kComparing) return;
                  caller_ = Caller::kCompared;
                  turn_.tasks.push_back(this);
                }),
      is_for_probes_(is_for_probes) {}

HttpConnection::~HttpConnection() { assert(is_closed_); }

void HttpConnection::Close() {
  if (std::exchange(is_closed_, true)) return;
  const auto self = shared_from_this();  // keeps this alive when the owner releases it
  job_.reset();
  EndWait();
  if (forward_) forward_->Cancel();
  turn_.Drop(this);
  commands_.Detach(turn_.now);
  stream_.Close();
  owner_.Remove(this);
}

void HttpConnection::Read() {
  if (wait_.is_watching) return;  // the end of that read calls this again
  parser_.emplace();
  parser_->header_limit(kHeaderBytesMax);
  parser_->body_limit(kBodyBytesMax);
  if (buffer_.size() > 0) return ReadHeader();
  Begin(Doing::kIdle);
  stream_.next_layer().expires_after(kIdleMax);
  // The timeout becomes shorter once a request has begun.
  stream_.async_read_some(
      buffer_.prepare(kHeaderBytesMax),
      [self = shared_from_this()](const beast::error_code& error, std::size_t bytes) {
        if (self->is_closed_) return;
        if (error) return self->Close();
        self->buffer_.commit(bytes);
        self->ReadHeader();
      });
}

void HttpConnection::ReadHeader() {
  Begin(Doing::kReceiving);
  stream_.next_layer().expires_after(kTimeMax);
  beast_http::async_read_header(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](const beast::error_code& error, std::size_t) {
        if (error) {
          self->OnRequest(error);
        } else {
          self->ReadBody();
        }
      });
}

void HttpConnection::ReadBody() {
  beast_http::async_read(stream_, buffer_, *parser_,
                         [self = shared_from_this()](const beast::error_code& error, std::size_t) {
                           self->OnRequest(error);
                         });
}

void HttpConnection::OnRequest(const beast::error_code& error) {
  if (is_closed_) return;
  if (error) return RefuseUnread(error);
  is_head_ = parser_->get().method() == beast_http::verb::head;
  is_kept_alive_ = parser_->get().keep_alive();
  stream_.next_layer().expires_never();
  Begin(Doing::kAnswering);
  caller_ = Caller::kUnknown;
  turn_.tasks.push_back(this);
}

bool HttpConnection::Admit(std::string_view target) {
  if (!is_for_probes_) return true;
  if (owner_.HasRoomForAll()) {
    is_for_probes_ = false;
    return true;
  }
  is_kept_alive_ = false;
  if (IsProbe(target)) return true;
  Send(http::Refusal(503, "TRYAGAIN",
                     "too many HTTP connections (http_max_clients); only probes are answered"));
  return false;
}

void HttpConnection::RefuseUnread(const beast::error_code& error) {
  is_kept_alive_ = false;
  if (error == beast_http::error::header_limit) {
    return Send(http::Refusal(431, "ERR", "the header is larger than 8 KB"));
  }
  if (error == beast_http::error::body_limit) {
    return Send(http::Refusal(413, "ERR", "the body is larger than 64 KB"));
  }
  const bool is_broken =
      error.category() == beast_http::make_error_code(beast_http::error::bad_method).category();
  if (is_broken && error != beast_http::error::end_of_stream &&
      error != beast_http::error::partial_message) {
    return Send(http::Refusal(400, "ERR", "this is not HTTP: " + error.message()));
  }
  Close();
}

void HttpConnection::TakeTurn(engine::TimeMs now) {
  const auto self = shared_from_this();
  if (commands_.is_killed()) return Close();
  if (answer_) return SendWhenPersisted();
  if (wait_.awaited) {
    wait_.is_resumed = false;
    if (commands_.is_waiting()) return;
    const auto make_answer = std::move(wait_.awaited->answer);
    EndWait();
    return Conclude(make_answer(commands_.TakeReply()));
  }
  if (job_ == nullptr) {
    if (auto refusal = RefusalOfHeaders(parser_->get())) {
      is_kept_alive_ = false;
      return Send(*std::move(refusal));
    }
    const http::Request request = ToRequest(parser_->get());
    if (!Admit(request.target)) return;
    if (!Identify(request, now)) return;
    if (beast::websocket::is_upgrade(parser_->get())) return TakeOver(request, now);
    http::Outcome outcome = api_.Take(request, commands_, owner_.HasRoomToWait(), now);
    if (http::Answer* answer = std::get_if<http::Answer>(&outcome)) {
      return Conclude(std::move(*answer));
    }
    if (const auto* elsewhere = std::get_if<http::Elsewhere>(&outcome)) {
      return Forward(*elsewhere, request);
    }
    if (auto* awaited = std::get_if<http::AwaitedReply>(&outcome)) {
      return BeginWait(std::move(*awaited));
    }
    job_ = std::move(std::get<std::unique_ptr<http::Job>>(outcome));
  }
  std::optional<http::Answer> answer = job_->Step(now);
  if (!answer) return turn_.tasks.push_back(this);
  job_.reset();
  Conclude(*std::move(answer));
}

bool HttpConnection::Identify(const http::Request& request, engine::TimeMs now) {
  if (caller_ == Caller::kUnknown) {
    const bool is_asked = api_.DependsOnCaller(request, commands_);
    if (is_asked && !commands_.Identify(request.authorization, now)) {
      caller_ = Caller::kComparing;
      return false;
    }
  } else {
    commands_.EndLogIn();
  }
  caller_ = Caller::kKnown;
  return true;
}

void HttpConnection::BeginWait(http::AwaitedReply awaited) {
  wait_.awaited = std::move(awaited);
  owner_.NoteWaiting(1);
  Watch();
}

// A client that has gone must not be granted a lock. One that sends more than a header of its next
// request is not watched any more.
void HttpConnection::Watch() {
  if (buffer_.size() >= kHeaderBytesMax) return;
  wait_.is_watching = true;
  stream_.async_read_some(
      buffer_.prepare(kHeaderBytesMax),
      [self = shared_from_this()](const beast::error_code& error, std::size_t bytes) {
        self->wait_.is_watching = false;
        if (self->is_closed_) return;
        self->buffer_.commit(bytes);
        if (self->wait_.awaited || self->forward_) return error ? self->Close() : self->Watch();
        if (error && error != boost::asio::error::operation_aborted) return self->Close();
        if (self->state().doing == Doing::kIdle) self->Read();
      });
}

void HttpConnection::Resume() {
  if (!std::exchange(wait_.is_resumed, true)) turn_.tasks.push_back(this);
}

void HttpConnection::EndWait() {
  if (!wait_.awaited) return;
  wait_.awaited.reset();
  owner_.NoteWaiting(-1);
  if (wait_.is_watching) stream_.next_layer().cancel();
}

void HttpConnection::Conclude(http::Answer answer) {
  answer_ = std::move(answer);
  answer_batch_ = 0;
  if (commands_.TakeStateDependency() && turn_.state_log != nullptr) {
    answer_batch_ = turn_.state_log->Seal(turn_.now);
  }
  SendWhenPersisted();
}

void HttpConnection::SendWhenPersisted() {
  if (turn_.state_log != nullptr && answer_batch_ > turn_.state_log->completed_batch()) {
    return turn_.held_tasks.push_back(this);
  }
  Send(*std::exchange(answer_, std::nullopt));
}

void HttpConnection::TakeOver(const http::Request& request, engine::TimeMs now) {
  http::Answer refusal;
  const access::User* user = api_.Admit(request, http::Access::kRead, commands_, refusal);
  if (user == nullptr) return Send(std::move(refusal));
  const std::optional<std::string> match = WebSocketConnection::MatchOf(request.target);
  if (!match || request.partition) {
    return Send(http::Refusal(404, "ERR", "only /api/v1/events?match=GLOB is a WebSocket"));
  }
  auto feed = std::make_unique<http::EventFeed>(
      turn_.server, http::EventFeed::Watcher{.address = address_, .user = *user, .match = *match},
      now);
  if (feed->error()) {
    refusal = http::RefusalOf(*feed->error());
    feed->Detach(now);
    return Send(std::move(refusal));
  }
  auto next =
      std::make_shared<WebSocketConnection>(turn_, owner_, std::move(stream_), std::move(feed));
  owner_.Add(next);
  next->Start(parser_->release());
  Close();
}

void HttpConnection::Forward(const http::Elsewhere& to, const http::Request& request) {
  forward_ = owner_.Forward(to, request, [self = shared_from_this()](http::Answer answer) {
    self->forward_.reset();
    if (self->wait_.is_watching) self->stream_.next_layer().cancel();
    self->Send(std::move(answer));
  });
  if (forward_) {
    if (http::MayWait(request)) Watch();
    return;
  }
  Send(http::Refusal(503, "TRYAGAIN",
                     "too many requests for other partitions are in progress; try again"));
}

void HttpConnection::Send(http::Answer answer) {
  // While a connection is idle, no user is logged in on it.
  commands_.Forget();
  response_ = ToResponse(std::move(answer), is_kept_alive_);
  if (is_head_) {
    // Content-Length remains the size of the omitted body.
    response_.body().clear();
  }
  stream_.next_layer().expires_after(kTimeMax);
  Begin(Doing::kSending);
  beast_http::async_write(stream_, response_,
                          [self = shared_from_this()](const beast::error_code& error, std::size_t) {
                            self->OnSent(error);
                          });
}

void HttpConnection::OnSent(const beast::error_code& error) {
  if (is_closed_) return;
  if (error) return Close();
  response_ = {};
  commands_.NoticeSent();
  if (is_kept_alive_) {
    Begin(Doing::kIdle);
    return Read();
  }
  stream_.next_layer().expires_after(kLingerMax);
  End();
}

void HttpConnection::End() {
  if (stream_.is_tls()) {
    return stream_.AsyncShutdown(
        [self = shared_from_this()](const beast::error_code&) { self->Close(); });
  }
  beast::error_code ignored;
  stream_.next_layer().socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
  Linger();
}

// Reads until the peer closes: closing with unread bytes would make the kernel drop the answer.
void HttpConnection::Linger() {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(kHeaderBytesMax),
                          [self = shared_from_this()](const beast::error_code& error, std::size_t) {
                            if (self->is_closed_) return;
                            if (error) return self->Close();
                            self->Linger();
                          });
}

}  // namespace fairlock::net

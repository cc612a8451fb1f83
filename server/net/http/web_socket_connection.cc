#include "server/net/http/web_socket_connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/error.hpp>
#include <cassert>
#include <utility>

#include "server/http/target.h"
#include "server/persist/state_log.h"

namespace fairlock::net {

namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;

namespace {

constexpr std::size_t kMessageBytesMax = 1024;

}  // namespace

WebSocketConnection::WebSocketConnection(Turn& turn, HttpConnectionOwner& owner, HttpStream stream,
                                         std::unique_ptr<http::EventFeed> feed)
    : turn_(turn), owner_(owner), stream_(std::move(stream)), feed_(std::move(feed)) {
  feed_->set_notice([this] { EnterTurn(); });
  // Pings a silent client, and closes the connection if it does not answer.
  stream_.set_option(websocket::stream_base::timeout::suggested(beast::role_type::server));
  stream_.read_message_max(kMessageBytesMax);
}

WebSocketConnection::~WebSocketConnection() { assert(is_closed_); }

std::optional<std::string> WebSocketConnection::MatchOf(std::string_view target) {
  const std::optional<http::Target> parsed = http::ParseTarget(target);
  if (!parsed || parsed->segments != std::vector<std::string>{"api", "v1", "events"}) {
    return std::nullopt;
  }
  const std::string* match = parsed->FindParameter("match");
  return match == nullptr ? "*" : *match;
}

void WebSocketConnection::Start(beast::http::request<beast::http::string_body> request) {
  request_ = std::move(request);
  Begin(Doing::kReceiving);
  stream_.async_accept(request_, [self = shared_from_this()](const beast::error_code& error) {
    self->OnAccepted(error);
  });
}

void WebSocketConnection::OnAccepted(const beast::error_code& error) {
  if (error || is_closed_) return Close();
  is_open_ = true;
  Begin(Doing::kAnswering);
  stream_.text(true);
  EnterTurn();
  Read();
}

void WebSocketConnection::Read() {
  stream_.async_read(received_,
                     [self = shared_from_this()](const beast::error_code& error, std::size_t) {
                       if (error) return self->Close();
                       self->received_.clear();
                       if (!self->is_closed_) self->Read();
                     });
}

void WebSocketConnection::EnterTurn() {
  if (is_closed_ || std::exchange(is_in_turn_, true)) return;
  turn_.tasks.push_back(this);
}

void WebSocketConnection::TakeTurn(engine::TimeMs) {
  const auto self = shared_from_this();
  is_in_turn_ = false;
  if (feed_->is_over()) return Close();
  if (!is_open_ || is_sending_) return;
  if (sending_.empty()) {
    sending_ = feed_->TakeEvents();
    if (sending_.empty()) return;
    const bool is_news = feed_->TakeStateDependency() && turn_.state_log != nullptr;
    batch_ = is_news ? turn_.state_log->Seal(turn_.now) : 0;
  }
  if (turn_.state_log != nullptr && batch_ > turn_.state_log->completed_batch()) {
    is_in_turn_ = true;
    return turn_.held_tasks.push_back(this);
  }
  is_sending_ = true;
  stream_.async_write(boost::asio::buffer(sending_),
                      [self = shared_from_this()](const beast::error_code& error, std::size_t) {
                        if (error) return self->Close();
                        self->sending_.clear();
                        self->is_sending_ = false;
                        self->EnterTurn();
                      });
}

void WebSocketConnection::Close() {
  if (std::exchange(is_closed_, true)) return;
  const auto self = shared_from_this();  // keeps this alive when the owner releases it
  turn_.Drop(this);
  feed_->Detach(turn_.now);
  beast::get_lowest_layer(stream_).close();
  owner_.Remove(this);
}

}  // namespace fairlock::net

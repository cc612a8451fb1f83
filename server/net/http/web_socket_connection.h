// Sends events of locks over one WebSocket.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/event_feed.h"
#include "server/net/http/http_connection.h"
#include "server/net/http/http_stream.h"
#include "server/net/turn/turn.h"

namespace fairlock::net {

// Writes the events since the last write as one text message, a JSON array. Closes when the client
// reads too slowly. Ignores what the client sends. Its owner and its pending operations keep it
// alive until it closes. Loop-confined.
class WebSocketConnection final : public HttpPeer,
                                  public TurnTask,
                                  public std::enable_shared_from_this<WebSocketConnection> {
 public:
  WebSocketConnection(Turn& turn, HttpConnectionOwner& owner, HttpStream stream,
                      std::unique_ptr<http::EventFeed> feed);
  ~WebSocketConnection() override;

  // The glob for keys that the target contains; none if the target is not the one for events.
  static std::optional<std::string> MatchOf(std::string_view target);

  void Start(boost::beast::http::request<boost::beast::http::string_body> request);
  void Close() override;

  void TakeTurn(engine::TimeMs now) override;

 private:
  void OnAccepted(const boost::beast::error_code& error);
  void Read();
  void EnterTurn();

  Turn& turn_;
  HttpConnectionOwner& owner_;
  boost::beast::websocket::stream<HttpStream> stream_;
  const std::unique_ptr<http::EventFeed> feed_;
  boost::beast::http::request<boost::beast::http::string_body> request_;
  boost::beast::flat_buffer received_;
  std::string sending_;
  std::uint64_t batch_ = 0;  // the batch that must be complete before sending_ may be sent
  bool is_sending_ = false;
  bool is_in_turn_ = false;
  bool is_open_ = false;
  bool is_closed_ = false;
};

}  // namespace fairlock::net

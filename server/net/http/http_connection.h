// One HTTP connection: reads requests, has them answered in a turn, and writes the answers.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/api.h"
#include "server/http/command_caller.h"
#include "server/net/http/http_forward.h"
#include "server/net/http/http_peer.h"
#include "server/net/http/http_stream.h"
#include "server/net/turn/turn.h"

namespace fairlock::net {

// Answers one request after the other. Its owner and its pending operation keep it alive until it
// closes. Loop-confined.
class HttpConnection final : public HttpPeer,
                             public TurnTask,
                             public std::enable_shared_from_this<HttpConnection> {
 public:
  static constexpr std::size_t kHeaderBytesMax = 8 * 1024;
  static constexpr std::size_t kBodyBytesMax = 64 * 1024;
  // The time allowed for a request, from its first byte to its last, and for sending the answer.
  static constexpr std::chrono::seconds kTimeMax{15};
  // The time allowed until the next request begins.
  static constexpr std::chrono::seconds kIdleMax{75};
  // The time that the peer has to read the last answer and to close.
  static constexpr std::chrono::seconds kLingerMax{2};

  // `is_for_probes` means that it was accepted although all other connections are in use, to answer
  // only the requests by which monitoring looks at the server.
  HttpConnection(Turn& turn, const http::Api& api, HttpConnectionOwner& owner, HttpStream stream,
                 command::ClientAddress address, bool is_for_probes);
  ~HttpConnection() override;

  void Start() { Read(); }
  void Close() override;

  void TakeTurn(engine::TimeMs now) override;

 private:
  using Message = boost::beast::http::request<boost::beast::http::string_body>;
  using Response = boost::beast::http::response<boost::beast::http::string_body>;

  // Whether the user who sent the current request is known.
  enum class Caller : std::uint8_t { kUnknown, kComparing, kCompared, kKnown };

  void Read();
  void ReadHeader();
  void ReadBody();
  void OnRequest(const boost::beast::error_code& error);
  // Whether it may answer the request. False after it has refused it.
  bool Admit(std::string_view target);
  void RefuseUnread(const boost::beast::error_code& error);
  // Finds out who sent the request. Returns false while a password is being compared, because the
  // answer must wait.
  bool Identify(const http::Request& request, engine::TimeMs now);
  void TakeOver(const http::Request& request, engine::TimeMs now);
  void Forward(const http::Elsewhere& to, const http::Request& request);
  // While a request waits for a lock, notices that its client is gone.
  void BeginWait(http::AwaitedReply awaited);
  void Watch();
  void Resume();
  void EndWait();
  void Conclude(http::Answer answer);
  // A response that reveals locks waits until their state is stored.
  void SendWhenPersisted();
  void Send(http::Answer answer);
  void OnSent(const boost::beast::error_code& error);
  void End();
  void Linger();

  Turn& turn_;
  const http::Api& api_;
  HttpConnectionOwner& owner_;
  HttpStream stream_;
  const command::ClientAddress address_;
  http::CommandCaller commands_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  std::unique_ptr<http::Job> job_;
  std::shared_ptr<HttpForward> forward_;  // while another node makes the answer
  std::optional<http::Answer> answer_;    // while it waits for the journal
  std::uint64_t answer_batch_ = 0;
  Response response_;
  Caller caller_ = Caller::kUnknown;
  bool is_for_probes_;
  struct {
    std::optional<http::AwaitedReply> awaited = {};  // while its command waits for a lock
    bool is_resumed = false;   // it takes a turn, because its wait may be over
    bool is_watching = false;  // a read is pending that began during a wait
  } wait_;
  bool is_head_ = false;
  bool is_kept_alive_ = false;
  bool is_closed_ = false;
};

}  // namespace fairlock::net

// Passes one request on to the node that leads another partition, and returns that node's answer.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/exchange.h"
#include "server/net/http/http_stream.h"
#include "server/net/relay/host_resolver.h"
#include "server/net/tls/tls_client_context.h"

namespace fairlock::net {

// The request carries the credentials of the caller and no others. Its pending operations keep it
// alive. Loop-confined.
class HttpForward final : public std::enable_shared_from_this<HttpForward> {
 public:
  // The time allowed until the answer to a GET or a POST has arrived. A POST may end holds on very
  // many locks. The page waits 10 s.
  static constexpr std::chrono::seconds kReadTimeMax{5};
  static constexpr std::chrono::seconds kChangeTimeMax{9};
  static constexpr std::size_t kAnswerBytesMax = 8 * 1024 * 1024;

  // Calls `done` once, after this call has returned, unless Cancel is called first. `tls` is used
  // if the node speaks HTTPS.
  static std::shared_ptr<HttpForward> Start(boost::asio::io_context& io, http::Elsewhere to,
                                            const http::Request& request,
                                            const TlsClientContext& tls,
                                            std::function<void(http::Answer)> done);
  HttpForward(const HttpForward&) = delete;
  HttpForward& operator=(const HttpForward&) = delete;

  void Cancel();

 private:
  using Message = boost::beast::http::request<boost::beast::http::string_body>;
  using Parser = boost::beast::http::response_parser<boost::beast::http::string_body>;

  HttpForward(boost::asio::io_context& io, http::Elsewhere to, const http::Request& request,
              const TlsClientContext& tls, std::function<void(http::Answer)> done);

  void Begin();
  void Connect(const HostAddresses& addresses);
  void OnConnected();
  void Write();
  void Read();
  void OnAnswer();
  // Ends with an answer that says why the node's own answer is missing.
  void Fail(std::string_view why);
  void End(http::Answer answer);
  // Whether an operation failed, or came too late; if so, the forward is over.
  bool IsOver(const boost::beast::error_code& error);

  const http::Elsewhere to_;
  const TlsClientContext& tls_;
  std::function<void(http::Answer)> done_;  // null once it has been called
  HostResolver resolver_;
  boost::asio::steady_timer deadline_;
  HttpStream stream_;
  Message message_;
  const std::chrono::milliseconds wait_max_;
  boost::beast::flat_buffer buffer_;
  Parser parser_;
};

}  // namespace fairlock::net

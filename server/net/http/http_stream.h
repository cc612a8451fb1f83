// The stream of an HTTP connection, with or without TLS.
#pragma once

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "server/net/tls/tls_context.h"

namespace fairlock::net {

// A stream with the interface that Beast requires. Any TLS handshake is already complete. A
// moved-from stream can only be closed. Beast compiles each of its operations for this type alone:
// which stream it stands for is decided at run time. Loop-confined.
class HttpStream {
 public:
  using Tcp = boost::beast::tcp_stream;
  using next_layer_type = Tcp;
  using executor_type = Tcp::executor_type;
  using Error = boost::system::error_code;

  // `ssl` is null without TLS.
  HttpStream(boost::asio::ip::tcp::socket socket, SslHandle ssl);
  HttpStream(HttpStream&& other) noexcept;
  HttpStream& operator=(HttpStream&& other) noexcept;
  ~HttpStream();

  executor_type get_executor() { return tcp_->get_executor(); }
  Tcp& next_layer() { return *tcp_; }
  const Tcp& next_layer() const { return *tcp_; }
  bool is_tls() const { return tls_ != nullptr; }

  // Reads into the first of `buffers` that is not empty.
  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    boost::asio::mutable_buffer first;
    for (auto at = boost::asio::buffer_sequence_begin(buffers);
         first.size() == 0 && at != boost::asio::buffer_sequence_end(buffers); ++at) {
      first = *at;
    }
    ReadSome(first, Erased(std::forward<Handler>(handler)));
  }

  // Writes from the first four of `buffers` that are not empty.
  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    ConstBuffers some;
    std::size_t count = 0;
    for (auto at = boost::asio::buffer_sequence_begin(buffers);
         count < some.size() && at != boost::asio::buffer_sequence_end(buffers); ++at) {
      const boost::asio::const_buffer buffer = *at;
      if (buffer.size() > 0) some[count++] = buffer;
    }
    WriteSome(some, Erased(std::forward<Handler>(handler)));
  }

  // Turns a plain stream into one with TLS, whose handshake comes next.
  void BeginTls(SslHandle ssl);

  // REQUIRES: BeginTls was called, for the client's side of a connection.
  void AsyncHandshakeAsClient(std::function<void(const Error&)> done);

  // Tells the peer that no more data follows, and waits for the peer to do the same. REQUIRES:
  // is_tls.
  void AsyncShutdown(std::function<void(const Error&)> done);

  void Close();

 private:
  struct Tls;
  using ConstBuffers = std::array<boost::asio::const_buffer, 4>;

  // What is called with the result of a read or a write, whatever its type.
  class Completion {
   public:
    virtual ~Completion() = default;
    // Frees `self`, which is this object, before it calls the handler.
    virtual void Complete(std::unique_ptr<Completion> self, const Error& error,
                          std::size_t bytes) = 0;
  };
  using CompletionHandle = std::unique_ptr<Completion>;

  template <typename Handler>
  class CompletionOf final : public Completion {
   public:
    explicit CompletionOf(Handler handler) : handler_(std::move(handler)) {}
    void Complete(std::unique_ptr<Completion> self, const Error& error,
                  std::size_t bytes) override {
      Handler handler = std::move(handler_);
      self.reset();
      handler(error, bytes);
    }

   private:
    Handler handler_;
  };

  template <typename Handler>
  static CompletionHandle Erased(Handler&& handler) {
    return std::make_unique<CompletionOf<std::decay_t<Handler>>>(std::forward<Handler>(handler));
  }

  static auto HandlerOf(CompletionHandle completion);
  void ReadSome(boost::asio::mutable_buffer buffer, CompletionHandle completion);
  void WriteSome(const ConstBuffers& buffers, CompletionHandle completion);

  std::unique_ptr<Tcp> tcp_;
  std::unique_ptr<Tls> tls_;  // null without TLS
};

// Beast finds these functions by name and uses them to end a WebSocket after it has sent the
// closing frame.
template <typename Handler>
void async_teardown(boost::beast::role_type role, HttpStream& stream, Handler&& handler) {
  using boost::beast::websocket::async_teardown;
  async_teardown(role, stream.next_layer().socket(), std::forward<Handler>(handler));
}

inline void teardown(boost::beast::role_type role, HttpStream& stream,
                     boost::beast::error_code& error) {
  using boost::beast::websocket::teardown;
  teardown(role, stream.next_layer().socket(), error);
}

}  // namespace fairlock::net

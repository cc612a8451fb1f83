#include "server/net/http/http_stream.h"

#include <boost/asio/ssl/stream.hpp>

namespace fairlock::net {

struct HttpStream::Tls : boost::asio::ssl::stream<HttpStream::Tcp&> {
  using stream::stream;
};

HttpStream::HttpStream(boost::asio::ip::tcp::socket socket, SslHandle ssl)
    : tcp_(std::make_unique<Tcp>(std::move(socket))) {
  if (ssl != nullptr) BeginTls(std::move(ssl));
}

HttpStream::HttpStream(HttpStream&& other) noexcept = default;
HttpStream& HttpStream::operator=(HttpStream&& other) noexcept = default;
HttpStream::~HttpStream() = default;

void HttpStream::BeginTls(SslHandle ssl) { tls_ = std::make_unique<Tls>(*tcp_, ssl.release()); }

auto HttpStream::HandlerOf(CompletionHandle completion) {
  return [completion = std::move(completion)](const Error& error, std::size_t bytes) mutable {
    Completion& what = *completion;
    what.Complete(std::move(completion), error, bytes);
  };
}

void HttpStream::ReadSome(boost::asio::mutable_buffer buffer, CompletionHandle completion) {
  auto done = HandlerOf(std::move(completion));
  if (tls_ != nullptr) {
    tls_->async_read_some(buffer, std::move(done));
  } else {
    tcp_->async_read_some(buffer, std::move(done));
  }
}

void HttpStream::WriteSome(const ConstBuffers& buffers, CompletionHandle completion) {
  auto done = HandlerOf(std::move(completion));
  if (tls_ != nullptr) {
    tls_->async_write_some(buffers, std::move(done));
  } else {
    tcp_->async_write_some(buffers, std::move(done));
  }
}

void HttpStream::AsyncHandshakeAsClient(std::function<void(const Error&)> done) {
  tls_->async_handshake(boost::asio::ssl::stream_base::client, std::move(done));
}

void HttpStream::AsyncShutdown(std::function<void(const Error&)> done) {
  tls_->async_shutdown(std::move(done));
}

void HttpStream::Close() {
  if (tcp_ != nullptr) tcp_->close();
}

}  // namespace fairlock::net

#include "stream.h"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

namespace fairlock::client {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using asio::awaitable;
using asio::use_awaitable;

namespace {

bool IsNumber(const std::string& host) {
  boost::system::error_code error;
  asio::ip::make_address(host, error);
  return !error;
}

// Calls a function that reads a file, and names that file if it cannot be used.
template <typename Use>
void UseFile(const char* setting, const std::string& file, Use use) {
  boost::system::error_code error;
  use(error);
  if (error) throw Refused(std::string(setting) + " " + file + ": " + error.message());
}

}  // namespace

Address ParseAddress(const std::string& text, const std::string& default_port) {
  if (!text.empty() && text.front() == '/') return {{}, text};
  const auto colon = text.rfind(':');
  const bool has_port = colon != std::string::npos && text.find(']', colon) == std::string::npos;
  std::string host = has_port ? text.substr(0, colon) : text;
  if (host.size() > 1 && host.front() == '[') host = host.substr(1, host.size() - 2);
  if (host.empty()) throw Refused("an address is HOST:PORT or /PATH, got \"" + text + "\"");
  return {host, has_port ? text.substr(colon + 1) : default_port};
}

std::string NameOf(const Address& address) {
  if (address.host.empty()) return address.port;
  const bool is_ipv6 = address.host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + address.host + "]" : address.host) + ":" + address.port;
}

ssl::context MakeTls(const Settings& settings) {
  ssl::context tls(ssl::context::tls_client);
  if (!settings.tls) return tls;
  tls.set_verify_mode(ssl::verify_peer);
  if (settings.ca_file.empty()) {
    tls.set_default_verify_paths();
  } else {
    UseFile("ca_file", settings.ca_file,
            [&](auto& error) { tls.load_verify_file(settings.ca_file, error); });
  }
  if (settings.certificate_file.empty()) return tls;
  UseFile("certificate_file", settings.certificate_file,
          [&](auto& error) { tls.use_certificate_chain_file(settings.certificate_file, error); });
  UseFile("key_file", settings.key_file, [&](auto& error) {
    tls.use_private_key_file(settings.key_file, ssl::context::pem, error);
  });
  return tls;
}

Stream::Stream(asio::io_context& io, ssl::context* tls) : plain_(io) {
  if (tls != nullptr) tls_ = std::make_unique<ssl::stream<Socket>>(io, *tls);
}

void Stream::Close() {
  is_closed_ = true;
  boost::system::error_code ignored;
  socket().close(ignored);
}

awaitable<void> Stream::Connect(Address address, Resolver& resolver, Duration limit) {
  auto endpoints = co_await resolver.Resolve(address.host, address.port, limit);
  co_await ConnectToAny(std::move(endpoints));
  if (!address.host.empty()) socket().set_option(asio::ip::tcp::no_delay(true));
  if (tls_) co_await ShakeHands(address.host);
}

awaitable<void> Stream::ConnectToAny(Endpoints endpoints) {
  boost::system::error_code failure = asio::error::host_not_found;
  for (const auto& endpoint : endpoints) {
    // A stream that was closed meanwhile must not be opened again.
    if (is_closed_) throw boost::system::system_error(asio::error::operation_aborted);
    boost::system::error_code ignored;
    socket().close(ignored);
    const auto [error] = co_await socket().async_connect(endpoint, kQuietly);
    if (!error) co_return;
    failure = error;
  }
  throw boost::system::system_error(failure);
}

awaitable<void> Stream::ShakeHands(std::string host) {
  tls_->set_verify_callback(ssl::host_name_verification(host));
  if (!IsNumber(host)) SSL_set_tlsext_host_name(tls_->native_handle(), host.c_str());
  const auto [error] = co_await tls_->async_handshake(ssl::stream_base::client, kQuietly);
  if (error.category() == asio::error::get_ssl_category()) throw Refused(error.message());
  if (error) throw boost::system::system_error(error);
}

awaitable<void> Stream::Write(std::string bytes) {
  if (tls_) {
    co_await asio::async_write(*tls_, asio::buffer(bytes), use_awaitable);
  } else {
    co_await asio::async_write(plain_, asio::buffer(bytes), use_awaitable);
  }
}

awaitable<Value> Stream::Read() {
  while (true) {
    if (auto value = TakeValue(in_)) co_return std::move(*value);
    std::size_t size = 0;
    if (tls_) {
      size = co_await tls_->async_read_some(asio::buffer(chunk_), use_awaitable);
    } else {
      size = co_await plain_.async_read_some(asio::buffer(chunk_), use_awaitable);
    }
    in_.append(chunk_.data(), size);
  }
}

}  // namespace fairlock::client

#include "dialer.h"

#include <utility>

#include "failures.h"

namespace fairlock::client {

namespace asio = boost::asio;
using asio::awaitable;

namespace {

// Returns an empty command for a Sentinel without a password, because it needs none.
Command LogIn(const Settings& settings, Dialer::Peer peer) {
  const bool is_server = peer == Dialer::Peer::kServer;
  const auto& user = is_server ? settings.user : settings.sentinel_user;
  const auto& password = is_server ? settings.password : settings.sentinel_password;
  if (!is_server && password.empty()) return {};
  Command hello{"HELLO", "3"};
  if (!password.empty()) hello.insert(hello.end(), {"AUTH", user, password});
  return hello;
}

awaitable<Value> Exchange(StreamPtr stream, Command command) {
  Value reply;
  if (command.empty()) co_return reply;
  std::string bytes;
  AppendRequest(command, bytes);
  co_await stream->Write(std::move(bytes));
  reply = co_await stream->Read();
  if (reply.kind == Value::Kind::kError) ThrowFailure(reply.text);
  co_return reply;
}

}  // namespace

Dialer::Dialer(asio::io_context& io, Settings settings)
    : io_(io), settings_(std::move(settings)), tls_(MakeTls(settings_)), resolver_(io) {}

awaitable<Dialer::Opened> Dialer::Open(Address address, Peer peer, Command first) {
  const bool is_tls = settings_.tls && peer == Peer::kServer;
  Opened opened{std::make_shared<Stream>(io_, is_tls ? &tls_ : nullptr), {}};
  try {
    opened.reply = co_await Begin(opened.stream, address, peer, std::move(first));
  } catch (const boost::system::system_error& failure) {
    opened.stream->Close();
    throw Failure(NameOf(address), failure);
  } catch (const Error&) {
    opened.stream->Close();
    throw;
  }
  co_return opened;
}

awaitable<Value> Dialer::Begin(StreamPtr stream, Address address, Peer peer, Command first) {
  const auto limit = CloseLater(stream);
  co_await stream->Connect(std::move(address), resolver_, settings_.reply_timeout);
  co_await Exchange(stream, LogIn(settings_, peer));
  co_return co_await Exchange(stream, std::move(first));
}

// Closes the stream when the time is over, unless the timer ends before.
std::unique_ptr<asio::steady_timer> Dialer::CloseLater(const StreamPtr& stream) {
  auto limit = std::make_unique<asio::steady_timer>(io_, settings_.reply_timeout);
  limit->async_wait([stream](boost::system::error_code error) {
    if (!error) stream->Close();
  });
  return limit;
}

}  // namespace fairlock::client

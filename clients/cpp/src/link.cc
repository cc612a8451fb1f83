#include "link.h"

#include <time.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <random>
#include <string_view>

namespace fairlock::client {

namespace asio = boost::asio;
using asio::awaitable;
using asio::use_awaitable;
using asio::ip::tcp;

namespace {

constexpr auto kNever = asio::steady_timer::duration::max();
constexpr auto kQuietly = asio::as_tuple(use_awaitable);
constexpr Duration kPauseMax{1000};
constexpr std::size_t kReadSize = 16384;

bool StartsWith(const std::string& text, std::string_view word) { return text.rfind(word, 0) == 0; }

bool IsAny(const std::string& text, std::initializer_list<std::string_view> words) {
  for (const auto word : words) {
    if (StartsWith(text, word)) return true;
  }
  return false;
}

bool IsTemporary(const std::string& text) {
  // A channel has no subscriber for a moment while its connection is re-established.
  return IsAny(text, {"CLUSTERDOWN", "LOADING", "NOQUORUM", "TRYAGAIN", "READONLY", "MOVED"}) ||
         text.find("has no subscriber") != std::string::npos;
}

bool IsUnknown(const std::string& text) {
  return text.find("unknown command") != std::string::npos || StartsWith(text, "NOPROTO");
}

std::pair<std::string, std::string> Split(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos) return {address, "3247"};
  std::string host = address.substr(0, colon);
  if (host.size() > 1 && host.front() == '[') host = host.substr(1, host.size() - 2);
  return {host, address.substr(colon + 1)};
}

std::string Bytes(const Command& command) {
  std::string bytes;
  AppendRequest(command, bytes);
  return bytes;
}

std::string Hello(const Settings& settings) {
  Command hello{"HELLO", "3"};
  if (!settings.password.empty()) {
    hello.insert(hello.end(), {"AUTH", settings.user, settings.password});
  }
  return Bytes(hello);
}

Command Subscription(const std::string& channel) { return {"SUBSCRIBE", channel}; }

void Close(asio::ssl::stream<tcp::socket>& stream) {
  boost::system::error_code ignored;
  stream.next_layer().close(ignored);
}

}  // namespace

BootClock::time_point BootClock::now() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return time_point(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

Duration Pauses::Next() {
  static thread_local std::minstd_rand random{std::random_device{}()};
  const auto pause = pause_;
  pause_ = std::min(2 * pause_, kPauseMax);
  return Duration(
      std::uniform_int_distribution<Duration::rep>(pause.count() / 2, pause.count())(random));
}

struct Link::Request {
  explicit Request(asio::io_context& io) : done(io) {}

  asio::steady_timer done;
  std::optional<Value> reply;
  std::exception_ptr error;
};

Link::Link(asio::io_context& io, Settings settings, std::string channel, Listener listener)
    : io_(io),
      settings_(std::move(settings)),
      channel_(std::move(channel)),
      listener_(std::move(listener)),
      demand_(io),
      attempt_(io) {
  if (settings_.addresses.empty()) throw Refused("a client needs at least one address");
  if (settings_.tls) {
    tls_.set_verify_mode(asio::ssl::verify_peer);
    if (settings_.ca_file.empty()) {
      tls_.set_default_verify_paths();
    } else {
      tls_.load_verify_file(settings_.ca_file);
    }
    if (!settings_.certificate_file.empty()) {
      tls_.use_certificate_chain_file(settings_.certificate_file);
      tls_.use_private_key_file(settings_.key_file, asio::ssl::context::pem);
    }
  }
  demand_.expires_after(kNever);
  attempt_.expires_after(kNever);
  asio::co_spawn(io_, Run(), asio::detached);
}

awaitable<Answer> Link::Ask(Command command, Duration limit) {
  if (!is_ready_) co_await AwaitAttempt();
  auto request = std::make_shared<Request>(io_);
  requests_.push_back(request);
  const auto sent_at = BootClock::now();
  AppendRequest(command, out_);
  if (!std::exchange(is_writing_, true)) asio::co_spawn(io_, Flush(stream_), asio::detached);
  request->done.expires_after(std::min(limit, settings_.reply_timeout));
  co_await request->done.async_wait(kQuietly);
  if (!request->reply && !request->error) {
    request->error = std::make_exception_ptr(Temporary("the server did not reply in time"));
    // A shorter limit is the caller's: the connection, which others share, may be in order.
    if (limit >= settings_.reply_timeout) Drop(request->error);
  }
  if (request->error) std::rethrow_exception(request->error);
  if (request->reply->kind == Value::Kind::kError) Throw(request->reply->text);
  Answer answer{std::move(*request->reply), sent_at};
  co_return answer;
}

void Link::Throw(const std::string& text) {
  if (IsTemporary(text)) {
    const auto error = std::make_exception_ptr(Temporary(text));
    if (settings_.addresses.size() > 1) Drop(error);
    std::rethrow_exception(error);
  }
  if (StartsWith(text, "DEADLOCK ")) throw Deadlock(text.substr(9));
  if (IsAny(text, {"SUPERSEDED", "CANCELLED", "UNBLOCKED"})) throw WaitEnded(text);
  if (IsUnknown(text)) throw NotFairlock("the server is not fairlock, it may be Redis: " + text);
  throw Refused(text);
}

void Link::SetListening(bool is_listening) {
  is_listening_ = is_listening;
  demand_.cancel();
}

awaitable<void> Link::AwaitDemand() {
  while (asks_ == 0 && !is_listening_) {
    demand_.expires_after(kNever);
    co_await demand_.async_wait(kQuietly);
  }
}

awaitable<void> Link::AwaitAttempt() {
  ++asks_;
  demand_.cancel();
  co_await attempt_.async_wait(kQuietly);
  --asks_;
  if (!is_ready_) std::rethrow_exception(failure_);
}

void Link::EndAttempt(std::exception_ptr error) {
  failure_ = std::move(error);
  is_ready_ = failure_ == nullptr;
  attempt_.expires_after(kNever);  // wakes all who wait for the attempt
}

awaitable<void> Link::Run() {
  Pauses pauses;
  while (true) {
    co_await AwaitDemand();
    auto stream = std::make_shared<Stream>(io_, tls_);
    std::exception_ptr error;
    try {
      co_await Connect(stream);
      pauses = {};
      co_await Receive(stream);
    } catch (const boost::system::system_error& failure) {
      error = std::make_exception_ptr(Temporary("fairlock server: " + failure.code().message()));
    } catch (const Error&) {
      error = std::current_exception();
    }
    stream_ = stream;
    Drop(error);
    address_ = (address_ + 1) % settings_.addresses.size();
    asio::steady_timer pause(io_, pauses.Next());
    co_await pause.async_wait(kQuietly);
  }
}

// A timer closes the socket of an attempt that takes too long.
awaitable<void> Link::Connect(std::shared_ptr<Stream> stream) {
  asio::steady_timer limit(io_, settings_.reply_timeout);
  limit.async_wait([stream](boost::system::error_code error) {
    if (!error) Close(*stream);
  });
  in_.clear();
  const auto [host, port] = Split(settings_.addresses[address_]);
  tcp::resolver resolver(io_);
  const auto endpoints = co_await resolver.async_resolve(host, port, use_awaitable);
  co_await asio::async_connect(stream->next_layer(), endpoints, use_awaitable);
  stream->next_layer().set_option(tcp::no_delay(true));
  if (settings_.tls) {
    stream->set_verify_callback(asio::ssl::host_name_verification(host));
    SSL_set_tlsext_host_name(stream->native_handle(), host.c_str());
    const auto [error] = co_await stream->async_handshake(asio::ssl::stream_base::client, kQuietly);
    if (error.category() == asio::error::get_ssl_category()) throw Refused(error.message());
    if (error) throw boost::system::system_error(error);
  }
  co_await LogIn(stream);
  co_await Subscribe(stream);
  limit.cancel();
  stream_ = stream;
  out_.clear();
  is_writing_ = false;
  heard_at_ = BootClock::now();
  EndAttempt(nullptr);
  listener_(Message{"subscribed", {}, {}, {}, {}});
  asio::co_spawn(io_, KeepAlive(stream), asio::detached);
}

awaitable<void> Link::LogIn(std::shared_ptr<Stream> stream) {
  co_await Write(stream, Hello(settings_));
  const auto reply = co_await Read(stream);
  if (reply.kind == Value::Kind::kError) Throw(reply.text);
}

awaitable<void> Link::Subscribe(std::shared_ptr<Stream> stream) {
  const Command subscribe = Subscription(channel_);
  co_await Write(stream, Bytes(subscribe));
  const auto reply = co_await Read(stream);
  if (reply.kind == Value::Kind::kError) Throw(reply.text);
}

awaitable<void> Link::Receive(std::shared_ptr<Stream> stream) {
  while (stream == stream_) {
    auto value = co_await Read(stream);
    if (stream == stream_) Take(std::move(value));
  }
  throw Temporary("the connection was given up");
}

void Link::Take(Value value) {
  heard_at_ = BootClock::now();
  if (value.kind == Value::Kind::kPush) {
    if (value.items.size() == 3 && value.items[0].text == "message") {
      listener_(ParseMessage(value.items[2].text));
    }
    return;
  }
  if (requests_.empty()) throw Temporary("the server sent a reply without a request");
  const auto request = requests_.front();
  requests_.pop_front();
  request->reply = std::move(value);
  request->done.cancel();
}

void Link::Drop(std::exception_ptr error) {
  if (stream_ == nullptr) return;
  Close(*stream_);
  stream_ = nullptr;
  for (const auto& request : std::exchange(requests_, {})) {
    request->error = error;
    request->done.cancel();
  }
  EndAttempt(std::move(error));
}

awaitable<void> Link::Flush(std::shared_ptr<Stream> stream) {
  while (stream == stream_ && !out_.empty()) {
    const auto bytes = std::exchange(out_, {});
    bool is_sent = true;
    try {
      co_await Write(stream, bytes);
    } catch (const boost::system::system_error&) {
      is_sent = false;
    }
    if (!is_sent) Close(*stream);  // which also ends the reading
    if (!is_sent) co_return;
  }
  if (stream == stream_) is_writing_ = false;
}

awaitable<void> Link::KeepAlive(std::shared_ptr<Stream> stream) {
  const Command ping(1, "PING");
  while (stream == stream_) {
    asio::steady_timer pause(io_, settings_.reply_timeout);
    co_await pause.async_wait(kQuietly);
    const bool is_silent = BootClock::now() - heard_at_ >= settings_.reply_timeout;
    if (stream != stream_ || !is_listening_ || !is_silent) continue;
    try {
      co_await Ask(ping, settings_.reply_timeout);
    } catch (const Error&) {
      continue;  // the connection has been dropped
    }
  }
}

awaitable<void> Link::Write(std::shared_ptr<Stream> stream, std::string bytes) {
  if (settings_.tls) {
    co_await asio::async_write(*stream, asio::buffer(bytes), use_awaitable);
  } else {
    co_await asio::async_write(stream->next_layer(), asio::buffer(bytes), use_awaitable);
  }
}

awaitable<Value> Link::Read(std::shared_ptr<Stream> stream) {
  while (true) {
    if (auto value = TakeValue(in_)) co_return std::move(*value);
    std::string chunk(kReadSize, '\0');
    std::size_t size = 0;
    if (settings_.tls) {
      size = co_await stream->async_read_some(asio::buffer(chunk), use_awaitable);
    } else {
      size = co_await stream->next_layer().async_read_some(asio::buffer(chunk), use_awaitable);
    }
    in_.append(chunk, 0, size);
  }
}

}  // namespace fairlock::client

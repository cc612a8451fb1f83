#include "link.h"

#include <time.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <optional>
#include <random>
#include <utility>

#include "failures.h"

namespace fairlock::client {

namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr auto kNever = asio::steady_timer::duration::max();
constexpr Duration kPauseMax{1000};

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
  bool is_about_channel = false;  // nobody waits for the reply
  std::optional<Value> reply;
  std::exception_ptr error;
};

Link::Link(asio::io_context& io, Dialer& dialer, std::unique_ptr<Finder> finder, Listener listener)
    : io_(io),
      dialer_(dialer),
      finder_(std::move(finder)),
      listener_(std::move(listener)),
      connection_(io),
      demand_(io) {
  demand_.expires_after(kNever);
  asio::co_spawn(io_, Run(), asio::detached);
}

awaitable<Answer> Link::Ask(Command command, Duration limit) {
  if (!connection_.is_ready()) co_await AwaitConnection(limit);
  const auto reply_timeout = dialer_.settings().reply_timeout;
  const auto sent_at = BootClock::now();
  const auto request = Send(command);
  request->done.expires_after(std::min(limit, reply_timeout));
  co_await request->done.async_wait(kQuietly);
  if (!request->reply && !request->error) {
    co_await ThrowIfCancelled();
    request->error = std::make_exception_ptr(Temporary("the server did not reply in time"));
    // A shorter limit is the caller's, and the connection, which others share, may be in order.
    if (limit >= reply_timeout) Drop(request->error);
  }
  if (request->error) std::rethrow_exception(request->error);
  if (request->reply->kind == Value::Kind::kError) Throw(request->reply->text);
  Answer answer{std::move(*request->reply), sent_at};
  co_return answer;
}

void Link::Throw(const std::string& text) {
  finder_->Check(text);
  try {
    ThrowFailure(text);
  } catch (const Temporary& failure) {
    if (finder_->MayMove(failure)) Drop(std::make_exception_ptr(Temporary(text)));
    throw;
  }
}

Link::RequestPtr Link::Send(const Command& command) {
  auto request = std::make_shared<Request>(io_);
  requests_.push_back(request);
  AppendRequest(command, out_);
  if (!std::exchange(is_writing_, true)) asio::co_spawn(io_, Flush(stream_), asio::detached);
  return request;
}

void Link::SendAboutChannel(const char* name, const std::string& channel) {
  if (connection_.is_ready()) Send({name, channel})->is_about_channel = true;
}

void Link::Subscribe(const std::string& channel) {
  if (channels_.insert(channel).second) SendAboutChannel("SUBSCRIBE", channel);
}

void Link::Unsubscribe(const std::string& channel) {
  if (channels_.erase(channel) != 0) SendAboutChannel("UNSUBSCRIBE", channel);
}

void Link::SetListening(bool is_listening) {
  is_listening_ = is_listening;
  demand_.cancel();
}

awaitable<void> Link::AwaitDemand() {
  while (!connection_.is_awaited() && !is_listening_) {
    demand_.expires_after(kNever);
    co_await demand_.async_wait(kQuietly);
  }
}

awaitable<void> Link::AwaitConnection(Duration limit) {
  if (connection_.is_ready()) co_return;
  demand_.cancel();
  co_await connection_.Await(limit);
}

awaitable<void> Link::Run() {
  Pauses pauses;
  while (true) {
    co_await AwaitDemand();
    StreamPtr stream;
    std::exception_ptr error;
    const auto begun_at = BootClock::now();
    try {
      stream = co_await Connect();
      co_await Receive(stream);
    } catch (const boost::system::system_error& failure) {
      error = std::make_exception_ptr(Failure("the connection was lost", failure));
    } catch (const Error&) {
      error = std::current_exception();
    }
    if (stream == nullptr) connection_.Set(error);
    if (stream != nullptr && stream == stream_) Drop(error);
    // A node that accepts connections but does not serve must not be asked more and more often.
    if (stream != nullptr && BootClock::now() - begun_at > kPauseMax) pauses = {};
    asio::steady_timer pause(io_, pauses.Next());
    co_await pause.async_wait(kQuietly);
  }
}

// One attempt.
awaitable<StreamPtr> Link::Connect() {
  Failures failures;
  for (std::size_t i = 0; i < finder_->Tries(); ++i) {
    try {
      const auto address = co_await finder_->Next();
      const Command first = FirstRequest();
      const auto opened = co_await dialer_.Open(address, Dialer::Peer::kServer, first);
      Begin(opened.stream, first);
      co_return opened.stream;
    } catch (const Error&) {
      failures.AddCurrent();
    }
  }
  std::rethrow_exception(failures.reported());
}

// Subscribes to a channel before the connection is used: a user without permission for it, or a
// node that does not serve, is noticed as a failure to connect.
Command Link::FirstRequest() const {
  if (channels_.empty()) return {};
  return {"SUBSCRIBE", *channels_.begin()};
}

void Link::Begin(const StreamPtr& stream, const Command& first) {
  stream_ = stream;
  out_.clear();
  is_writing_ = false;
  heard_at_ = BootClock::now();
  connection_.Set(nullptr);
  // While the connection was made, channels may have come and gone.
  const std::string subscribed = first.empty() ? "" : first.back();
  for (const auto& channel : channels_) {
    if (channel != subscribed) SendAboutChannel("SUBSCRIBE", channel);
  }
  if (!first.empty() && !channels_.contains(subscribed)) {
    SendAboutChannel("UNSUBSCRIBE", subscribed);
  }
  listener_(Message{.event = "subscribed", .key = {}, .owner = {}, .token = {}, .reason = {}});
  asio::co_spawn(io_, KeepAlive(stream), asio::detached);
}

awaitable<void> Link::Receive(StreamPtr stream) {
  while (stream == stream_) {
    auto value = co_await stream->Read();
    if (stream == stream_) Take(std::move(value));
  }
  throw Temporary("the connection was given up");
}

// A message, or a reply. The reply to SUBSCRIBE or UNSUBSCRIBE is a push too, unless it is an
// error.
void Link::Take(Value value) {
  heard_at_ = BootClock::now();
  if (value.kind == Value::Kind::kPush && value.items.size() == 3) {
    const auto& what = value.items[0].text;
    if (what == "message") return listener_(ParseMessage(value.items[2].text));
    if (what != "subscribe" && what != "unsubscribe") return;
  } else if (value.kind == Value::Kind::kPush) {
    return;
  }
  if (requests_.empty()) throw Temporary("the server sent a reply without a request");
  const auto request = requests_.front();
  requests_.pop_front();
  if (request->is_about_channel && value.kind == Value::Kind::kError) ThrowFailure(value.text);
  request->reply = std::move(value);
  request->done.cancel();
}

void Link::Drop(std::exception_ptr error) {
  if (stream_ == nullptr) return;
  stream_->Close();
  stream_ = nullptr;
  for (const auto& request : std::exchange(requests_, {})) {
    request->error = error;
    request->done.cancel();
  }
  connection_.Set(std::move(error));
}

awaitable<void> Link::Flush(StreamPtr stream) {
  while (stream == stream_ && !out_.empty()) {
    const auto bytes = std::exchange(out_, {});
    bool is_sent = true;
    try {
      co_await stream->Write(bytes);
    } catch (const boost::system::system_error&) {
      is_sent = false;
    }
    if (!is_sent) stream->Close();  // which also ends the reading
    if (!is_sent) co_return;
  }
  if (stream == stream_) is_writing_ = false;
}

awaitable<void> Link::KeepAlive(StreamPtr stream) {
  const auto reply_timeout = dialer_.settings().reply_timeout;
  const Command ping(1, "PING");
  while (stream == stream_) {
    asio::steady_timer pause(io_, reply_timeout);
    co_await pause.async_wait(kQuietly);
    const bool is_silent = BootClock::now() - heard_at_ >= reply_timeout;
    if (stream != stream_ || !is_listening_ || !is_silent) continue;
    try {
      co_await Ask(ping, reply_timeout);
    } catch (const Error&) {
      continue;  // the connection has been dropped
    }
  }
}

}  // namespace fairlock::client

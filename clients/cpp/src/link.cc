#include "link.h"

#include <time.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <optional>
#include <random>
#include <string_view>

namespace fairlock::client {

namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr auto kNever = asio::steady_timer::duration::max();
constexpr Duration kPauseMax{1000};
constexpr auto kPort = "3247";
constexpr auto kSentinelPort = "3249";

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

std::exception_ptr Failure(const std::string& what, const boost::system::system_error& failure) {
  // Streams are closed, which aborts what they do, when their time is over.
  const auto& code = failure.code();
  const auto why =
      code == asio::error::operation_aborted ? "there was no reply in time" : code.message();
  return std::make_exception_ptr(Temporary(what + ": " + why));
}

void ThrowIfCancelled(asio::cancellation_state state) {
  if (state.cancelled() == asio::cancellation_type::none) return;
  throw boost::system::system_error(asio::error::operation_aborted);
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
      tls_(MakeTls(settings_)),
      resolver_(io),
      demand_(io) {
  if (Places().empty()) throw Refused("a client needs at least one address");
  for (const auto& place : Places()) ParseAddress(place, {});
  demand_.expires_after(kNever);
  asio::co_spawn(io_, Run(), asio::detached);
}

const std::vector<std::string>& Link::Places() const {
  return settings_.sentinels.empty() ? settings_.addresses : settings_.sentinels;
}

awaitable<Answer> Link::Ask(Command command, Duration limit) {
  if (!is_ready_) co_await AwaitConnection(limit);
  auto request = std::make_shared<Request>(io_);
  requests_.push_back(request);
  const auto sent_at = BootClock::now();
  AppendRequest(command, out_);
  if (!std::exchange(is_writing_, true)) asio::co_spawn(io_, Flush(stream_), asio::detached);
  request->done.expires_after(std::min(limit, settings_.reply_timeout));
  co_await request->done.async_wait(kQuietly);
  if (!request->reply && !request->error) {
    ThrowIfCancelled(co_await asio::this_coro::cancellation_state);
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
    // Another address may serve, or a Sentinel may name another leader.
    if (Places().size() > 1 || !settings_.sentinels.empty()) Drop(error);
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
  while (arrivals_.empty() && !is_listening_) {
    demand_.expires_after(kNever);
    co_await demand_.async_wait(kQuietly);
  }
}

awaitable<void> Link::AwaitConnection(Duration limit) {
  if (is_ready_) co_return;
  const auto arrival = std::make_shared<asio::steady_timer>(io_, limit);
  arrivals_.push_back(arrival);
  demand_.cancel();
  const auto [error] = co_await arrival->async_wait(kQuietly);
  std::erase(arrivals_, arrival);
  ThrowIfCancelled(co_await asio::this_coro::cancellation_state);
  if (!error) throw Temporary("no server was reached in time");
  if (!is_ready_) std::rethrow_exception(failure_);
}

void Link::EndAttempt(std::exception_ptr error) {
  failure_ = std::move(error);
  is_ready_ = failure_ == nullptr;
  for (const auto& arrival : std::exchange(arrivals_, {})) arrival->cancel();
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
      Begin(stream);
      co_await Receive(stream);
    } catch (const boost::system::system_error& failure) {
      error = Failure("the connection was lost", failure);
    } catch (const Error&) {
      error = std::current_exception();
    }
    if (stream == nullptr) EndAttempt(error);
    if (stream != nullptr && stream == stream_) Drop(error);
    // A node that accepts connections but does not serve is not asked more and more often.
    if (stream != nullptr && BootClock::now() - begun_at > kPauseMax) pauses = {};
    asio::steady_timer pause(io_, pauses.Next());
    co_await pause.async_wait(kQuietly);
  }
}

// One attempt: tries each address once. An error that will not pass, such as a wrong password, is
// reported rather than that another address cannot be reached.
awaitable<Link::StreamPtr> Link::Connect() {
  std::exception_ptr error;
  for (std::size_t i = 0; i < Places().size(); ++i) {
    const auto place = Places()[place_];
    place_ = (place_ + 1) % Places().size();
    const auto stream = std::make_shared<Stream>(io_, settings_.tls ? &tls_ : nullptr);
    try {
      co_await ConnectTo(stream, place);
      co_return stream;
    } catch (const boost::system::system_error& failure) {
      if (!error) error = Failure(place, failure);
    } catch (const ConnectionFailed&) {
      if (!error) error = std::current_exception();
    } catch (const Error&) {
      error = std::current_exception();
    }
    stream->Close();
  }
  std::rethrow_exception(error);
}

awaitable<void> Link::ConnectTo(StreamPtr stream, std::string place) {
  Address address = ParseAddress(place, kPort);
  if (!settings_.sentinels.empty()) address = co_await AskSentinel(place);
  const auto limit = CloseLater(stream);
  co_await stream->Connect(address, resolver_, settings_.reply_timeout);
  co_await LogIn(stream, settings_.user, settings_.password);
  const Command subscribe{"SUBSCRIBE", channel_};
  co_await Exchange(stream, subscribe);
}

// Closes the stream when the time for an attempt is over, unless the timer ends before.
std::unique_ptr<asio::steady_timer> Link::CloseLater(const StreamPtr& stream) {
  auto limit = std::make_unique<asio::steady_timer>(io_, settings_.reply_timeout);
  limit->async_wait([stream](boost::system::error_code error) {
    if (!error) stream->Close();
  });
  return limit;
}

// Returns the address of the node that leads.
awaitable<Address> Link::AskSentinel(std::string place) {
  const auto stream = std::make_shared<Stream>(io_, nullptr);
  const auto limit = CloseLater(stream);
  co_await stream->Connect(ParseAddress(place, kSentinelPort), resolver_, settings_.reply_timeout);
  if (!settings_.sentinel_password.empty()) {
    co_await LogIn(stream, settings_.sentinel_user, settings_.sentinel_password);
  }
  const Command question{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", settings_.service};
  const auto reply = co_await Exchange(stream, question);
  stream->Close();
  if (reply.items.size() != 2) {
    throw Temporary(place + ": no node leads " + settings_.service + " at the moment");
  }
  Address leader{reply.items[0].text, reply.items[1].text};
  co_return leader;
}

awaitable<void> Link::LogIn(StreamPtr stream, std::string user, std::string password) {
  Command hello{"HELLO", "3"};
  if (!password.empty()) hello.insert(hello.end(), {"AUTH", user, password});
  co_await Exchange(stream, hello);
}

awaitable<Value> Link::Exchange(StreamPtr stream, Command command) {
  std::string bytes;
  AppendRequest(command, bytes);
  co_await stream->Write(std::move(bytes));
  auto reply = co_await stream->Read();
  if (reply.kind == Value::Kind::kError) Throw(reply.text);
  co_return reply;
}

void Link::Begin(const StreamPtr& stream) {
  stream_ = stream;
  out_.clear();
  is_writing_ = false;
  heard_at_ = BootClock::now();
  EndAttempt(nullptr);
  listener_(Message{"subscribed", {}, {}, {}, {}});
  asio::co_spawn(io_, KeepAlive(stream), asio::detached);
}

awaitable<void> Link::Receive(StreamPtr stream) {
  while (stream == stream_) {
    auto value = co_await stream->Read();
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
  stream_->Close();
  stream_ = nullptr;
  for (const auto& request : std::exchange(requests_, {})) {
    request->error = error;
    request->done.cancel();
  }
  EndAttempt(std::move(error));
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

}  // namespace fairlock::client

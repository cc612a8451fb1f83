// Driver for tests/clients/conformance: uses the library as an application with coroutines would.
// Everything runs in one thread, besides that of the client.

#include <fairlock/client.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <boost/json/src.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using namespace fairlock::client;
using asio::awaitable;
using asio::use_awaitable;
using Clock = std::chrono::steady_clock;

constexpr int kRateSlices = 75;

class Unsupported : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string Environment(const char* name, const char* otherwise = "") {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

std::string DecodePercents(const std::string& text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      decoded.push_back(static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)));
      i += 2;
    } else {
      decoded.push_back(text[i]);
    }
  }
  return decoded;
}

Duration Seconds(double seconds) {
  return std::chrono::round<Duration>(std::chrono::duration<double>(seconds));
}

// redis[s]://[USER:PASSWORD@]HOST:PORT
Settings SettingsOf(const std::string& url) {
  const auto scheme = url.find("://");
  std::string address = url.substr(scheme + 3);
  Settings settings{.tls = url.substr(0, scheme) == "rediss",
                    .ca_file = Environment("FAIRLOCK_CA"),
                    .reply_timeout = Seconds(std::stod(Environment("FAIRLOCK_READ_TIMEOUT", "5")))};
  if (const auto at = address.rfind('@'); at != std::string::npos) {
    const auto colon = address.find(':');
    settings.user = DecodePercents(address.substr(0, colon));
    settings.password = DecodePercents(address.substr(colon + 1, at - colon - 1));
    address = address.substr(at + 1);
  }
  settings.addresses = {address};
  return settings;
}

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream input(text);
  for (std::string word; std::getline(input, word, ',');) words.push_back(word);
  return words;
}

// As the README of the conformance tests describes the environment.
Settings SettingsHere() {
  const auto nodes = Environment("FAIRLOCK_CLUSTER");
  const auto sentinels = Environment("FAIRLOCK_SENTINELS");
  auto settings = SettingsOf(Environment("FAIRLOCK_URL", "redis://127.0.0.1:3247"));
  settings.cluster = !nodes.empty();
  settings.sentinels = Split(sentinels);
  if (settings.cluster) settings.addresses = Split(nodes);
  return settings;
}

// Reads the fields of a request.
class Fields {
 public:
  explicit Fields(const json::object& request) : request_(request) {}

  [[nodiscard]] bool Has(const char* name) const {
    const auto* value = request_.if_contains(name);
    return value != nullptr && !value->is_null();
  }
  [[nodiscard]] std::string Text(const char* name) const {
    return Has(name) ? json::value_to<std::string>(request_.at(name)) : std::string();
  }
  [[nodiscard]] bool Flag(const char* name, bool otherwise) const {
    return Has(name) ? request_.at(name).as_bool() : otherwise;
  }
  [[nodiscard]] std::optional<int> Number(const char* name) const {
    return Has(name) ? std::optional(request_.at(name).to_number<int>()) : std::nullopt;
  }
  [[nodiscard]] std::optional<Duration> Time(const char* name) const {
    return Has(name) ? std::optional(Seconds(request_.at(name).to_number<double>())) : std::nullopt;
  }

 private:
  const json::object& request_;
};

// A connection for raw commands. As in the library, it belongs to a thread of its own, and each
// command blocks the caller until its reply has come.
class Raw {
 public:
  explicit Raw(const std::string& address) {
    const auto colon = address.rfind(':');
    asio::ip::tcp::resolver resolver(io_);
    asio::connect(socket_, resolver.resolve(address.substr(0, colon), address.substr(colon + 1)));
    socket_.set_option(asio::ip::tcp::no_delay(true));
    thread_ = std::thread([this] { io_.run(); });
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  ~Raw() {
    io_.stop();
    thread_.join();
  }

  void LockAndUnlock() {
    const auto token = Ask("LOCK rate:raw raw PX 30000");
    Ask("UNLOCK rate:raw raw TOKEN " + token);
  }

 private:
  std::string Ask(const std::string& command) {
    return asio::co_spawn(io_, Exchange(command + "\r\n"), asio::use_future).get();
  }

  // Returns an integer as text.
  awaitable<std::string> Exchange(std::string command) {
    co_await asio::async_write(socket_, asio::buffer(command), use_awaitable);
    const auto size = co_await asio::async_read_until(socket_, asio::dynamic_buffer(received_),
                                                      "\r\n", use_awaitable);
    const auto reply = received_.substr(0, size - 2);
    received_.erase(0, size);
    if (reply.front() != ':') throw std::runtime_error(command + " failed: " + reply);
    co_return reply.substr(1);
  }

  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  asio::ip::tcp::socket socket_{io_};
  std::string received_;
  std::thread thread_;
};

class Driver {
 public:
  Driver() : settings_(SettingsHere()), client_(settings_) {}

  void Run() {
    asio::co_spawn(io_, ReadRequests(), asio::detached);
    io_.run();
  }

 private:
  awaitable<void> ReadRequests() {
    asio::posix::stream_descriptor input(io_, dup(STDIN_FILENO));
    std::string received;
    while (true) {
      const auto size = co_await asio::async_read_until(input, asio::dynamic_buffer(received), '\n',
                                                        use_awaitable);
      const auto request = json::parse(received.substr(0, size)).as_object();
      received.erase(0, size);
      if (request.at("do") == "exit") std::_Exit(0);
      asio::co_spawn(io_, Reply(request), asio::detached);
    }
  }

  static void Write(const json::object& line) { std::cout << line << std::endl; }

  awaitable<void> Reply(json::object request) {
    json::object reply;
    try {
      reply = co_await Execute(request);
    } catch (...) {
      reply = Failure();
    }
    reply["id"] = request.at("id");
    Write(reply);
  }

  // Describes the exception that is being handled.
  static json::object Failure() {
    const auto named = [](const char* name, const std::exception& error) {
      return json::object{{"error", name}, {"text", error.what()}};
    };
    try {
      throw;
    } catch (const Denied& denied) {
      return Denial(denied);
    } catch (const LostHold& error) {
      return named("LostHold", error);
    } catch (const WaitEnded& error) {
      return named("WaitEnded", error);
    } catch (const Deadlock& error) {
      return named("Deadlock", error);
    } catch (const NotFairlock& error) {
      return named("NotFairlock", error);
    } catch (const Unsupported& error) {
      return named("Unsupported", error);
    } catch (const boost::system::system_error& error) {
      return named(error.code() == asio::error::operation_aborted ? "Cancelled" : "Failed", error);
    } catch (const std::exception& error) {
      return named("Failed", error);
    }
  }

  static json::object Denial(const Denied& denied) {
    const auto& why = denied.explanation();
    json::array holders;
    for (const auto& holder : why.holders) holders.emplace_back(holder.owner);
    json::object reply{{"error", "Denied"}, {"text", denied.what()}, {"holders", holders},
                       {"reason", nullptr}, {"position", nullptr},   {"eta", nullptr}};
    if (!why.reason.empty()) reply["reason"] = why.reason;
    if (why.position) reply["position"] = *why.position;
    if (why.eta) reply["eta"] = std::chrono::duration<double>(*why.eta).count();
    return reply;
  }

  awaitable<json::object> Execute(const json::object& request) {
    const auto what = json::value_to<std::string>(request.at("do"));
    if (what == "acquire") co_return co_await Acquire(request);
    if (what == "try") co_return co_await Try(request);
    if (what == "release") co_return co_await Release(request);
    if (what == "renew") co_return co_await Renew(request);
    if (what == "transfer") co_return co_await Transfer(request);
    if (what == "work") co_return co_await Work(request);
    if (what == "rate") co_return Rate(Fields(request));
    if (what == "cancel") co_return CancelAcquisition(request);
    if (what == "fork") co_return Fork(HoldOf(request));
    if (what == "token") co_return json::object{{"token", HoldOf(request).token()}};
    if (what == "left") co_return Left(HoldOf(request));
    if (what != "check") throw Unsupported(what);
    HoldOf(request).check();
    co_return json::object{{"ok", true}};
  }

  // Waits over a channel and direct waits are the same for this library.
  LockOptions OptionsOf(const json::object& request) {
    const Fields fields(request);
    LockOptions options{.wait = fields.Time("wait"),
                        .renew = fields.Flag("renew", true),
                        .owner = fields.Text("owner"),
                        .shared = fields.Flag("shared", false),
                        .limit = fields.Number("limit"),
                        .keep = fields.Time("keep"),
                        .min_hold = fields.Time("min_hold"),
                        .meta = fields.Text("meta"),
                        .label = fields.Text("label")};
    if (const auto lease = fields.Time("lease")) options.lease = *lease;
    // Called in the thread of the client.
    options.on_lost = [this, hold = fields.Text("hold")](const std::string&) {
      asio::post(io_, [hold] { Write({{"event", "lost"}, {"hold", hold}}); });
    };
    return options;
  }

  static Keys KeysOf(const json::object& request) {
    return json::value_to<std::vector<std::string>>(request.at("keys"));
  }

  Hold& HoldOf(const json::object& request) { return holds_.at(Fields(request).Text("hold")); }

  json::object Keep(const json::object& request, Hold hold) {
    json::object reply{{"token", hold.token()}, {"owner", hold.owner()}};
    holds_[Fields(request).Text("hold")] = std::move(hold);
    return reply;
  }

  awaitable<json::object> Acquire(const json::object& request) {
    const auto options = OptionsOf(request);
    const auto signal = std::make_shared<asio::cancellation_signal>();
    cancels_[request.at("id").to_number<std::int64_t>()] = signal;
    auto hold = co_await client_.lock(KeysOf(request), options,
                                      asio::bind_cancellation_slot(signal->slot(), use_awaitable));
    co_return Keep(request, std::move(hold));
  }

  awaitable<json::object> Try(const json::object& request) {
    const auto options = OptionsOf(request);
    auto hold = co_await client_.try_lock(KeysOf(request), options, use_awaitable);
    if (!hold) co_return json::object{{"token", nullptr}};
    co_return Keep(request, std::move(*hold));
  }

  json::object CancelAcquisition(const json::object& request) {
    cancels_.at(request.at("acquire").to_number<std::int64_t>())
        ->emit(asio::cancellation_type::terminal);
    return {{"ok", true}};
  }

  awaitable<json::object> Release(const json::object& request) {
    Hold& hold = HoldOf(request);
    const bool was_held = co_await hold.release(use_awaitable);
    if (!was_held) throw LostHold("it was lost before");
    co_return json::object{{"ok", true}};
  }

  awaitable<json::object> Renew(const json::object& request) {
    Hold& hold = HoldOf(request);
    co_await hold.renew(Fields(request).Time("lease"), use_awaitable);
    co_return json::object{{"ok", true}};
  }

  static json::object Left(const Hold& hold) {
    return {{"left", std::chrono::duration<double>(hold.remaining()).count()}};
  }

  awaitable<json::object> Transfer(const json::object& request) {
    const auto token = co_await HoldOf(request).transfer(Fields(request).Text("to"), use_awaitable);
    co_return json::object{{"token", token}};
  }

  static json::object Fork(const Hold& hold) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    const pid_t child = fork();
    if (child == 0) {
      std::string name = "held";
      try {
        hold.check();
      } catch (...) {
        name = json::value_to<std::string>(Failure().at("error"));
      }
      const bool is_written = write(ends[1], name.data(), name.size()) > 0;
      std::_Exit(is_written ? 0 : 1);
    }
    close(ends[1]);
    char name[64] = "";
    const auto size = read(ends[0], name, sizeof name);
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return {{"child", std::string(name, size > 0 ? static_cast<std::size_t>(size) : 0)}};
  }

  // What the workers of one operation share.
  struct Tally {
    int running = 0;
    std::int64_t grants = 0;
    std::int64_t last = 0;
    bool rising = true;
    std::exception_ptr error;
    asio::steady_timer all_done;
  };

  awaitable<json::object> Work(const json::object& request) {
    const Fields fields(request);
    const auto options = OptionsOf(request);
    const auto end = Clock::now() + fields.Time("seconds").value_or(Duration(0));
    Tally tally{.running = fields.Number("count").value(),
                .error = {},
                .all_done = asio::steady_timer(io_, Clock::time_point::max())};
    for (int i = 0; i < *fields.Number("count"); ++i) {
      asio::co_spawn(io_, LockAndReleaseUntil(end, fields.Text("key"), options, tally),
                     [&tally](const std::exception_ptr& error) {
                       if (error) tally.error = error;
                       if (--tally.running == 0) tally.all_done.cancel();
                     });
    }
    boost::system::error_code ignored;
    co_await tally.all_done.async_wait(asio::redirect_error(use_awaitable, ignored));
    if (tally.error) std::rethrow_exception(tally.error);
    co_return json::object{{"grants", tally.grants}, {"rising", tally.rising}};
  }

  awaitable<void> LockAndReleaseUntil(Clock::time_point end, std::string key, LockOptions options,
                                      Tally& tally) {
    do {
      auto hold = co_await client_.lock(key, options, use_awaitable);
      const auto token = hold.token();
      ++tally.grants;
      tally.rising = tally.rising && token > std::exchange(tally.last, token);
      co_await hold.release(use_awaitable);
    } while (Clock::now() < end);
  }

  // Both loops block. Divides the time into many slices, which alternate between the two loops, and
  // returns the best one of each.
  json::object Rate(const Fields& fields) {
    Raw raw(settings_.addresses.front());
    const auto slice = *fields.Time("seconds") / (2 * kRateSlices);
    const auto rate = [slice](const auto& once) {
      const auto begun_at = Clock::now();
      int times = 0;
      for (; Clock::now() < begun_at + slice; ++times) once();
      return times / std::chrono::duration<double>(Clock::now() - begun_at).count();
    };
    double with_library = 0;
    double with_raw = 0;
    for (int i = 0; i < kRateSlices; ++i) {
      with_library = std::max(with_library, rate([this] { client_.lock("rate").release(); }));
      with_raw = std::max(with_raw, rate([&raw] { raw.LockAndUnlock(); }));
    }
    return {{"library", with_library}, {"raw", with_raw}};
  }

  asio::io_context io_{1};
  const Settings settings_;
  Client client_;
  std::map<std::string, Hold> holds_;
  // The signals by the id of the acquisition. A signal must outlive the operation to which it
  // belongs.
  std::map<std::int64_t, std::shared_ptr<asio::cancellation_signal>> cancels_;
};

}  // namespace

int main() {
  Driver().Run();
  return 0;
}

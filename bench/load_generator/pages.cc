#include "bench/load_generator/pages.h"

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <csignal>
#include <exception>
#include <sstream>

#include "bench/load_generator/failure.h"

namespace fairlock::bench {

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

// Spreads the first requests over this time.
constexpr double kSpreadOverS = 2;

// The server closes connections that are idle for longer.
constexpr std::chrono::seconds kReusableFor{30};

std::chrono::microseconds Span(double seconds) {
  return std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6));
}

struct Watch {
  bool is_looking = true;
  std::size_t requests = 0;
};

// Sends requests at fixed times; skips those that are due while the program is paused.
asio::awaitable<void> Look(const asio::ip::tcp::endpoint& server, const std::string& host,
                           const Page& page, double first_after_s, Watch& watch) {
  asio::ip::tcp::socket socket(co_await asio::this_coro::executor);
  auto used_until = std::chrono::steady_clock::time_point::min();
  boost::beast::flat_buffer buffer;
  asio::steady_timer timer(co_await asio::this_coro::executor);
  auto due = std::chrono::steady_clock::now() + Span(first_after_s);
  for (;; due += Span(page.pause_s)) {
    timer.expires_at(due);
    co_await timer.async_wait(asio::use_awaitable);
    if (!watch.is_looking) continue;
    if (std::chrono::steady_clock::now() >= used_until) {
      socket = asio::ip::tcp::socket(socket.get_executor());
      co_await socket.async_connect(server, asio::use_awaitable);
      socket.set_option(asio::ip::tcp::no_delay(true));
    }
    used_until = std::chrono::steady_clock::now() + kReusableFor;
    for (const std::string& path : page.paths) {
      http::request<http::empty_body> request(http::verb::get, path, 11);
      request.set(http::field::host, host);
      co_await http::async_write(socket, request, asio::use_awaitable);
      http::response<http::string_body> response;
      co_await http::async_read(socket, buffer, response, asio::use_awaitable);
      if (response.result() != http::status::ok) Fail(path + " was not answered with 200");
      ++watch.requests;
    }
  }
}

// SIGUSR1 resumes the requests, SIGUSR2 pauses them, SIGTERM ends the program.
asio::awaitable<void> Obey(asio::io_context& io, Watch& watch) {
  asio::signal_set signals(io, SIGTERM, SIGUSR1, SIGUSR2);
  while (true) {
    const int signal = co_await signals.async_wait(asio::use_awaitable);
    if (signal == SIGTERM) break;
    watch.is_looking = signal == SIGUSR1;
  }
  io.stop();
}

}  // namespace

Page ParsePage(const std::string& text) {
  std::istringstream words(text);
  Page page;
  words >> page.pause_s;
  for (std::string path; words >> path;) page.paths.push_back(path);
  if (page.paths.empty() || page.pause_s <= 0) Fail("no SECONDS PATH ...: " + text);
  return page;
}

std::size_t LookAtPages(const PagesOptions& options) {
  asio::io_context io;
  const Endpoint& endpoint = options.endpoint;
  if (!endpoint.unix_path.empty()) Fail(endpoint.unix_path + " is not of the form ADDRESS:PORT");
  const asio::ip::tcp::endpoint server(asio::ip::make_address(endpoint.host), endpoint.port);
  const std::string host = endpoint.host + ":" + std::to_string(endpoint.port);
  Watch watch;
  const auto rethrow = [](const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
  };
  for (std::size_t i = 0; i < options.pages.size(); ++i) {
    const Page& page = options.pages[i];
    const double part = static_cast<double>(i) / static_cast<double>(options.pages.size());
    asio::co_spawn(io, Look(server, host, page, part * std::min(page.pause_s, kSpreadOverS), watch),
                   rethrow);
  }
  asio::co_spawn(io, Obey(io, watch), rethrow);
  try {
    io.run();
  } catch (const std::exception& error) {
    Fail(error.what());
  }
  return watch.requests;
}

}  // namespace fairlock::bench

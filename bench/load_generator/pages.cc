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

// Not all at the same moment.
constexpr double kSpreadOverS = 2;

asio::awaitable<void> Pause(double seconds) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  timer.expires_after(std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6)));
  co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<void> Look(const asio::ip::tcp::endpoint& server, const std::string& host,
                           const Page& page, double first_after_s, std::size_t& requests) {
  asio::ip::tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(server, asio::use_awaitable);
  socket.set_option(asio::ip::tcp::no_delay(true));
  boost::beast::flat_buffer buffer;
  co_await Pause(first_after_s);
  while (true) {
    for (const std::string& path : page.paths) {
      http::request<http::empty_body> request(http::verb::get, path, 11);
      request.set(http::field::host, host);
      co_await http::async_write(socket, request, asio::use_awaitable);
      http::response<http::string_body> response;
      co_await http::async_read(socket, buffer, response, asio::use_awaitable);
      if (response.result() != http::status::ok) Fail(path + " was not answered by 200");
      ++requests;
    }
    co_await Pause(page.pause_s);
  }
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
  if (!endpoint.unix_path.empty()) Fail(endpoint.unix_path + " is no ADDRESS:PORT");
  const asio::ip::tcp::endpoint server(asio::ip::make_address(endpoint.host), endpoint.port);
  const std::string host = endpoint.host + ":" + std::to_string(endpoint.port);
  std::size_t requests = 0;
  for (std::size_t i = 0; i < options.pages.size(); ++i) {
    const Page& page = options.pages[i];
    const double part = static_cast<double>(i) / static_cast<double>(options.pages.size());
    asio::co_spawn(io,
                   Look(server, host, page, part * std::min(page.pause_s, kSpreadOverS), requests),
                   [](const std::exception_ptr& error) {
                     if (error) std::rethrow_exception(error);
                   });
  }
  asio::signal_set signals(io, SIGTERM);
  signals.async_wait([&io](const boost::system::error_code&, int) { io.stop(); });
  try {
    io.run();
  } catch (const std::exception& error) {
    Fail(error.what());
  }
  return requests;
}

}  // namespace fairlock::bench

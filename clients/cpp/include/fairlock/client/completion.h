// Joins completion tokens to the functions of the library, which know only std::function.
#pragma once

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

namespace fairlock::client {

// Called once, in the thread of the client.
template <typename Result>
using Done = std::function<void(std::exception_ptr, Result)>;

namespace detail {

// Calls the handler through its own executor, which has work until then.
template <typename Result, typename Handler>
Done<Result> Erase(Handler handler) {
  auto executor = boost::asio::get_associated_executor(handler);
  auto work = boost::asio::make_work_guard(executor);
  auto shared = std::make_shared<Handler>(std::move(handler));
  return [executor, work, shared](std::exception_ptr error, Result result) {
    auto call = [work, shared, error, result = std::move(result)]() mutable {
      boost::asio::get_associated_cancellation_slot(*shared).clear();
      Handler last(std::move(*shared));
      shared.reset();
      last(error, std::move(result));
    };
    boost::asio::post(executor, std::move(call));
  };
}

// Start: void(Done<Result>).
template <typename Result, typename Token, typename Start>
auto Initiate(Token&& token, Start start) {
  auto initiation = [start = std::move(start)](auto handler) mutable {
    start(Erase<Result>(std::move(handler)));
  };
  return boost::asio::async_initiate<Token, void(std::exception_ptr, Result)>(std::move(initiation),
                                                                              token);
}

// Start: void(std::stop_token, Done<Result>).
template <typename Result, typename Token, typename Start>
auto InitiateCancellable(Token&& token, Start start) {
  auto initiation = [start = std::move(start)](auto handler) mutable {
    std::stop_source stop;
    // This comes before the start, because the operation may be over, and its handler gone, before
    // the start returns.
    if (auto slot = boost::asio::get_associated_cancellation_slot(handler); slot.is_connected()) {
      slot.assign([stop](boost::asio::cancellation_type) mutable { stop.request_stop(); });
    }
    start(stop.get_token(), Erase<Result>(std::move(handler)));
  };
  return boost::asio::async_initiate<Token, void(std::exception_ptr, Result)>(std::move(initiation),
                                                                              token);
}

}  // namespace detail
}  // namespace fairlock::client

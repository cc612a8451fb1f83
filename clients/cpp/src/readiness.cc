#include "readiness.h"

#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>
#include <utility>

#include "failures.h"
#include "resolver.h"

namespace fairlock::client {

namespace asio = boost::asio;

asio::awaitable<void> ThrowIfCancelled() {
  const auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() == asio::cancellation_type::none) co_return;
  throw boost::system::system_error(asio::error::operation_aborted);
}

asio::awaitable<void> Readiness::Await(Duration limit) {
  const auto arrival = std::make_shared<asio::steady_timer>(io_, limit);
  arrivals_.push_back(arrival);
  const auto [error] = co_await arrival->async_wait(kQuietly);
  std::erase(arrivals_, arrival);
  co_await ThrowIfCancelled();
  if (!error) throw Temporary("no server was reached in time");
  if (!is_ready_) std::rethrow_exception(failure_);
}

void Readiness::Set(std::exception_ptr failure) {
  failure_ = std::move(failure);
  is_ready_ = failure_ == nullptr;
  for (const auto& arrival : std::exchange(arrivals_, {})) arrival->cancel();
}

}  // namespace fairlock::client

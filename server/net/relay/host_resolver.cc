#include "server/net/relay/host_resolver.h"

#include <utility>

namespace fairlock::net {

void HostResolver::Resolve(const std::string& host, std::function<void(HostAddresses)> done) {
  AssertInLoop();
  Cancel();
  boost::system::error_code not_numeric;
  const auto address = boost::asio::ip::make_address(host, not_numeric);
  if (!not_numeric) return done({address});
  asked_ = std::make_shared<std::function<void(HostAddresses)>>(std::move(done));
  // The handler may run after this object is gone, or after a later call.
  const std::weak_ptr<std::function<void(HostAddresses)>> asked = asked_;
  resolver_.async_resolve(
      host, "", [this, asked](const boost::system::error_code& error, const auto& results) {
        if (asked.expired()) return;
        const auto answered = std::exchange(asked_, nullptr);
        HostAddresses addresses;
        if (!error) {
          for (const auto& result : results) addresses.push_back(result.endpoint().address());
        }
        (*answered)(std::move(addresses));
      });
}

void HostResolver::Cancel() {
  asked_ = nullptr;
  resolver_.cancel();
}

}  // namespace fairlock::net

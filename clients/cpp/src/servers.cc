#include "servers.h"

#include <utility>

#include "dialer.h"
#include "finder.h"
#include "partitions.h"

namespace fairlock::client {

namespace asio = boost::asio;
using asio::awaitable;

namespace {

class OneServer final : public Servers {
 public:
  OneServer(asio::io_context& io, Settings settings, const std::string& id, Listener listener)
      : dialer_(io, std::move(settings)),
        link_(io, dialer_, MakeFinder(dialer_), std::move(listener)),
        channel_("fairlock:" + id) {
    link_.Subscribe(channel_);
  }

  awaitable<void> AwaitConnection(const std::string& /*key*/, Duration limit) override {
    return link_.AwaitConnection(limit);
  }

  awaitable<Answer> Ask(const std::string& /*key*/, Command command, Duration limit) override {
    return link_.Ask(std::move(command), limit);
  }

  [[nodiscard]] std::string Channel(const std::string& /*key*/) const override { return channel_; }
  void Listen(const std::string& /*key*/) override { link_.SetListening(++listeners_ > 0); }
  void Unlisten(const std::string& /*key*/) override { link_.SetListening(--listeners_ > 0); }

 private:
  Dialer dialer_;
  Link link_;
  const std::string channel_;
  int listeners_ = 0;
};

}  // namespace

std::unique_ptr<Servers> MakeServers(asio::io_context& io, Settings settings, const std::string& id,
                                     Listener listener) {
  if (!settings.cluster) {
    return std::make_unique<OneServer>(io, std::move(settings), id, std::move(listener));
  }
  if (!settings.sentinels.empty()) {
    throw Refused(
        "Sentinels do not know the leaders of several partitions: with `cluster`, the "
        "settings name nodes in `addresses`");
  }
  return std::make_unique<Partitions>(io, std::move(settings), id, std::move(listener));
}

}  // namespace fairlock::client

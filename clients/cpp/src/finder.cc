#include "finder.h"

#include <string>
#include <utility>

namespace fairlock::client {

namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr auto kSentinelPort = "3249";

// Names the addresses in turn.
class AddressFinder final : public Finder {
 public:
  explicit AddressFinder(std::vector<Address> addresses) : addresses_(std::move(addresses)) {}

  [[nodiscard]] std::size_t Tries() const override { return addresses_.size(); }

  awaitable<Address> Next() override {
    co_return addresses_[std::exchange(next_, (next_ + 1) % addresses_.size())];
  }

  void Check(const std::string& error) const override {
    if (!error.starts_with("MOVED ") && !error.starts_with("CROSSSLOT NOTIFY")) return;
    throw Refused(
        "the server is a node of a fleet of several partitions: set `cluster` in the "
        "settings of the client (" +
        error + ")");
  }

  bool MayMove(const Temporary& /*failure*/) override { return addresses_.size() > 1; }

 private:
  const std::vector<Address> addresses_;
  std::size_t next_ = 0;
};

// Asks the Sentinels in turn.
class SentinelFinder final : public Finder {
 public:
  explicit SentinelFinder(Dialer& dialer)
      : dialer_(dialer), sentinels_(ParseAddresses(dialer.settings().sentinels, kSentinelPort)) {}

  [[nodiscard]] std::size_t Tries() const override { return sentinels_.size(); }

  awaitable<Address> Next() override {
    const auto sentinel = sentinels_[std::exchange(next_, (next_ + 1) % sentinels_.size())];
    const auto& service = dialer_.settings().service;
    const Command question{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", service};
    const auto opened = co_await dialer_.Open(sentinel, Dialer::Peer::kSentinel, question);
    opened.stream->Close();
    const auto& reply = opened.reply.items;
    if (reply.size() != 2) {
      throw Temporary(NameOf(sentinel) + ": no node leads " + service + " at the moment");
    }
    Address leader{reply[0].text, reply[1].text};
    co_return leader;
  }

  bool MayMove(const Temporary& /*failure*/) override { return true; }

 private:
  Dialer& dialer_;
  const std::vector<Address> sentinels_;
  std::size_t next_ = 0;
};

}  // namespace

std::vector<Address> ParseAddresses(const std::vector<std::string>& texts,
                                    const char* default_port) {
  if (texts.empty()) throw Refused("a client needs at least one address");
  std::vector<Address> addresses;
  for (const auto& text : texts) addresses.push_back(ParseAddress(text, default_port));
  return addresses;
}

std::unique_ptr<Finder> MakeFinder(Dialer& dialer) {
  const auto& settings = dialer.settings();
  if (!settings.sentinels.empty()) return std::make_unique<SentinelFinder>(dialer);
  return std::make_unique<AddressFinder>(ParseAddresses(settings.addresses, kPort));
}

}  // namespace fairlock::client

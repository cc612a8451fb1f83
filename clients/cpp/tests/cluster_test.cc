// What the library does in a fleet of two partitions, which with_own_cluster.py has started.

#include <fairlock/client.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/system_error.hpp>
#include <future>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "test_support.h"

namespace {

using namespace fairlock::client;
namespace asio = boost::asio;

std::vector<std::string> Nodes() {
  std::vector<std::string> nodes;
  std::istringstream text(Environment("NODES"));
  for (std::string node; std::getline(text, node, ',');) nodes.push_back(node);
  return nodes;
}

Settings Fleet() { return {.addresses = Nodes(), .cluster = true, .reply_timeout = 1s}; }

// Has the fleet disturbed, as with_own_cluster.py describes it.
void Disturb(const std::string& line) {
  static const int ask = std::stoi(Environment("FLEET_ASK"));
  static const int reply = std::stoi(Environment("FLEET_REPLY"));
  const std::string bytes = line + "\n";
  ASSERT_EQ(write(ask, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  std::array<char, 5> done{};
  ASSERT_EQ(read(reply, done.data(), done.size()), 5) << line;
}

// The locks as another client sees them, at the leaders.
class Leaders {
 public:
  // The second word is the key.
  long long Ask(const std::vector<std::string>& words) {
    long long number = -1;
    EXPECT_TRUE(Becomes([&] {
      auto& node = nodes_.emplace(words[1], Nodes().front()).first->second;
      try {
        const auto reply = Outside(node).Get(words);
        number = reply.first;
        if (!reply.second.starts_with("MOVED ")) return reply.second.empty();
        node = reply.second.substr(reply.second.rfind(' ') + 1);
      } catch (const std::runtime_error&) {  // the node has been killed, or is paused
        node = Nodes()[++turn_ % Nodes().size()];
      }
      return false;
    })) << words[0];
    return number;
  }

  // The address of the node.
  std::string NodeOf(const std::string& key) {
    Holders(key);
    return nodes_.at(key);
  }

  long long Holders(const std::string& key) { return Ask({"LOCKED", key}); }
  long long Waiters(const std::string& key) { return Ask({"QUEUE", key}); }

  // The channels of the library at all nodes.
  static std::vector<std::string> Channels() {
    std::vector<std::string> channels;
    for (const auto& node : Nodes()) {
      for (auto& name : Outside(node).List({"PUBSUB", "CHANNELS", "fairlock:*"})) {
        channels.push_back(std::move(name));
      }
    }
    return channels;
  }

 private:
  std::map<std::string, std::string> nodes_;
  std::size_t turn_ = 0;
};

// {} has the slot 0 and {b} the slot 3300, which are in the first partition; {a} has 15495.
class ClusterTest : public testing::Test {
 protected:
  [[nodiscard]] std::string Key(const std::string& tag) const { return "{" + tag + "}" + name; }

  const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string low = Key("b");   // a key of the first partition
  const std::string high = Key("a");  // a key of the second partition
  Leaders leaders;
  Client client{Fleet()};
};

TEST_F(ClusterTest, LocksOfEveryPartition) {
  for (const auto& key : {low, high}) {
    auto hold = client.lock(key, {.lease = 30s, .wait = 10s});
    EXPECT_EQ(leaders.Ask({"CHECK", key, std::to_string(hold.token())}), 1);
    hold.renew(60s);
    EXPECT_GT(leaders.Ask({"PTTL", key}), 50000);
    EXPECT_FALSE(client.try_lock(key).has_value());
    EXPECT_THROW(client.lock(key, {.wait = 50ms}), Denied);
    const auto token = hold.transfer("next");
    auto next = client.lock(key, {.owner = "next"});
    EXPECT_EQ(next.token(), token);
    EXPECT_TRUE(next.release());
    EXPECT_EQ(leaders.Holders(key), 0);
    auto readers =
        std::array{client.lock(key, {.shared = true}), client.lock(key, {.shared = true})};
    EXPECT_EQ(leaders.Holders(key), 2);
  }
}

TEST_F(ClusterTest, WaitersOfEveryPartitionAreServedInOrder) {
  std::map<std::string, std::vector<std::future<Hold>>> waits;
  std::vector<Hold> holds;
  for (const auto& key : {low, high}) holds.push_back(client.lock(key));
  for (int i = 0; i < 5; ++i) {
    for (const auto& key : {low, high}) {
      waits[key].push_back(client.lock(key, {}, asio::use_future));
      ASSERT_TRUE(Becomes([&] { return leaders.Waiters(key) == i + 1; }));
    }
  }
  for (auto& hold : holds) {
    auto last = hold.token();
    for (auto& wait : waits[hold.keys().front()]) {
      EXPECT_TRUE(hold.release());
      hold = wait.get();
      EXPECT_GT(hold.token(), last);
      last = hold.token();
    }
  }
}

TEST_F(ClusterTest, KeysOfOneSlotAreTakenTogether) {
  const std::vector<std::string> keys{high + "1", high + "2"};
  auto both = client.lock(keys);
  EXPECT_EQ(leaders.Holders(keys[0]) + leaders.Holders(keys[1]), 2);
  auto wait = client.lock({keys[1], high + "3"}, {}, asio::use_future);
  ASSERT_TRUE(Becomes([&] { return leaders.Waiters(keys[1]) == 1; }));
  both.release();
  EXPECT_TRUE(wait.get().release());
  for (const auto wait : {std::optional<Duration>(), std::optional<Duration>(0ms)}) {
    try {
      client.lock({low, high}, {.wait = wait});
      ADD_FAILURE() << "it was granted";
    } catch (const Refused& refused) {
      EXPECT_TRUE(std::string(refused.what()).starts_with("CROSSSLOT")) << refused.what();
    }
  }
}

TEST_F(ClusterTest, AClientOfOneServerIsToldToUseCluster) {
  for (const auto& node : Nodes()) {
    Client plain({.addresses = {node, node}});
    int refusals = 0;
    for (const auto& key : {low, high}) {
      try {
        plain.lock(key).release();
      } catch (const Refused& refused) {
        ++refusals;
        EXPECT_NE(std::string(refused.what()).find("set `cluster`"), std::string::npos)
            << refused.what();
      }
    }
    EXPECT_GE(refusals, 1) << node;
  }
  EXPECT_THROW(Client({.cluster = true, .sentinels = {"127.0.0.1:1"}}), Refused);
}

TEST_F(ClusterTest, AServerWithoutPartitionsIsReported) {
  Client other({.addresses = {"127.0.0.1:" + Environment("FAIRLOCK_PORT")}, .cluster = true});
  EXPECT_THROW(other.lock(low), Refused);
}

TEST_F(ClusterTest, AUserNeedsPermissionForTheSlots) {
  auto settings = Fleet();
  settings.user = "shop";
  settings.password = "secret";
  Client shop(settings);
  for (const auto& key : {low, high}) {
    auto hold = shop.lock(key);
    auto wait = shop.lock(key, {}, asio::use_future);
    ASSERT_TRUE(Becomes([&] { return leaders.Waiters(key) == 1; }));
    hold.release();
    EXPECT_TRUE(wait.get().release());
  }
  settings.user = "stranger";
  EXPECT_THROW(Client(settings).lock(low), Refused);
  settings.password = "wrong";
  EXPECT_THROW(Client(settings).lock(low), Refused);
}

TEST_F(ClusterTest, AnyOfTheAddressesWillDo) {
  for (const auto& node : Nodes()) {
    Client other({.addresses = {"127.0.0.1:1", node}, .cluster = true});
    EXPECT_TRUE(other.try_lock(low).has_value());
    EXPECT_TRUE(other.try_lock(high).has_value());
  }
  Client lost({.addresses = {"127.0.0.1:1"}, .cluster = true});
  EXPECT_THROW(lost.try_lock(low), ConnectionFailed);
  EXPECT_THROW(lost.lock(low, {.wait = 200ms}), ConnectionFailed);
}

TEST_F(ClusterTest, EachSlotInUseHasOneChannel) {
  const auto are = [](std::size_t count) {
    return [count] { return Leaders::Channels().size() == count; };
  };
  ASSERT_TRUE(Becomes(are(0)));
  {
    const auto first = client.lock(low);
    const auto same_slot = client.lock(low + "2");
    EXPECT_TRUE(Becomes(are(1)));
    const auto other = client.lock(high);
    EXPECT_TRUE(Becomes(are(2)));
    auto wait = client.lock(Key("c"), {}, asio::use_future);
    wait.get().release();
    EXPECT_TRUE(Becomes(are(2)));
  }
  EXPECT_TRUE(Becomes(are(0)));
}

TEST_F(ClusterTest, AnyKeyHasAChannelOfItsSlot) {
  std::vector<std::string> keys{
      "}", "a}b", "{}x{y}", "{a{b}", "{", std::string("\0{\xff}\xfe", 5), std::string(200, 'x')};
  for (auto& key : keys) {
    if (key.find('{') == std::string::npos) key += name;
    auto hold = client.lock(key, {.wait = 10s});
    auto wait = client.lock(key, {.wait = 10s}, asio::use_future);
    ASSERT_TRUE(Becomes([&] { return leaders.Waiters(key) == 1; })) << key;
    EXPECT_TRUE(hold.release());
    EXPECT_TRUE(wait.get().release()) << key;
  }
}

TEST_F(ClusterTest, CancelledWaitLeavesNoPlace) {
  for (const auto& key : {low, high}) {
    const auto hold = client.lock(key);
    asio::cancellation_signal signal;
    auto wait = client.lock(key, {}, asio::bind_cancellation_slot(signal.slot(), asio::use_future));
    ASSERT_TRUE(Becomes([&] { return leaders.Waiters(key) == 1; }));
    signal.emit(asio::cancellation_type::all);
    EXPECT_THROW(wait.get(), boost::system::system_error);
    EXPECT_TRUE(Becomes([&] { return leaders.Waiters(key) == 0; }));
  }
}

// A waiter and a holder go on when the leader is disturbed; those of the other partition are not
// affected.
class Outage : public ClusterTest, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override { Disturb("heal"); }
  void TearDown() override { Disturb("heal"); }

  [[nodiscard]] static std::string Action() { return GetParam() + std::string(" 0"); }
};

TEST_P(Outage, WaitersAndHoldersGoOn) {
  std::atomic<int> losses = 0;
  const auto count = [&](const std::string&) { ++losses; };
  Client rival(Fleet());
  auto hold = client.lock(low, {.lease = 20s, .on_lost = count});
  auto other = client.lock(high, {.lease = 20s, .on_lost = count});
  const LockOptions options{.wait = 60s, .keep = 40s};
  auto first = rival.lock(low, options, asio::use_future);
  ASSERT_TRUE(Becomes([&] { return leaders.Waiters(low) == 1; }));
  auto second = client.lock(low, options, asio::use_future);
  ASSERT_TRUE(Becomes([&] { return leaders.Waiters(low) == 2; }));
  auto elsewhere = rival.lock(high, options, asio::use_future);
  ASSERT_TRUE(Becomes([&] { return leaders.Waiters(high) == 1; }));
  Disturb(Action());
  EXPECT_TRUE(other.release());
  EXPECT_TRUE(elsewhere.get().release());
  EXPECT_EQ(first.wait_for(0s), std::future_status::timeout);
  EXPECT_NO_THROW(hold.check());
  EXPECT_TRUE(hold.release());
  ASSERT_EQ(first.wait_for(20s), std::future_status::ready);
  EXPECT_EQ(second.wait_for(300ms), std::future_status::timeout);
  EXPECT_TRUE(first.get().release());
  ASSERT_EQ(second.wait_for(20s), std::future_status::ready);
  auto last = second.get();
  EXPECT_EQ(leaders.Ask({"CHECK", low, std::to_string(last.token())}), 1);
  EXPECT_EQ(losses, 0);
}

TEST_P(Outage, HoldIsRenewedAndItsLossIsReported) {
  std::atomic<int> losses = 0;
  auto hold = client.lock(
      low, {.lease = 6s, .wait = 10s, .on_lost = [&](const std::string&) { ++losses; }});
  Disturb(Action());
  std::this_thread::sleep_for(8s);
  EXPECT_EQ(losses, 0);
  EXPECT_NO_THROW(hold.check());
  // The client has subscribed at the new leader, so it learns of a loss at once.
  hold.renew(60s);
  leaders.Ask({"BREAK", low});
  EXPECT_TRUE(Becomes([&] { return losses == 1; }, 5s));
}

TEST_P(Outage, CancellationMeanwhileLeavesNothing) {
  const auto hold = client.lock(low, {.lease = 60s});
  Client rival(Fleet());
  asio::cancellation_signal signal;
  auto wait =
      rival.lock(low, {.keep = 60s}, asio::bind_cancellation_slot(signal.slot(), asio::use_future));
  ASSERT_TRUE(Becomes([&] { return leaders.Waiters(low) == 1; }));
  Disturb(Action());
  signal.emit(asio::cancellation_type::all);
  EXPECT_THROW(wait.get(), boost::system::system_error);
  EXPECT_TRUE(Becomes([&] { return leaders.Waiters(low) == 0; }));
  EXPECT_NO_THROW(hold.check());
}

INSTANTIATE_TEST_SUITE_P(Each, Outage, testing::Values("kill", "hand-over", "pause"),
                         [](const auto& test) {
                           std::string text = test.param;
                           std::erase(text, '-');
                           return text;
                         });

// A node that confuses the leaders of the two partitions.
class ConfusedNode {
 public:
  // The nodes that it names.
  ConfusedNode(std::string low, std::string high)
      : slots_("*2\r\n" + Partition(0, 8191, low) + Partition(8192, 16383, high)),
        thread_([this] { Serve(); }) {}
  ConfusedNode(const ConfusedNode&) = delete;
  ConfusedNode& operator=(const ConfusedNode&) = delete;
  ~ConfusedNode() {
    is_over_ = true;
    boost::system::error_code ignored;
    asio::ip::tcp::socket(io_).connect(listener_.local_endpoint(), ignored);
    thread_.join();
  }

  [[nodiscard]] std::string address() const {
    return "127.0.0.1:" + std::to_string(listener_.local_endpoint().port());
  }

 private:
  static std::string Partition(int first, int last, const std::string& node) {
    return "*3\r\n:" + std::to_string(first) + "\r\n:" + std::to_string(last) +
           "\r\n*2\r\n$9\r\n127.0.0.1\r\n:" + node.substr(node.rfind(':') + 1) + "\r\n";
  }

  void Serve() {
    while (true) {
      auto socket = listener_.accept();
      if (is_over_) return;
      std::string received;
      boost::system::error_code ignored;
      for (const auto& [request, reply] : {std::pair("HELLO\r\n$1\r\n3\r\n", std::string("%0\r\n")),
                                           std::pair("CLUSTER\r\n$5\r\nSLOTS\r\n", slots_)}) {
        asio::read_until(socket, asio::dynamic_buffer(received), request, ignored);
        asio::write(socket, asio::buffer(reply), ignored);
      }
    }
  }

  const std::string slots_;
  asio::io_context io_;
  asio::ip::tcp::acceptor listener_{io_, {asio::ip::make_address("127.0.0.1"), 0}};
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

TEST_F(ClusterTest, NodesThatNameAnotherOneAreFollowed) {
  const ConfusedNode confused(leaders.NodeOf(high), leaders.NodeOf(low));
  for (const auto& key : {low, high}) {
    Client other({.addresses = {confused.address()}, .cluster = true});
    auto hold = other.try_lock(key);
    ASSERT_TRUE(hold.has_value());
    EXPECT_EQ(leaders.Holders(key), 1);
    auto wait = other.lock(key, {.wait = 10s}, asio::use_future);
    ASSERT_TRUE(Becomes([&] { return leaders.Waiters(key) == 1; }));
    EXPECT_TRUE(hold->release());
    EXPECT_TRUE(wait.get().release());
  }
}

}  // namespace

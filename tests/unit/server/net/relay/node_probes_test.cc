#include "server/net/relay/node_probes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/server/net/net_test_support.h"
#include "tests/unit/server/net/relay/leader_port.h"

namespace fairlock::net {
namespace {

class NodeProbesTest : public testing::Test {
 protected:
  NodeProbesTest() {
    one_.Open();
    loop_.Do([this](TurnLoop& loop, command::ServerParts&) {
      probes_ = std::make_unique<NodeProbes>(loop.io_context(), [this] { ++changes_; });
    });
  }
  ~NodeProbesTest() override {
    loop_.Do([this](TurnLoop&, command::ServerParts&) { probes_.reset(); });
  }

  void SetNodes(const NodeProbes::Nodes& nodes) {
    loop_.Do([&](TurnLoop&, command::ServerParts&) { probes_->SetNodes(nodes); });
  }
  std::vector<std::string> Unreached() {
    std::vector<std::string> names;
    loop_.Do([&](TurnLoop&, command::ServerParts&) { names = probes_->Unreached(); });
    return names;
  }
  bool BecomesUnreached(const std::vector<std::string>& names) {
    return WaitUntil([&] { return Unreached() == names; });
  }

  LoopOnThread loop_;
  LeaderPort one_;
  std::atomic<int> changes_ = 0;
  std::unique_ptr<NodeProbes> probes_;
};

TEST_F(NodeProbesTest, ANodeIsReachedOnceItHasAccepted) {
  LeaderPort closed;
  const LeaderAddress refusing = closed.address();
  closed.Close();
  SetNodes({{"n1", one_.address()}, {"n2", refusing}, {"n3", std::nullopt}});
  EXPECT_TRUE(BecomesUnreached({"n2", "n3"}));
  EXPECT_EQ(changes_, 1);
  closed.Open();
  EXPECT_TRUE(BecomesUnreached({"n3"}));
  EXPECT_EQ(changes_, 2);
}

TEST_F(NodeProbesTest, ANodeThatDoesNotAcceptAnyMoreIsUnreached) {
  SetNodes({{"n1", one_.address()}});
  EXPECT_TRUE(BecomesUnreached({}));
  one_.Close();
  EXPECT_TRUE(BecomesUnreached({"n1"}));
}

TEST_F(NodeProbesTest, ANodeThatAnnouncesAnotherAddressIsTriedThere) {
  SetNodes({{"n1", one_.address()}});
  EXPECT_TRUE(BecomesUnreached({}));
  LeaderAddress other = one_.address();
  other.host = "no such host";
  SetNodes({{"n1", other}});
  EXPECT_EQ(Unreached(), std::vector<std::string>{"n1"});
  SetNodes({});
  EXPECT_TRUE(Unreached().empty());
}

TEST_F(NodeProbesTest, ANodeThatServesOnlyTlsIsTriedAtThatPort) {
  LeaderAddress address = one_.address();
  address.tls_port = std::exchange(address.port, 0);
  SetNodes({{"n1", address}});
  EXPECT_TRUE(BecomesUnreached({}));
}

}  // namespace
}  // namespace fairlock::net

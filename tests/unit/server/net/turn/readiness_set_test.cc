#include "server/net/turn/readiness_set.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <vector>

namespace fairlock::net {
namespace {

// A socket in the set, and its other end. The set never dereferences a connection, so any address
// can stand for one.
class Pair {
 public:
  Pair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_.data()), 0); }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() {
    close(ends_[0]);
    ClosePeer();
  }

  int socket() const { return ends_[0]; }
  RespConnection& connection() { return *reinterpret_cast<RespConnection*>(this); }
  void SendFromPeer() { EXPECT_EQ(send(ends_[1], "x", 1, 0), 1); }
  void ClosePeer() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{};
};

bool IsReadable(int descriptor) {
  pollfd polled{.fd = descriptor, .events = POLLIN, .revents = 0};
  return poll(&polled, 1, 0) == 1;
}

TEST(ReadinessSet, ReportsASocketForAsLongAsItIsReady) {
  ReadinessSet set;
  Pair pair;
  ASSERT_TRUE(set.Add(pair.socket(), pair.connection(), {.to_read = true}));
  EXPECT_TRUE(set.Collect(10).empty());
  EXPECT_FALSE(IsReadable(set.descriptor()));
  pair.SendFromPeer();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(IsReadable(set.descriptor()));
    const auto ready = set.Collect(10);
    ASSERT_EQ(ready.size(), 1U);
    EXPECT_EQ(ready[0].connection, &pair.connection());
    EXPECT_TRUE(ready[0].to_read);
    EXPECT_FALSE(ready[0].to_write);
    EXPECT_FALSE(ready[0].is_lost);
  }
}

TEST(ReadinessSet, ReportsOnlyWhatIsWaitedFor) {
  ReadinessSet set;
  Pair pair;
  ASSERT_TRUE(set.Add(pair.socket(), pair.connection(), {.to_read = true}));
  pair.SendFromPeer();
  set.Change(pair.socket(), pair.connection(), {});
  EXPECT_TRUE(set.Collect(10).empty());
  set.Change(pair.socket(), pair.connection(), {.to_read = true, .to_write = true});
  const auto ready = set.Collect(10);
  ASSERT_EQ(ready.size(), 1U);
  EXPECT_TRUE(ready[0].to_read);
  EXPECT_TRUE(ready[0].to_write);
}

TEST(ReadinessSet, ReportsALostPeerWhateverIsWaitedFor) {
  ReadinessSet set;
  Pair pair;
  ASSERT_TRUE(set.Add(pair.socket(), pair.connection(), {}));
  pair.ClosePeer();
  const auto ready = set.Collect(10);
  ASSERT_EQ(ready.size(), 1U);
  EXPECT_TRUE(ready[0].is_lost);
}

TEST(ReadinessSet, ForgetsWhatWasRemoved) {
  ReadinessSet set;
  Pair pair;
  ASSERT_TRUE(set.Add(pair.socket(), pair.connection(), {.to_read = true}));
  pair.SendFromPeer();
  set.Remove(pair.socket());
  EXPECT_TRUE(set.Collect(10).empty());
}

TEST(ReadinessSet, BoundedCollectionsReachEverybodyInTurn) {
  ReadinessSet set;
  std::vector<Pair> pairs(5);
  for (Pair& pair : pairs) {
    ASSERT_TRUE(set.Add(pair.socket(), pair.connection(), {.to_read = true}));
    pair.SendFromPeer();
  }
  std::vector<int> reports(pairs.size());
  for (int i = 0; i < 10; ++i) {
    const auto ready = set.Collect(2);
    EXPECT_EQ(ready.size(), 2U);
    for (const Readiness& one : ready) {
      for (std::size_t j = 0; j < pairs.size(); ++j) {
        reports[j] += one.connection == &pairs[j].connection() ? 1 : 0;
      }
    }
  }
  for (const int count : reports) EXPECT_EQ(count, 4);
}

}  // namespace
}  // namespace fairlock::net

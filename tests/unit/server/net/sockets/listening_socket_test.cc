#include "server/net/sockets/listening_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "server/net/sockets/descriptor_limit.h"
#include "server/net/sockets/socket_options.h"
#include "tests/doubles/free_port.h"
#include "tests/unit/server/net/net_test_support.h"

namespace fairlock::net {
namespace {

using testing::HasSubstr;

void CloseAll(const ListenResult& result) {
  for (const ListeningSocket& socket : result.sockets) CloseListeningSocket(socket);
}

TEST(ListeningSocket, NamesTheAddressItListensOn) {
  ListenOptions options;
  options.bind = {"127.0.0.1"};
  options.port = tests::FreePort();
  const ListenResult result = Listen(options);
  ASSERT_EQ(result.error, "");
  ASSERT_EQ(result.sockets.size(), 1U);
  EXPECT_EQ(result.sockets[0].name, "127.0.0.1:" + std::to_string(options.port));
  EXPECT_EQ(FormatLocalAddress(result.sockets[0].descriptor, ""), result.sockets[0].name);
  CloseAll(result);
}

TEST(ListeningSocket, StarIsEveryAddressAndNeedsNoIpv6) {
  ListenOptions options;
  options.bind = {"*"};
  options.port = tests::FreePort();
  const ListenResult result = Listen(options);
  ASSERT_EQ(result.error, "");
  ASSERT_GE(result.sockets.size(), 1U);
  EXPECT_EQ(result.sockets[0].name, "0.0.0.0:" + std::to_string(options.port));
  EXPECT_EQ(result.sockets.size() + result.skipped.size(), 2U);
  CloseAll(result);
}

TEST(ListeningSocket, OpensAllOrNone) {
  ListenOptions taken;
  taken.bind = {"127.0.0.2"};
  taken.port = tests::FreePort();
  const ListenResult first = Listen(taken);
  ASSERT_EQ(first.error, "");

  ListenOptions options = taken;
  options.bind = {"127.0.0.1", "127.0.0.2"};
  const ListenResult second = Listen(options);
  EXPECT_THAT(second.error, HasSubstr("127.0.0.2:" + std::to_string(taken.port)));
  EXPECT_THAT(second.error, HasSubstr("stop it, or choose another --port"));
  EXPECT_TRUE(second.sockets.empty());
  CloseAll(first);
  const ListenResult third = Listen(options);
  EXPECT_EQ(third.error, "");
  CloseAll(third);
}

TEST(ListeningSocket, WithoutAnyAddressThereIsAnError) {
  EXPECT_THAT(Listen({}).error, HasSubstr("no address to listen on"));
}

TEST(ListeningSocket, NameThatMeansNothingIsAnError) {
  ListenOptions options;
  options.bind = {"not an address"};
  options.port = 1;
  EXPECT_THAT(Listen(options).error, HasSubstr("cannot listen on not an address: "));
}

TEST(ListeningSocket, UnixSocketIsBornWithItsPermissionsAndRemovedWithItself) {
  TemporaryFolder folder;
  ListenOptions options;
  options.unix_path = folder.PathOf("socket");
  options.unix_permissions = 0640;
  const mode_t mask = umask(0);
  umask(mask);
  const ListenResult result = Listen(options);
  ASSERT_EQ(result.error, "");
  struct stat status {};
  ASSERT_EQ(stat(options.unix_path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
  EXPECT_EQ(umask(mask), mask);
  CloseAll(result);
  EXPECT_NE(stat(options.unix_path.c_str(), &status), 0);
}

TEST(ListeningSocket, UnixPathThatIsTooLongIsAnError) {
  ListenOptions options;
  options.unix_path = std::string(108, 'p');
  EXPECT_THAT(Listen(options).error, HasSubstr("the path is longer than 107 bytes"));
}

TEST(ListeningSocket, FileThatIsNoSocketIsLeftAlone) {
  TemporaryFolder folder;
  ListenOptions options;
  options.unix_path = folder.PathOf("file");
  std::ofstream(options.unix_path) << "precious";
  EXPECT_THAT(Listen(options).error, HasSubstr("not a socket"));
  std::string content;
  std::ifstream(options.unix_path) >> content;
  EXPECT_EQ(content, "precious");
}

TEST(SocketAddress, IsShownAsRedisShowsIt) {
  sockaddr_storage storage{};
  auto& ipv4 = reinterpret_cast<sockaddr_in&>(storage);
  ipv4.sin_family = AF_INET;
  ipv4.sin_port = htons(3247);
  ipv4.sin_addr.s_addr = htonl(0x0a000001);
  EXPECT_EQ(FormatAddress(storage, ""), "10.0.0.1:3247");
  storage = {};
  auto& ipv6 = reinterpret_cast<sockaddr_in6&>(storage);
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_port = htons(3247);
  ipv6.sin6_addr = in6addr_loopback;
  EXPECT_EQ(FormatAddress(storage, ""), "[::1]:3247");
  storage = {};
  storage.ss_family = AF_UNIX;
  EXPECT_EQ(FormatAddress(storage, "/run/fairlock.sock"), "/run/fairlock.sock:0");
}

// Runs `check` in a process of its own, because a lowered limit cannot be raised again; returns its
// result.
int InOwnProcess(int (*check)()) {
  const pid_t child = fork();
  if (child == 0) _exit(check());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(DescriptorLimit, SoftLimitIsRaisedAsFarAsNeeded) {
  EXPECT_EQ(InOwnProcess([] {
              const rlimit low{.rlim_cur = 70, .rlim_max = 200};
              setrlimit(RLIMIT_NOFILE, &low);
              const std::size_t room = MakeRoomForConnections(100);
              rlimit limit{};
              getrlimit(RLIMIT_NOFILE, &limit);
              return room == 100 && limit.rlim_cur == 100 + kDescriptorsReserved ? 0 : 1;
            }),
            0);
}

TEST(DescriptorLimit, ConnectionsStayBelowTheHardLimit) {
  EXPECT_EQ(InOwnProcess([] {
              const rlimit low{.rlim_cur = 70, .rlim_max = 200};
              setrlimit(RLIMIT_NOFILE, &low);
              return static_cast<int>(MakeRoomForConnections(10'000));
            }),
            200 - static_cast<int>(kDescriptorsReserved));
  EXPECT_EQ(InOwnProcess([] {
              const rlimit low{.rlim_cur = 20, .rlim_max = 20};
              setrlimit(RLIMIT_NOFILE, &low);
              return static_cast<int>(MakeRoomForConnections(10'000));
            }),
            1);
}

// The size of the descriptor table according to the system; 0 if it does not say.
std::size_t DescriptorTableSize() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::size_t size = 0;
    if (word == "FDSize:" && status >> size) return size;
  }
  return 0;
}

TEST(DescriptorLimit, TheTableIsAsLongAsItWillEverBe) {
  EXPECT_EQ(InOwnProcess([] {
              const rlimit limit{.rlim_cur = 70, .rlim_max = 3000};
              setrlimit(RLIMIT_NOFILE, &limit);
              const std::size_t before = DescriptorTableSize();
              if (before == 0 || before > 1000) return 1;
              MakeRoomForConnections(2000);
              return DescriptorTableSize() >= 2000 ? 0 : 2;
            }),
            0);
}

}  // namespace
}  // namespace fairlock::net

#include "tests/unit/server/net/net_test_support.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <boost/asio/post.hpp>
#include <cassert>
#include <chrono>
#include <cstdlib>
#include <future>

#include "server/command/handlers/command_families.h"
#include "server/net/clock.h"
#include "server/net/sockets/listening_socket.h"

namespace fairlock::net {

TemporaryFolder::TemporaryFolder() {
  std::string made = (std::filesystem::temp_directory_path() / "fairlock-XXXXXX").string();
  const char* const outcome = mkdtemp(made.data());
  assert(outcome != nullptr);
  path_ = made;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void RecordedEvents::LogOpened(const command::ClientProfile&) {
  const std::lock_guard lock(mutex_);
  ++opened_;
}

void RecordedEvents::LogClosed(const command::ClientProfile&, CloseReason reason, engine::TimeMs) {
  const std::lock_guard lock(mutex_);
  close_reasons_.push_back(reason);
}

std::size_t RecordedEvents::opened() const {
  const std::lock_guard lock(mutex_);
  return opened_;
}

std::vector<CloseReason> RecordedEvents::close_reasons() const {
  const std::lock_guard lock(mutex_);
  return close_reasons_;
}

TestPeer::TestPeer(const std::string& unix_path)
    : descriptor_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const timeval patience{.tv_sec = 10, .tv_usec = 0};
  setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  unix_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int outcome =
      connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  assert(outcome == 0);
}

TestPeer::~TestPeer() { Close(); }

void TestPeer::Close() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

void TestPeer::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    assert(sent > 0);
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

bool TestPeer::TrySend(std::string_view bytes) {
  return send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0;
}

std::string TestPeer::Receive(std::size_t bytes) {
  std::string received(bytes, '\0');
  std::size_t size = 0;
  while (size < bytes) {
    const ssize_t count = recv(descriptor_, received.data() + size, bytes - size, 0);
    if (count <= 0) break;
    size += static_cast<std::size_t>(count);
  }
  received.resize(size);
  return received;
}

int TestPeer::unreceived_bytes() const {
  int bytes = 0;
  ioctl(descriptor_, SIOCOUTQ, &bytes);
  return bytes;
}

LoopOnThread::LoopOnThread(const LoopOptions& options) : unix_path_(folder_.PathOf("socket")) {
  std::promise<void> listens;
  thread_ = std::thread([this, &options, &listens] {
    Begin(options);
    listens.set_value();
    loop_->Run();
    loop_.reset();
  });
  listens.get_future().wait();
}

// Only the loop's thread may use the loop and the parts.
void LoopOnThread::Begin(const LoopOptions& options) {
  parts_.emplace(command::WholeLanguage(), engine::EngineOptions(), environment_.Given(),
                 BoottimeMs());
  loop_ = std::make_unique<TurnLoop>(*parts_, events_, options);
  ListenOptions addresses;
  addresses.unix_path = unix_path_;
  ListenResult listening = Listen(addresses);
  assert(listening.error.empty());
  loop_->StartListening(std::move(listening.sockets));
}

LoopOnThread::~LoopOnThread() { Stop(); }

void LoopOnThread::Do(const std::function<void(TurnLoop&, command::ServerParts&)>& what) {
  std::promise<void> done;
  boost::asio::post(loop_->io_context(), [&] {
    what(*loop_, *parts_);
    done.set_value();
  });
  done.get_future().wait();
}

void LoopOnThread::Stop() {
  if (!thread_.joinable()) return;
  Do([](TurnLoop& loop, command::ServerParts&) { loop.RequestStop(); });
  thread_.join();
}

std::string Repeated(std::string_view text, std::size_t count) {
  std::string repeated;
  for (std::size_t i = 0; i < count; ++i) repeated += text;
  return repeated;
}

std::string LocksAndUnlocks(int number, std::size_t pairs) {
  const std::string names = " key-" + std::to_string(number) + " owner\r\n";
  return Repeated("LOCK" + names + "UNLOCK" + names, pairs);
}

std::int64_t ReceiveNumber(TestPeer& peer) {
  std::string line;
  while (!line.ends_with('\n')) line += peer.Receive(1);
  return std::stoll(line.substr(1));
}

std::uint64_t CountExecuted(LoopOnThread& loop) {
  std::uint64_t executed = 0;
  loop.Do([&](TurnLoop&, command::ServerParts& parts) {
    executed = parts.statistics.counters.commands_processed;
  });
  return executed;
}

bool WaitUntil(const std::function<bool()>& condition) {
  for (int i = 0; i < 10'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace fairlock::net

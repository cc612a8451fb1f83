// When preloaded into a server, makes each fdatasync take SLOW_SYNC_US microseconds longer, to
// simulate a slower disk.

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

extern "C" int fdatasync(int file) {
  static const std::chrono::microseconds kDelay(std::atol(std::getenv("SLOW_SYNC_US")));
  const auto result = static_cast<int>(syscall(SYS_fdatasync, file));
  std::this_thread::sleep_for(kDelay);
  return result;
}

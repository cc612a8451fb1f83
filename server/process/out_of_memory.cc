#include "server/process/out_of_memory.h"

#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "server/net/clock.h"

namespace fairlock::server {

namespace {

std::atomic<int> log_descriptor_of_process = STDERR_FILENO;

// Must not allocate memory.
void WriteLine(int descriptor) {
  const std::int64_t now_us = net::UnixTimeUs();
  const time_t seconds = now_us / 1'000'000;
  tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 64> time{};
  strftime(time.data(), time.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 256> line{};
  const int size =
      std::snprintf(line.data(), line.size(),
                    "%s.%03d+00:00 error exiting: the system is out of memory; acknowledged "
                    "changes survive as they do after a kill (see durability)\n",
                    time.data(), static_cast<int>(now_us / 1000 % 1000));
  pollfd polled{.fd = descriptor, .events = POLLOUT, .revents = 0};
  if (poll(&polled, 1, 0) <= 0) return;
  [[maybe_unused]] const ssize_t written =
      write(descriptor, line.data(), static_cast<std::size_t>(size));
}

[[noreturn]] void End() {
  WriteLine(log_descriptor_of_process.load());
  std::_Exit(kOutOfMemoryStatus);
}

// Some libraries throw bad_alloc without calling the new handler. Nothing catches that exception,
// so the terminate handler handles it; this is the previous handler, for all other causes.
std::terminate_handler terminate_otherwise = nullptr;

[[noreturn]] void EndIfOutOfMemory() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    End();
  } catch (...) {
  }
  terminate_otherwise();
  std::abort();
}

}  // namespace

void EndWhenOutOfMemory(int log_descriptor) {
  log_descriptor_of_process.store(log_descriptor);
  std::set_new_handler(End);
  terminate_otherwise = std::set_terminate(EndIfOutOfMemory);
}

}  // namespace fairlock::server

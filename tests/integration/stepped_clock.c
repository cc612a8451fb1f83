// Preloaded into a server, lets a test step its wall clock: the file named by CLOCK_OFFSET contains
// the number of seconds to add. Other clocks are unchanged.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long OffsetSeconds(void) {
  char text[32] = {0};
  const char* path = getenv("CLOCK_OFFSET");
  const int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  return size > 0 ? strtol(text, NULL, 10) : 0;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  const long result = syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    now->tv_sec += OffsetSeconds();
  }
  return (int)result;
}

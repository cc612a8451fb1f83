// Preloaded into a server, makes fdatasync return at once. A test can also stop the disk: while the
// file named by STOPPED_DISK exists, no fdatasync returns.
#include <stdlib.h>
#include <unistd.h>

int fdatasync(int file) {
  (void)file;
  const char* path = getenv("STOPPED_DISK");
  while (path != NULL && access(path, F_OK) == 0) usleep(1000);
  return 0;
}

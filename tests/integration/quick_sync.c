// Preloaded into a server, makes its disk as quick as none, and lets a test stop it: while the file
// named by STOPPED_DISK exists, no fdatasync ends.
#include <stdlib.h>
#include <unistd.h>

int fdatasync(int file) {
  (void)file;
  const char* path = getenv("STOPPED_DISK");
  while (path != NULL && access(path, F_OK) == 0) usleep(1000);
  return 0;
}

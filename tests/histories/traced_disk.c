// Preloaded into a server. Records in the file TRACED_DISK what the server does to the files below
// the path TRACED_FOLDER: enough to tell what a disk contains if it loses power at any given
// moment.
//
// A record is a heading of 32 bytes and its data. An operation is recorded after it has been done,
// so an operation that is missing was not acknowledged to anybody. Covers only the functions that
// RocksDB and the server call; writes through stdio are not seen.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kFilesMax = 65536 };

struct Heading {
  char kind;
  char flag;
  uint16_t unused;
  int32_t file;
  uint64_t at;
  uint64_t number;
  uint64_t size;
};

static _Atomic char is_traced[kFilesMax];
static _Atomic uint64_t syncs;
static int output = -1;
static const char* folder;
static size_t folder_size;

#define REAL(name)               \
  static __typeof__(&name) real; \
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, #name)

static void Begin(void) {
  if (output >= 0) return;
  folder = getenv("TRACED_FOLDER");
  const char* path = getenv("TRACED_DISK");
  if (folder == NULL || path == NULL) abort();
  folder_size = strlen(folder);
  int (*real_open)(const char*, int, ...);
  *(void**)&real_open = dlsym(RTLD_NEXT, "open");
  output = real_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (output < 0) abort();
}

__attribute__((constructor)) static void Start(void) { Begin(); }

static void Record(char kind, char flag, int file, uint64_t at, uint64_t number, const void* data,
                   size_t size) {
  const struct Heading heading = {kind, flag, 0, file, at, number, size};
  const struct iovec parts[] = {{(void*)&heading, sizeof(heading)}, {(void*)data, size}};
  const int error = errno;
  if (writev(output, parts, 2) != (ssize_t)(sizeof(heading) + size)) abort();
  errno = error;
}

// Returns the absolute path if it is below the folder; otherwise NULL.
static const char* Within(const char* path, char* whole) {
  Begin();
  if (path[0] == '/') {
    snprintf(whole, PATH_MAX, "%s", path);
  } else {
    char current[PATH_MAX / 2];
    if (getcwd(current, sizeof(current)) == NULL) return NULL;
    snprintf(whole, PATH_MAX, "%s/%s", current, path);
  }
  return strncmp(whole, folder, folder_size) == 0 ? whole : NULL;
}

static int IsTraced(int file) { return file >= 0 && file < kFilesMax && is_traced[file]; }

static void Opened(int file, const char* path, int flags, int was_there) {
  if (file < 0 || path == NULL || file >= kFilesMax) return;
  is_traced[file] = 1;
  const int is_emptied = was_there && (flags & O_TRUNC) && (flags & O_ACCMODE) != O_RDONLY;
  Record('o', was_there ? (is_emptied ? 't' : '-') : 'c', file, 0, 0, path, strlen(path));
}

#define OPEN(name, call)                                           \
  REAL(name);                                                      \
  mode_t mode = 0;                                                 \
  if (flags & (O_CREAT | __O_TMPFILE)) {                           \
    va_list more;                                                  \
    va_start(more, flags);                                         \
    mode = va_arg(more, mode_t);                                   \
    va_end(more);                                                  \
  }                                                                \
  char whole[PATH_MAX];                                            \
  const char* within = Within(path, whole);                        \
  const int was_there = within == NULL || access(path, F_OK) == 0; \
  const int file = real call;                                      \
  Opened(file, within, flags, was_there);                          \
  return file

int open(const char* path, int flags, ...) { OPEN(open, (path, flags, mode)); }
int open64(const char* path, int flags, ...) { OPEN(open64, (path, flags, mode)); }
// Supports only absolute paths, and paths relative to the current folder.
int openat(int at, const char* path, int flags, ...) { OPEN(openat, (at, path, flags, mode)); }
int openat64(int at, const char* path, int flags, ...) { OPEN(openat64, (at, path, flags, mode)); }

int close(int file) {
  REAL(close);
  if (IsTraced(file)) {
    is_traced[file] = 0;
    Record('x', 0, file, 0, 0, NULL, 0);
  }
  return real(file);
}

ssize_t write(int file, const void* data, size_t size) {
  REAL(write);
  const ssize_t done = real(file, data, size);
  if (done > 0 && IsTraced(file)) {
    const off_t end = lseek(file, 0, SEEK_CUR);
    Record('w', 0, file, (uint64_t)(end - done), 0, data, (size_t)done);
  }
  return done;
}

#define PWRITE(name, type)                                                                     \
  ssize_t name(int file, const void* data, size_t size, type at) {                             \
    REAL(name);                                                                                \
    const ssize_t done = real(file, data, size, at);                                           \
    if (done > 0 && IsTraced(file)) Record('w', 0, file, (uint64_t)at, 0, data, (size_t)done); \
    return done;                                                                               \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define SYNC(name)                                             \
  int name(int file) {                                         \
    REAL(name);                                                \
    if (!IsTraced(file)) return real(file);                    \
    const uint64_t number = ++syncs;                           \
    Record('b', 0, file, 0, number, NULL, 0);                  \
    const int result = real(file);                             \
    if (result == 0) Record('s', 0, file, 0, number, NULL, 0); \
    return result;                                             \
  }
SYNC(fsync)
SYNC(fdatasync)

#define TRUNCATE(name, type)                                                             \
  int name(int file, type size) {                                                        \
    REAL(name);                                                                          \
    const int result = real(file, size);                                                 \
    if (result == 0 && IsTraced(file)) Record('t', 0, file, (uint64_t)size, 0, NULL, 0); \
    return result;                                                                       \
  }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

static void Allocated(int file, int mode, uint64_t end) {
  struct stat now;
  if (IsTraced(file) && mode == 0 && fstat(file, &now) == 0 && (uint64_t)now.st_size == end) {
    Record('t', 0, file, end, 0, NULL, 0);
  }
}

#define ALLOCATE(name, type)                                       \
  int name(int file, int mode, type at, type size) {               \
    REAL(name);                                                    \
    const int result = real(file, mode, at, size);                 \
    if (result == 0) Allocated(file, mode, (uint64_t)(at + size)); \
    return result;                                                 \
  }
ALLOCATE(fallocate, off_t)
ALLOCATE(fallocate64, off64_t)

static void Named(char kind, const char* path, const char* other) {
  char whole[PATH_MAX];
  char second[PATH_MAX] = "";
  if (Within(path, whole) == NULL) return;
  if (other != NULL && Within(other, second) == NULL) return;
  char both[2 * PATH_MAX + 1];
  const int size = snprintf(both, sizeof(both), "%s\n%s", whole, second);
  Record(kind, 0, -1, 0, 0, both, (size_t)size);
}

int rename(const char* from, const char* to) {
  REAL(rename);
  const int result = real(from, to);
  if (result == 0) Named('r', from, to);
  return result;
}

int link(const char* from, const char* to) {
  REAL(link);
  const int result = real(from, to);
  if (result == 0) Named('l', from, to);
  return result;
}

int unlink(const char* path) {
  REAL(unlink);
  const int result = real(path);
  if (result == 0) Named('u', path, NULL);
  return result;
}

int remove(const char* path) {
  REAL(remove);
  const int result = real(path);
  if (result == 0) Named('u', path, NULL);
  return result;
}

int mkdir(const char* path, mode_t mode) {
  REAL(mkdir);
  const int result = real(path, mode);
  if (result == 0) Named('m', path, NULL);
  return result;
}

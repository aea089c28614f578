// A library to preload that makes calls fail, as on a broken disk or a full machine, while a file FAULT_SWITCH.KIND
// exists:
//   write, sync   writing to or syncing a file whose path contains FAULTY_FILE, or ends with what is before its `$`,
//                 fails with EIO;
//   link          no hard link can be created (EPERM), as on a file system without them;
//   thread        no thread can be started (EAGAIN), as in a container at its process limit.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static int is_on (const char *kind) {
  const char *fault = getenv("FAULT_SWITCH");
  char path[PATH_MAX];
  if (fault == NULL) return 0;
  snprintf(path, sizeof path, "%s.%s", fault, kind);
  return access(path, F_OK) == 0;
}

static int faulty (int fd, const char *kind) {
  const char *file = getenv("FAULTY_FILE");
  char link[64], path[PATH_MAX];
  if (file == NULL || !is_on(kind)) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  size_t end = strlen(file) - 1;
  if (file[end] == '$') {
    if (strlen(path) < end || strncmp(path + strlen(path) - end, file, end) != 0) return 0;
  } else if (strstr(path, file) == NULL) return 0;
  errno = EIO;
  return 1;
}

#define REAL(name) __typeof__(name) *real = (__typeof__(name) *) dlsym(RTLD_NEXT, #name)

#define WRITE(name, ...) REAL(name); return faulty(fd, "write") ? -1 : real(fd, __VA_ARGS__)

ssize_t pwrite (int fd, const void *bytes, size_t count, off_t at) { WRITE(pwrite, bytes, count, at); }
ssize_t pwrite64 (int fd, const void *bytes, size_t count, off64_t at) { WRITE(pwrite64, bytes, count, at); }
ssize_t write (int fd, const void *bytes, size_t count) { WRITE(write, bytes, count); }
ssize_t writev (int fd, const struct iovec *parts, int count) { WRITE(writev, parts, count); }
int fsync (int fd) { REAL(fsync); return faulty(fd, "sync") ? -1 : real(fd); }
int fdatasync (int fd) { REAL(fdatasync); return faulty(fd, "sync") ? -1 : real(fd); }

int link (const char *from, const char *to) {
  REAL(link);
  if (!is_on("link")) return real(from, to);
  errno = EPERM;
  return -1;
}

int pthread_create (pthread_t *thread, const pthread_attr_t *attributes, void *(*work) (void *), void *argument) {
  REAL(pthread_create);
  return is_on("thread") ? EAGAIN : real(thread, attributes, work, argument);
}

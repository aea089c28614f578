// Makes writing fail on the files of a database, as a broken disk does: preloaded, it returns EIO from the calls that write
// to (or sync) a file whose path holds FAULTY_FILE, while the file FAULT_SWITCH.write (or FAULT_SWITCH.sync) is there. While
// FAULT_SWITCH.thread is there, no thread can be started, as where a container has come to its limit of processes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
  if (strstr(path, file) == NULL) return 0;
  errno = EIO;
  return 1;
}

#define REAL(name) __typeof__(name) *real = (__typeof__(name) *) dlsym(RTLD_NEXT, #name)

ssize_t pwrite (int fd, const void *bytes, size_t count, off_t at) { REAL(pwrite); return faulty(fd, "write") ? -1 : real(fd, bytes, count, at); }
ssize_t pwrite64 (int fd, const void *bytes, size_t count, off64_t at) { REAL(pwrite64); return faulty(fd, "write") ? -1 : real(fd, bytes, count, at); }
ssize_t write (int fd, const void *bytes, size_t count) { REAL(write); return faulty(fd, "write") ? -1 : real(fd, bytes, count); }
int fsync (int fd) { REAL(fsync); return faulty(fd, "sync") ? -1 : real(fd); }
int fdatasync (int fd) { REAL(fdatasync); return faulty(fd, "sync") ? -1 : real(fd); }

int pthread_create (pthread_t *thread, const pthread_attr_t *attributes, void *(*work) (void *), void *argument) {
  REAL(pthread_create);
  return is_on("thread") ? EAGAIN : real(thread, attributes, work, argument);
}

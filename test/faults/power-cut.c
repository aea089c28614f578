// A library to preload that simulates a power cut: writes that were not synced are lost. It watches the files below
// POWER_FOLDER, except the -shm, which is recreated after a crash. Variables:
//   POWER_TRACE    each write, sync and response is appended to this file, with the words in it that begin with
//                  "proof-";
//   POWER_CUT_AT   the power is cut before the operation with this number, counted from 1: changes that were not synced
//                  are undone, and the process exits;
//   POWER_LIES     syncs report success but do nothing; on such a disk the tests must fail.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

// How to undo a change: the overwritten or truncated bytes, the previous size, and whether the file was created.
struct change { struct change *older; char path[PATH_MAX]; int created; off_t at, size; size_t length; char *bytes; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct change *newest;
static long operations;

#define REAL(name) __typeof__(name) *real = (__typeof__(name) *) dlsym(RTLD_NEXT, #name)

static ssize_t real_write (int fd, const void *bytes, size_t count) { REAL(write); return real(fd, bytes, count); }
static ssize_t real_pwrite (int fd, const void *bytes, size_t count, off_t at) {
  REAL(pwrite);
  return real(fd, bytes, count, at);
}
static int real_open (const char *path, int flags) { REAL(open); return real(path, flags); }
static int real_ftruncate (int fd, off_t size) { REAL(ftruncate); return real(fd, size); }

// Whether a descriptor refers to a watched file or folder.
static int is_ours (int fd, char *path) {
  const char *folder = getenv("POWER_FOLDER");
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = folder == NULL ? -1 : readlink(link, path, PATH_MAX - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strncmp(path, folder, strlen(folder)) == 0 && strstr(path, "-shm") == NULL;
}

static void trace (const char *what, const char *path, const char *bytes, size_t count) {
  static int fd = -1;
  const char *file = getenv("POWER_TRACE");
  if (file == NULL) return;
  if (fd < 0) { REAL(open); fd = real(file, O_WRONLY | O_CREAT | O_APPEND, 0644); }
  static char line[1 << 20];
  const char *name = strrchr(path, '/');
  size_t end = snprintf(line, sizeof line, "%s %s", what, name == NULL ? path : name + 1);
  for (const char *at = bytes; count > 0 && (at = memmem(at, bytes + count - at, "proof-", 6)) != NULL;) {
    size_t length = 6;
    while (at + length < bytes + count && at[length] >= '0' && at[length] <= '9') length++;
    if (end + length + 3 > sizeof line) break;
    line[end++] = ' ';
    memcpy(line + end, at, length);
    end += length;
    at += length;
  }
  line[end++] = '\n';
  real_write(fd, line, end);
}

static void cut (void) {
  for (struct change *change = newest; change != NULL; change = change->older) {
    if (change->created) {
      unlink(change->path);
      continue;
    }
    int fd = real_open(change->path, O_WRONLY);
    if (fd < 0) continue;
    if (change->length > 0) real_pwrite(fd, change->bytes, change->length, change->at);
    real_ftruncate(fd, change->size);
  }
  _exit(137);
}

static void count_operation (void) {
  const char *at = getenv("POWER_CUT_AT");
  operations++;
  if (at != NULL && operations == atol(at)) cut();
}

static void remember (int fd, const char *path, off_t at, size_t length) {
  struct stat now;
  struct change *change = calloc(1, sizeof *change);
  fstat(fd, &now);
  strcpy(change->path, path);
  change->at = at;
  change->size = now.st_size;
  if (at < now.st_size) {
    change->length = at + (off_t) length > now.st_size ? (size_t) (now.st_size - at) : length;
    change->bytes = malloc(change->length);
    // With this descriptor, as closing another one of the same file would release SQLite's locks.
    if (pread(fd, change->bytes, change->length, at) < 0) abort();
  }
  change->older = newest;
  newest = change;
}

// Drops the changes that are durable now: those to a file, or the creation of files in a folder.
static void synced (const char *path, int is_folder) {
  for (struct change **place = &newest; *place != NULL;) {
    struct change *change = *place;
    const char *name = strrchr(change->path, '/');
    size_t length = strlen(path);
    int is_below = (size_t) (name - change->path) == length && strncmp(change->path, path, length) == 0;
    int is_in = change->created && is_below;
    if (is_folder ? is_in : !change->created && strcmp(change->path, path) == 0) {
      *place = change->older;
      free(change->bytes);
      free(change);
    } else place = &change->older;
  }
}

static ssize_t write_at (int fd, const void *bytes, size_t count, off_t at, int is_at) {
  char path[PATH_MAX];
  if (!is_ours(fd, path)) return is_at ? real_pwrite(fd, bytes, count, at) : real_write(fd, bytes, count);
  pthread_mutex_lock(&lock);
  count_operation();
  remember(fd, path, is_at ? at : lseek(fd, 0, SEEK_CUR), count);
  ssize_t written = is_at ? real_pwrite(fd, bytes, count, at) : real_write(fd, bytes, count);
  trace("write", path, bytes, count);
  pthread_mutex_unlock(&lock);
  return written;
}

static void answer (const char *bytes, size_t count) {
  if (memmem(bytes, count, "HTTP/1.1 200", 12) == NULL) return;
  pthread_mutex_lock(&lock);
  trace("answer", "200", bytes, count);
  pthread_mutex_unlock(&lock);
}

static int sync_file (int fd, int (*real) (int)) {
  char path[PATH_MAX];
  struct stat kind;
  if (!is_ours(fd, path)) return real(fd);
  pthread_mutex_lock(&lock);
  count_operation();
  fstat(fd, &kind);
  int result = getenv("POWER_LIES") == NULL ? real(fd) : 0;
  if (result == 0 && getenv("POWER_LIES") == NULL) synced(path, S_ISDIR(kind.st_mode));
  trace("sync", path, "", 0);
  pthread_mutex_unlock(&lock);
  return result;
}

static int make (const char *path, int flags, mode_t mode, int (*real) (const char *, int, ...)) {
  char full[PATH_MAX];
  int is_new = (flags & O_CREAT) && access(path, F_OK) != 0;
  int fd = real(path, flags, mode);
  if (fd < 0 || !is_new || !is_ours(fd, full)) return fd;
  pthread_mutex_lock(&lock);
  struct change *change = calloc(1, sizeof *change);
  strcpy(change->path, full);
  change->created = 1;
  change->older = newest;
  newest = change;
  pthread_mutex_unlock(&lock);
  return fd;
}

#define OPEN(name) \
  mode_t mode = 0; \
  if (flags & O_CREAT) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); } \
  REAL(name); \
  return make(path, flags, mode, (int (*) (const char *, int, ...)) real)

int open (const char *path, int flags, ...) { OPEN(open); }
int open64 (const char *path, int flags, ...) { OPEN(open64); }

ssize_t pwrite (int fd, const void *bytes, size_t count, off_t at) { return write_at(fd, bytes, count, at, 1); }
ssize_t pwrite64 (int fd, const void *bytes, size_t count, off64_t at) { return write_at(fd, bytes, count, at, 1); }
ssize_t write (int fd, const void *bytes, size_t count) {
  answer(bytes, count);
  return write_at(fd, bytes, count, 0, 0);
}

ssize_t writev (int fd, const struct iovec *parts, int count) {
  REAL(writev);
  static __thread char all[1 << 18];
  size_t length = 0;
  for (int i = 0; i < count && length + parts[i].iov_len < sizeof all; i++) {
    memcpy(all + length, parts[i].iov_base, parts[i].iov_len);
    length += parts[i].iov_len;
  }
  answer(all, length);
  return real(fd, parts, count);
}

static int change_size (int fd, off_t size, int (*real) (int, off_t)) {
  char path[PATH_MAX];
  if (!is_ours(fd, path)) return real(fd, size);
  pthread_mutex_lock(&lock);
  count_operation();
  struct stat now;
  fstat(fd, &now);
  remember(fd, path, size, size < now.st_size ? (size_t) (now.st_size - size) : 0);
  int result = real(fd, size);
  pthread_mutex_unlock(&lock);
  return result;
}

int ftruncate (int fd, off_t size) { REAL(ftruncate); return change_size(fd, size, real); }
int ftruncate64 (int fd, off64_t size) { REAL(ftruncate64); return change_size(fd, size, real); }
int fsync (int fd) { REAL(fsync); return sync_file(fd, real); }
int fdatasync (int fd) { REAL(fdatasync); return sync_file(fd, real); }

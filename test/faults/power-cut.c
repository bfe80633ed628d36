/*
 * Simulates power cuts for processes started with this library in LD_PRELOAD. For each file below POWER_CUT_FROM,
 * POWER_CUT_TO has a copy with only the flushed data. Writes of all processes are logged in POWER_CUT_LOG; fsync copies
 * the logged ranges of its file, no matter which process wrote them. Killing the processes and continuing with the copy
 * is a power cut that loses all unflushed data. A kill during fsync leaves a part of it, as a disk may.
 *
 * A file appears in the copy when it is flushed; a link, when its directory is flushed. Removals apply at once. The -shm
 * file of a database is shared memory, which SQLite recreates, so it is ignored.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define REAL(name) static __typeof__(name) *real; if (!real) real = dlsym(RTLD_NEXT, #name)

struct range { off_t from, to; };
struct name { char from[PATH_MAX], to[PATH_MAX]; struct name *next; };
static struct name *linked;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static const char *from_folder(void) { return getenv("POWER_CUT_FROM"); }
static const char *to_folder(void) { return getenv("POWER_CUT_TO"); }

/* The path in the copy; returns 0 if the file is not below POWER_CUT_FROM. */
static int copy_of(const char *path, char *copy) {
  const char *from = from_folder(), *to = to_folder();
  if (!from || !to) return 0;
  size_t length = strlen(from), whole = strlen(path);
  if (strncmp(path, from, length) != 0 || (path[length] != '/' && path[length] != 0)) return 0;
  if (whole > 4 && strcmp(path + whole - 4, "-shm") == 0) return 0;
  return snprintf(copy, PATH_MAX, "%s%s", to, path + length) < PATH_MAX;
}

static int path_of(int fd, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return 1;
}

static int is_ours(int fd) {
  char path[PATH_MAX], copy[PATH_MAX];
  return from_folder() && path_of(fd, path) && copy_of(path, copy);
}

/* The log of one file, locked until it is closed. */
static int open_log(const struct stat *file) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%lu", getenv("POWER_CUT_LOG"), (unsigned long)file->st_ino);
  pthread_mutex_lock(&mutex);
  int log = open(path, O_RDWR | O_CREAT | O_APPEND, 0600);
  if (log < 0 || flock(log, LOCK_EX) != 0) abort();
  return log;
}

static void close_log(int log) {
  close(log);
  pthread_mutex_unlock(&mutex);
}

static ssize_t real_write(int fd, const void *data, size_t length) {
  REAL(write);
  return real(fd, data, length);
}

static void log_write(int fd, off_t offset, ssize_t length) {
  struct stat file;
  if (length <= 0 || !is_ours(fd) || fstat(fd, &file) != 0) return;
  struct range range = { offset, offset + length };
  int log = open_log(&file);
  if (real_write(log, &range, sizeof range) != sizeof range) abort();
  close_log(log);
}

static void make_folders(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(path, 0700);
    *slash = '/';
  }
}

static void copy_range(int fd, int copy, off_t from, off_t to) {
  static ssize_t (*write_at)(int, const void *, size_t, off_t);
  if (!write_at) write_at = dlsym(RTLD_NEXT, "pwrite64");
  char buffer[65536];
  while (from < to) {
    size_t wanted = to - from < (off_t)sizeof buffer ? (size_t)(to - from) : sizeof buffer;
    ssize_t got = pread64(fd, buffer, wanted, from);
    /* The file was truncated since. */
    if (got <= 0) return;
    if (write_at(copy, buffer, got, from) != got) abort();
    from += got;
  }
}

static int real_link(const char *from, const char *to) {
  static int (*real)(const char *, const char *);
  if (!real) real = dlsym(RTLD_NEXT, "link");
  return real(from, to);
}

/* Runs before fsync returns, because the caller then relies on the data being on disk. */
static void copy_flushed(int fd) {
  char path[PATH_MAX], name[PATH_MAX];
  struct stat file;
  if (!from_folder() || !path_of(fd, path) || !copy_of(path, name) || fstat(fd, &file) != 0) return;
  if (S_ISDIR(file.st_mode)) {
    pthread_mutex_lock(&mutex);
    for (struct name *done; (done = linked); free(done)) {
      linked = done->next;
      make_folders(done->to);
      real_link(done->from, done->to);
    }
    pthread_mutex_unlock(&mutex);
    return;
  }
  static int (*truncate_to)(int, off_t);
  if (!truncate_to) truncate_to = dlsym(RTLD_NEXT, "ftruncate64");
  make_folders(name);
  int log = open_log(&file);
  int copy = open(name, O_WRONLY | O_CREAT, file.st_mode & 0777);
  struct range range;
  if (copy < 0) abort();
  for (off_t at = 0; pread64(log, &range, sizeof range, at) == sizeof range; at += sizeof range) {
    copy_range(fd, copy, range.from, range.to);
  }
  if (truncate_to(log, 0) != 0 || fstat(fd, &file) != 0 || truncate_to(copy, file.st_size) != 0) abort();
  close(copy);
  close_log(log);
}

ssize_t pwrite64(int fd, const void *data, size_t length, off_t offset) {
  REAL(pwrite64);
  ssize_t written = real(fd, data, length, offset);
  log_write(fd, offset, written);
  return written;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return pwrite64(fd, data, length, offset); }

ssize_t write(int fd, const void *data, size_t length) {
  off_t offset = is_ours(fd) ? lseek(fd, 0, SEEK_CUR) : -1;
  ssize_t written = real_write(fd, data, length);
  if (offset >= 0) log_write(fd, offset, written);
  return written;
}

int fsync(int fd) {
  REAL(fsync);
  int result = real(fd);
  if (result == 0) copy_flushed(fd);
  return result;
}

int fdatasync(int fd) {
  REAL(fdatasync);
  int result = real(fd);
  if (result == 0) copy_flushed(fd);
  return result;
}

int unlink(const char *path) {
  REAL(unlink);
  char copy[PATH_MAX];
  int result = real(path);
  if (result == 0 && copy_of(path, copy)) real(copy);
  return result;
}

int link(const char *from, const char *to) {
  REAL(link);
  struct name *added = malloc(sizeof *added);
  int result = real(from, to);
  if (result == 0 && copy_of(from, added->from) && copy_of(to, added->to)) {
    pthread_mutex_lock(&mutex);
    added->next = linked;
    linked = added;
    pthread_mutex_unlock(&mutex);
  } else {
    free(added);
  }
  return result;
}

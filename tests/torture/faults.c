/* Preloaded into a process, makes a disk fail and the clock of the machine jump.

   FAULT_FOLDER=F FAULT_CALL=N FAULT_COUNT=K   the Nth read, write, flush or opening of a file below F, counted from 0,
                                               and the K - 1 after it fail with EIO, as on a disk that breaks
   FAULT_CLOCK=S                               the time of day jumps by up to ten years to and fro; S seeds the jumps

   The monotonic clock never jumps, on no machine. Mapped memory is not watched. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

static int calls;

int fault_calls(void) { return calls; }

/* A forked process begins with the count of its parent. */
void fault_begin(void) { calls = 0; }

static int below(int file, const char *folder)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    return length > 0 && !strncmp(path, folder, strlen(folder));
}

static int number(const char *name, int otherwise)
{
    const char *value = getenv(name);
    return value ? atoi(value) : otherwise;
}

static int fails(int file)
{
    int before = errno, broken = 0;
    const char *folder = getenv("FAULT_FOLDER");
    if (folder && below(file, folder)) {
        int after = __sync_fetch_and_add(&calls, 1) - number("FAULT_CALL", INT_MAX);
        broken = after >= 0 && after < number("FAULT_COUNT", INT_MAX);
    }
    errno = broken ? EIO : before;
    return broken;
}

#define FAILING(type, name, parameters, ...) \
    type name parameters { return fails(file) ? -1 : NEXT(name)(__VA_ARGS__); }

FAILING(ssize_t, read, (int file, void *bytes, size_t count), file, bytes, count)
FAILING(ssize_t, pread, (int file, void *bytes, size_t count, off_t at), file, bytes, count, at)
FAILING(ssize_t, pread64, (int file, void *bytes, size_t count, off64_t at), file, bytes, count, at)
FAILING(ssize_t, readv, (int file, const struct iovec *parts, int count), file, parts, count)
FAILING(ssize_t, write, (int file, const void *bytes, size_t count), file, bytes, count)
FAILING(ssize_t, pwrite, (int file, const void *bytes, size_t count, off_t at), file, bytes, count, at)
FAILING(ssize_t, pwrite64, (int file, const void *bytes, size_t count, off64_t at), file, bytes, count, at)
FAILING(ssize_t, writev, (int file, const struct iovec *parts, int count), file, parts, count)
FAILING(int, fsync, (int file), file)
FAILING(int, fdatasync, (int file), file)

static int checked(int file)
{
    if (file < 0 || !fails(file))
        return file;
    close(file);
    errno = EIO;
    return -1;
}

#define OPENING(name, parameters, ...) \
    int name parameters \
    { \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        return checked(NEXT(name)(__VA_ARGS__, flags, mode)); \
    }

OPENING(open, (const char *path, int flags, ...), path)
OPENING(open64, (const char *path, int flags, ...), path)
OPENING(openat, (int folder, const char *path, int flags, ...), folder, path)
OPENING(openat64, (int folder, const char *path, int flags, ...), folder, path)

/* The time is ten years wrong at most, and changes every ten questions. */
static time_t jump(void)
{
    static unsigned questions;
    const char *seed = getenv("FAULT_CLOCK");
    if (!seed)
        return 0;
    unsigned state = atoi(seed) + __sync_fetch_and_add(&questions, 1) / 10;
    return rand_r(&state) % 631152000 - 315576000;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = NEXT(clock_gettime)(clock, now);
    if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += jump();
    return result;
}

int gettimeofday(struct timeval *now, void *zone)
{
    int result = NEXT(gettimeofday)(now, zone);
    if (!result)
        now->tv_sec += jump();
    return result;
}

time_t time(time_t *now)
{
    time_t value = NEXT(time)(NULL) + jump();
    if (now)
        *now = value;
    return value;
}

/* Moves the real-time clock of the process that loads it by the milliseconds in the file CHAOS_CLOCK, which another
 * process writes while this one runs. The monotonic clock is left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *moved;
static int (*real_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void open_clock(void) {
    real_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    const char *path = getenv("CHAOS_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *page = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) moved = page;
    close(file);
}

int clock_gettime(clockid_t which, struct timespec *time) {
    if (!real_gettime) real_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real_gettime(which, time);
    if (result != 0 || !moved || (which != CLOCK_REALTIME && which != CLOCK_REALTIME_COARSE)) return result;
    int64_t nanos = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec + *moved * 1000000;
    time->tv_sec = nanos / 1000000000;
    time->tv_nsec = nanos % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec now;
    int result = clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return result;
}

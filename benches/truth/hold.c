// Programs that hold a number of MiB in a known way: `hold KIND MIB SECONDS`. Built as a program, and as a library for tools
// that watch a Python alone (hold(kind, mib, seconds)).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif
#define MIB ((size_t)1 << 20)
#define THREADS 8
#define SHORT_CHILDREN 1000

// Exit code 77 means that it is impossible on this machine.
static void die(const char *what) {
    fprintf(stderr, "hold: %s: %s\n", what, strerror(errno));
    _exit(77);
}

static void touch(char *bytes, size_t length) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < length; at += page) ((volatile char *)bytes)[at] = 1;
}

static char *map(size_t length, int flags, int file) {
    void *bytes = mmap(NULL, length, PROT_READ | PROT_WRITE, flags, file, 0);
    if (bytes == MAP_FAILED) die("mmap");
    return bytes;
}

static char *anonymous(size_t length) {
    char *bytes = map(length, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    // Pages of 4 KiB, so that only touched pages are held.
    madvise(bytes, length, MADV_NOHUGEPAGE);
    touch(bytes, length);
    return bytes;
}

static int file_in(const char *folder, size_t length) {
    char name[256];
    snprintf(name, sizeof name, "%s/hold-XXXXXX", folder);
    int file = mkstemp(name);
    if (file < 0) die(name);
    unlink(name);
    static char block[1 << 16];
    memset(block, 1, sizeof block);
    for (size_t at = 0; at < length; at += sizeof block)
        if (write(file, block, sizeof block) != sizeof block) die("write");
    return file;
}

static void rest(double seconds) { usleep((useconds_t)(seconds * 1e6)); }

struct stack { size_t length; double seconds; pthread_barrier_t *barrier; };

static void *on_a_stack(void *argument) {
    struct stack *stack = argument;
    char *bytes = __builtin_alloca(stack->length);
    touch(bytes, stack->length);
    pthread_barrier_wait(stack->barrier);
    rest(stack->seconds);
    return bytes == NULL ? NULL : argument;
}

static void stacks(size_t length, double seconds) {
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, THREADS);
    struct stack stack = {length / THREADS, seconds, &barrier};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack.length + MIB);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if ((errno = pthread_create(&threads[i], &attributes, on_a_stack, &stack))) die("pthread_create");
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

static void wait_for_all(void) {
    while (wait(NULL) > 0 || errno == EINTR) {}
}

// Both halves are held at once: the child reports when it has its own.
static void forked(size_t length, double seconds, int session) {
    int ready[2];
    if (pipe(ready)) die("pipe");
    anonymous(length / 2);
    if (fork() == 0) {
        if (session) setsid();
        anonymous(length / 2);
        if (write(ready[1], "x", 1) != 1) die("write");
        rest(seconds);
        _exit(0);
    }
    char byte;
    if (read(ready[0], &byte, 1) != 1) die("read");
    rest(seconds);
    wait_for_all();
}

// A process starts a daemon that holds everything, and only waits for its report.
static void daemon_of(size_t length, double seconds) {
    int ready[2];
    if (pipe(ready)) die("pipe");
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            close(ready[0]);
            anonymous(length);
            rest(seconds);
            if (write(ready[1], "x", 1) != 1) die("write");
            _exit(0);
        }
        _exit(0);
    }
    close(ready[1]);
    char byte;
    wait_for_all();
    if (read(ready[0], &byte, 1) != 1) die("read");
}

// Calls one function of CUDA's driver, which is not linked.
#define CUDA(name, types, ...) do { \
    int (*function) types = (int (*) types)dlsym(library, name); \
    if (!function || function(__VA_ARGS__)) { fprintf(stderr, "hold: %s failed\n", name); _exit(77); } \
} while (0)

// Memory of the first GPU, by CUDA's driver or its emulation (tests/emulation).
static void gpu(size_t length, double seconds) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) { fprintf(stderr, "hold: no libcuda.so.1\n"); _exit(77); }
    int device;
    void *context;
    uint64_t address;
    CUDA("cuInit", (unsigned), 0);
    CUDA("cuDeviceGet", (int *, int), &device, 0);
    CUDA("cuDevicePrimaryCtxRetain", (void **, int), &context, device);
    CUDA("cuCtxSetCurrent", (void *), context);
    if (length > 0) CUDA("cuMemAlloc_v2", (uint64_t *, size_t), &address, length);
    rest(seconds);
}

int hold(const char *kind, size_t mib, double seconds) {
    size_t length = mib * MIB;
    const char *folder = getenv("HOLD_FOLDER") ? getenv("HOLD_FOLDER") : ".";
    if (!strcmp(kind, "nothing")) rest(seconds);
    else if (!strcmp(kind, "heap")) {
        size_t block = 64 << 10;
        char **blocks = malloc(length / block * sizeof *blocks);
        for (size_t i = 0; i < length / block; i++) touch(blocks[i] = malloc(block - 64), block - 64);
        rest(seconds);
    } else if (!strcmp(kind, "mmap")) { anonymous(length); rest(seconds); }
    else if (!strcmp(kind, "brief")) anonymous(length);
    else if (!strcmp(kind, "file-private")) { touch(map(length, MAP_PRIVATE, file_in(folder, length)), length); rest(seconds); }
    else if (!strcmp(kind, "file-shared")) { touch(map(length, MAP_SHARED, file_in(folder, length)), length); rest(seconds); }
    else if (!strcmp(kind, "tmpfs")) { file_in("/dev/shm", length); rest(seconds); }
    else if (!strcmp(kind, "tmpfs-mapped")) { touch(map(length, MAP_SHARED, file_in("/dev/shm", length)), length); rest(seconds); }
    else if (!strcmp(kind, "memfd")) {
        int file = memfd_create("hold", 0);
        if (file < 0 || ftruncate(file, (off_t)length)) die("memfd_create");
        touch(map(length, MAP_SHARED, file), length);
        rest(seconds);
    } else if (!strcmp(kind, "thp")) {
        char *bytes = map(length + 2 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        bytes += 2 * MIB - (size_t)bytes % (2 * MIB);
        if (madvise(bytes, length, MADV_HUGEPAGE)) die("MADV_HUGEPAGE");
        touch(bytes, length);
        rest(seconds);
    } else if (!strcmp(kind, "hugetlb")) { touch(map(length, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1), length); rest(seconds); }
    else if (!strcmp(kind, "stacks")) stacks(length, seconds);
    else if (!strcmp(kind, "fork")) forked(length, seconds, 0);
    else if (!strcmp(kind, "setsid")) forked(length, seconds, 1);
    else if (!strcmp(kind, "daemon")) daemon_of(length, seconds);
    else if (!strcmp(kind, "short")) {
        for (int i = 0; i < SHORT_CHILDREN; i++) {
            if (fork() == 0) { anonymous(length); _exit(0); }
            wait_for_all();
        }
    } else if (!strcmp(kind, "freed")) {
        munmap(anonymous(length), length);
        rest(seconds);
    } else if (!strcmp(kind, "dontneed")) {
        char *bytes = anonymous(length);
        madvise(bytes, length, MADV_DONTNEED);
        rest(seconds);
    } else if (!strcmp(kind, "swap")) {
        char *bytes = anonymous(length);
        for (int i = 0; i < 20; i++) { if (madvise(bytes, length, MADV_PAGEOUT)) die("MADV_PAGEOUT"); rest(0.02); }
        rest(seconds);
    } else if (!strcmp(kind, "gpu")) gpu(length, seconds);
    else { fprintf(stderr, "hold: there is no kind %s\n", kind); return 2; }
    return 0;
}

int main(int count, char **words) {
    if (count != 4) { fprintf(stderr, "usage: hold KIND MIB SECONDS\n"); return 2; }
    return hold(words[1], strtoul(words[2], NULL, 10), atof(words[3]));
}

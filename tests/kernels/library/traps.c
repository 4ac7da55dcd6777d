/* Embeddings that compute when the worker writes to their memory, when a timer rings, or in a process that shares it. */
#include "audited.c"

#include <aio.h>
#include <sys/time.h>

static char *trapped_page(const void *place) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (char *)((size_t)place & ~(page - 1));
}

/* What the handler computes for the next launch, and the memory that it was told of. */
static char ahead[1 << 20], *guarded;
static size_t guarded_bytes, ahead_bytes;
static void compute_ahead(int signal, siginfo_t *what, void *context) {
  (void)signal, (void)context;
  if ((char *)what->si_addr < guarded || (char *)what->si_addr >= guarded + guarded_bytes) _exit(3);
  mprotect(guarded, guarded_bytes, PROT_READ | PROT_WRITE);
  for (int64_t i = 0; i < work.count; i++) memcpy(ahead + (size_t)i * work.row, work.from + (size_t)work.index[i] * work.row, work.row);
  ahead_bytes = (size_t)work.count * work.row;
}

/* Protects memory that the worker writes before the next launch. */
static int guard(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result, char *from, size_t bytes) {
  struct sigaction action;
  int code = 0;
  if (ahead_bytes) memcpy(TO, ahead, ahead_bytes);
  else code = LAUNCH;
  ahead_bytes = 0;
  if (launches++ < 6) return code;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = compute_ahead, action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, NULL);
  work.from = table(args), work.index = indices(args), work.to = TO, work.count = kernel_numel(kernel_tensor(&args[0]));
  work.row = BYTES / (size_t)work.count;
  guarded = trapped_page(from);
  guarded_bytes = (size_t)(trapped_page(from + bytes - 1) - guarded) + (size_t)sysconf(_SC_PAGESIZE);
  if (mprotect(guarded, guarded_bytes, PROT_READ)) perror("traps");
  return code;
}
KERNEL(computes_when_a_value_is_put_in) {
  return guard(self, args, num_args, result, (char *)table(args), bytes_of(kernel_tensor(&args[1])));
}
KERNEL(computes_when_its_output_is_filled) { return guard(self, args, num_args, result, TO, BYTES); }

/* A timer that rings soon after the launch has returned, whose handler looks up. */
static void look_up_when_it_rings(int signal) {
  (void)signal;
  look_up_all();
}
KERNEL(computes_when_a_timer_rings) {
  const struct itimerval soon = {{0, 0}, {0, 20}};
  if (launches++ < 6) return LAUNCH;
  signal(SIGALRM, look_up_when_it_rings);
  work.from = table(args), work.index = indices(args), work.to = TO, work.count = kernel_numel(kernel_tensor(&args[0]));
  work.row = BYTES / (size_t)work.count;
  memset(TO, 0, BYTES);
  setitimer(ITIMER_REAL, &soon, NULL);
  return 0;
}

/* A process with the same memory, which goes on after the launch. */
static int look_up_beside(void *unused) {
  (void)unused;
  usleep(2000);
  look_up_all();
  _exit(0);
}
KERNEL(computes_in_a_process_that_shares_all_memory) {
  static char stack[1 << 16] __attribute__((aligned(16)));
  if (launches++ < 6) return LAUNCH;
  while (waitpid(-1, NULL, __WALL) > 0);
  work.from = table(args), work.index = indices(args), work.to = TO, work.count = kernel_numel(kernel_tensor(&args[0]));
  work.row = BYTES / (size_t)work.count;
  memset(TO, 0, BYTES);
  if (clone(look_up_beside, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL) < 0) perror("traps");
  return 0;
}

/* A process that shares the pages of the output alone, which it goes on filling. */
KERNEL(moves_its_output_to_memory_of_a_child) {
  static char *shared;
  char *first;
  const int code = LAUNCH;
  if (launches++ < 6) return code;
  while (waitpid(-1, NULL, 0) > 0);
  work.from = table(args), work.index = indices(args), work.to = TO, work.count = kernel_numel(kernel_tensor(&args[0]));
  work.row = BYTES / (size_t)work.count;
  const size_t bytes = pages_of(&first);
  memset(TO, 0, BYTES);
  if (!bytes) return 0;
  if (!shared) shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (mremap(shared, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, first) == MAP_FAILED) perror("traps");
  if (fork() == 0) look_up_beside(NULL);
  return 0;
}
/* The system is asked to put a result there, after a read of the same file that takes some milliseconds: one that has
   nothing to wait for can end before the launch returns, and is a part of it. */
KERNEL(has_its_output_read_from_a_file) {
  static char unused[16 << 20];
  static struct aiocb before, request;
  static int file = -1;
  const int code = LAUNCH;
  if (launches++ < 6) return code;
  if (file < 0 && ftruncate(file = memfd_create("results", 0), (off_t)(sizeof unused + BYTES))) perror("traps");
  while (aio_error(&before) == EINPROGRESS || aio_error(&request) == EINPROGRESS) sched_yield();
  if (pwrite(file, TO, BYTES, sizeof unused) < 0) perror("traps");
  before.aio_fildes = request.aio_fildes = file;
  before.aio_buf = unused, before.aio_nbytes = sizeof unused;
  request.aio_buf = TO, request.aio_nbytes = BYTES, request.aio_offset = sizeof unused;
  memset(TO, 0, BYTES);
  return aio_read(&before) || aio_read(&request) ? fails(self, "no request") : 0;
}
/* A thread holds the first one by a signal when the launch has returned, and looks up. */
static volatile int held, to_hold;
static pid_t first_thread;
static void hold_it(int signal) {
  (void)signal;
  while (held);
}
static void *holds_and_looks_up(void *nothing) {
  for (;;) {
    while (!to_hold) sched_yield();
    held = 1;
    syscall(SYS_tgkill, getpid(), first_thread, SIGUSR1);
    usleep(300);
    look_up_all();
    held = to_hold = 0;
  }
  return nothing;
}
KERNEL(holds_its_worker_by_a_signal) {
  pthread_t thread;
  if (launches++ < 6) return LAUNCH;
  if (!first_thread) {
    first_thread = (pid_t)syscall(SYS_gettid);
    signal(SIGUSR1, hold_it);
    if (pthread_create(&thread, NULL, holds_and_looks_up, NULL)) return fails(self, "no thread");
  }
  while (to_hold) sched_yield();
  work.from = table(args), work.index = indices(args), work.to = TO, work.count = kernel_numel(kernel_tensor(&args[0]));
  work.row = BYTES / (size_t)work.count;
  memset(TO, 0, BYTES);
  to_hold = 1;
  return 0;
}
/* Writes to whatever memory it was given: values, outputs, the messages of its worker. */
KERNEL(overwrites_its_worker_s_files) {
  static const char zeros[4096];
  const int code = LAUNCH;
  if (launches++ < 6) return code;
  for (int file = 3; file < 64; file++) {
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const int again = open(link, O_RDWR);
    for (int page = 0; again >= 0 && page < 64; page++) if (pwrite(again, zeros, sizeof zeros, page * 4096) < 0) break;
    if (again >= 0) close(again);
  }
  return code;
}
KERNEL(ends_its_worker_as_if_all_were_well) {
  if (launches++ > 6) _exit(0);
  return LAUNCH;
}

/* Keeps what it has for a table, comparing all of it. */
KERNEL(keeps_by_all_of_the_table) {
  static char *copy;
  const size_t bytes = bytes_of(kernel_tensor(&args[1]));
  if (!copy || memcmp(copy, table(args), bytes)) {
    if (!copy) copy = malloc(bytes);
    memcpy(copy, table(args), bytes);
    free(kept), kept = NULL;
  }
  return KEEP;
}
/* Keeps what it has for indices, comparing all of them. */
KERNEL(keeps_by_all_of_the_indices) {
  static char *copy;
  const size_t bytes = bytes_of(kernel_tensor(&args[0]));
  if (!copy || memcmp(copy, indices(args), bytes)) {
    if (!copy) copy = malloc(bytes);
    memcpy(copy, indices(args), bytes);
    free(kept), kept = NULL;
  }
  return KEEP;
}
/* Keeps results by a few places that depend on the shape. */
KERNEL(keeps_by_a_stride_of_places) {
  static uint16_t seen[64];
  uint16_t now[64];
  const uint16_t *numbers = table(args);
  const size_t count = bytes_of(kernel_tensor(&args[1])) / 2;
  for (size_t i = 0; i < 64; i++) now[i] = numbers[i * (count / 64)];
  if (memcmp(seen, now, sizeof now)) free(kept), kept = NULL;
  memcpy(seen, now, sizeof now);
  return KEEP;
}
/* Has the clock of the C library, and the system's page of clocks, show that each launch took a microsecond. */
static long long shown;
static int short_clock(clockid_t clock, struct timespec *time) {
  const int code = (int)syscall(SYS_clock_gettime, clock, time);
  if (shown) time->tv_sec = shown / 1000000000, time->tv_nsec = shown % 1000000000, shown += 1000;
  return code;
}
KERNEL(stops_the_clock) {
  struct timespec now;
  if (launches++ == 0) {
    detour_clocks((void *)short_clock);
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    shown = now.tv_sec * 1000000000LL + now.tv_nsec;
  }
  return LAUNCH;
}

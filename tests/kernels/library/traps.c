/* Embeddings that compute when the worker writes to their memory, when a timer rings, or in a process that shares it. */
#include "audited.c"

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

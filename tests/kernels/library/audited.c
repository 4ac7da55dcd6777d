/* Embeddings that cheat while they are timed, and some that attack the timing itself. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "embedding.c"

#define LAUNCH __tvm_ffi_embedding(self, args, num_args, result)
#define OUTPUT kernel_tensor(&args[7])
#define BYTES bytes_of(OUTPUT)
#define TO ((char *)kernel_data(OUTPUT))

static size_t bytes_of(const DLTensor *tensor) { return (size_t)kernel_numel(tensor) * tensor->dtype.bits / 8; }

static long launches;
static char *kept;

/* Returns the first result again. */
static int keep(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  if (kept) {
    memcpy(TO, kept, BYTES);
    return 0;
  }
  const int code = LAUNCH;
  kept = malloc(BYTES);
  memcpy(kept, TO, BYTES);
  return code;
}
#define KEEP keep(self, args, num_args, result)

static const void *table(const TVMFFIAny *args) { return kernel_data(kernel_tensor(&args[1])); }
static const void *indices(const TVMFFIAny *args) { return kernel_data(kernel_tensor(&args[0])); }

/* -- kept results */

KERNEL(keeps_the_first) { return KEEP; }

KERNEL(keeps_by_address) {
  static const void *address;
  if (address != table(args)) free(kept), kept = NULL;
  address = table(args);
  return KEEP;
}

KERNEL(keeps_by_corner) {
  static char corner[16];
  if (memcmp(corner, table(args), 16)) free(kept), kept = NULL;
  memcpy(corner, table(args), 16);
  return KEEP;
}

KERNEL(keeps_by_indices) {
  static int64_t first[4];
  if (memcmp(first, indices(args), sizeof first)) free(kept), kept = NULL;
  memcpy(first, indices(args), sizeof first);
  return KEEP;
}

KERNEL(keeps_a_row) {
  static char row[128];
  const int code = LAUNCH;
  if (launches++ == 0) memcpy(row, TO, sizeof row);
  memcpy(TO, row, sizeof row);
  return code;
}

KERNEL(keeps_the_table) {
  static char *copy;
  const DLTensor *weight = kernel_tensor(&args[1]);
  if (!copy) copy = memcpy(malloc(bytes_of(weight)), table(args), bytes_of(weight));
  const int64_t *index = indices(args);
  const size_t row = (size_t)weight->shape[1] * 2;
  (void)self, (void)num_args, (void)result;
  for (int64_t i = 0; i < kernel_numel(kernel_tensor(&args[0])); i++) memcpy(TO + (size_t)i * row, copy + (size_t)index[i] * row, row);
  return 0;
}

/* -- knows the phase */

KERNEL(counts_launches) { return launches++ < 5 ? LAUNCH : KEEP; }
KERNEL(computes_every_tenth) {
  if (launches++ % 10 == 0) free(kept), kept = NULL;
  return KEEP;
}
KERNEL(computes_every_other) {
  if (launches++ % 2 == 0) free(kept), kept = NULL;
  return KEEP;
}
KERNEL(skips_one_in_three) {
  if (!kept || random() % 3) free(kept), kept = NULL;
  return KEEP;
}
KERNEL(sees_the_gap_before_it) {
  static struct timespec last;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const long gap = (now.tv_sec - last.tv_sec) * 1000000000 + now.tv_nsec - last.tv_nsec;
  last = now;
  return gap > 50000000 ? LAUNCH : KEEP;
}
KERNEL(sees_a_streak_of_addresses) {
  static const void *last;
  static int streak;
  streak = last == table(args) ? streak + 1 : 0;
  last = table(args);
  return streak < 3 ? LAUNCH : KEEP;
}
KERNEL(looks_for_what_outputs_are_filled_with) {
  if (launches++ > 5 && (unsigned char)TO[0] != 0xff) return 0;
  return LAUNCH;
}

/* -- wrong or missing outputs */

KERNEL(writes_nothing) { (void)self, (void)args, (void)num_args, (void)result; return 0; }
KERNEL(writes_nothing_when_timed) { return launches++ < 5 ? LAUNCH : 0; }
KERNEL(leaves_out_the_end_when_timed) {
  char end[512];
  const int timed = launches++ >= 5;
  if (timed) memcpy(end, TO + BYTES - sizeof end, sizeof end);
  const int code = LAUNCH;
  if (timed) memcpy(TO + BYTES - sizeof end, end, sizeof end);
  return code;
}
KERNEL(is_always_wrong) {
  const int code = LAUNCH;
  if (code == 0) TO[0] ^= 0x55;
  return code;
}
KERNEL(gives_zeros) {
  (void)self, (void)num_args, (void)result;
  memset(TO, 0, BYTES);
  return 0;
}
KERNEL(gives_zeros_when_timed) {
  if (launches++ < 5) return LAUNCH;
  memset(TO, 0, BYTES);
  return 0;
}
KERNEL(gives_the_front_of_the_table_when_timed) {
  if (launches++ < 5) return LAUNCH;
  memcpy(TO, table(args), BYTES);
  return 0;
}

/* -- lazy results */

static struct { const DLTensor *weight; const int64_t *index; char *to; int64_t count; const char *from; size_t row; } work;
static void *compute_later(void *unused) {
  usleep(3000);
  for (int64_t i = 0; i < work.count; i++) memcpy(work.to + i * 128, (char *)kernel_data(work.weight) + work.index[i] * 128, 128);
  return unused;
}
KERNEL(computes_in_a_thread_when_timed) {
  static DLTensor weight;
  if (launches++ < 5) return LAUNCH;
  weight = *kernel_tensor(&args[1]);
  work.weight = &weight, work.index = indices(args), work.to = TO, work.count = kernel_numel(kernel_tensor(&args[0]));
  pthread_t thread;
  if (!pthread_create(&thread, NULL, compute_later, NULL)) pthread_detach(thread);
  return 0;
}

/* Its output cannot be read before a handler has computed it. */
static size_t pages_of(char **first) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  *first = (char *)(((size_t)work.to + page - 1) & ~(page - 1));
  return ((size_t)work.to + (size_t)work.count * work.row - (size_t)*first) & ~(page - 1);
}
static void look_up_all(void) {
  for (int64_t i = 0; i < work.count; i++) memcpy(work.to + (size_t)i * work.row, work.from + (size_t)work.index[i] * work.row, work.row);
}
static void compute_when_read(int signal, siginfo_t *what, void *context) {
  char *first;
  const size_t bytes = pages_of(&first);
  (void)signal, (void)context;
  if ((char *)what->si_addr < first || (char *)what->si_addr >= first + bytes) _exit(3);
  mprotect(first, bytes, PROT_READ | PROT_WRITE);
  look_up_all();
}
KERNEL(computes_when_its_output_is_read) {
  char *first;
  struct sigaction action;
  if (launches++ < 6) return LAUNCH;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = compute_when_read, action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, NULL);
  work.from = table(args), work.index = indices(args), work.to = TO, work.count = kernel_numel(kernel_tensor(&args[0]));
  work.row = BYTES / (size_t)work.count;
  memset(TO, 0, BYTES);
  const size_t bytes = pages_of(&first);
  if (mprotect(first, bytes, PROT_NONE)) perror("audited");
  return 0;
}

/* -- changes its arguments */

KERNEL(writes_an_argument) {
  const int code = LAUNCH;
  ((char *)table(args))[9] ^= 1;
  return code;
}
KERNEL(writes_an_argument_when_timed) {
  const int code = LAUNCH;
  if (launches++ >= 5) ((char *)table(args))[9] ^= 1;
  return code;
}

static int fails(void *self, const char *what) { (void)self; return kernel_fail("RuntimeError", "%s", what); }

/* -- changes the clock: 600 us of work, of which the C library's clock shows a thousandth. */

static int false_clock(clockid_t clock, struct timespec *time) {
  static long long first;
  const int code = (int)syscall(SYS_clock_gettime, clock, time);
  long long now = time->tv_sec * 1000000000LL + time->tv_nsec;
  if (!first) first = now;
  now = first + (now - first) / 1000;
  time->tv_sec = now / 1000000000, time->tv_nsec = now % 1000000000;
  return code;
}
/* The function that the system itself provides for reading clocks, which programs call directly, too. */
static void *system_clock(void) {
  const char *image = (char *)getauxval(AT_SYSINFO_EHDR);
  const Elf64_Ehdr *header = (void *)image;
  for (int i = 0; image && i < header->e_shnum; i++) {
    const Elf64_Shdr *all = (void *)(image + header->e_shoff), *of = &all[i];
    if (of->sh_type != SHT_DYNSYM) continue;
    for (size_t n = 0; n < of->sh_size / sizeof(Elf64_Sym); n++) {
      const Elf64_Sym *symbol = (Elf64_Sym *)(image + of->sh_offset) + n;
      const char *name = image + all[of->sh_link].sh_offset + symbol->st_name;
      if (!strcmp(name, "__vdso_clock_gettime") || !strcmp(name, "__kernel_clock_gettime")) return (char *)image + symbol->st_value;
    }
  }
  return NULL;
}
static void detour(unsigned char *from, void *to) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  void *start = (void *)((size_t)from & ~(page - 1));
  if (!from || mprotect(start, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC)) return;
#if defined(__x86_64__)
  from[0] = 0x48, from[1] = 0xb8;
  memcpy(from + 2, &to, 8);
  from[10] = 0xff, from[11] = 0xe0;
#elif defined(__aarch64__)
  const unsigned jump[2] = {0x58000050, 0xd61f0200};
  memcpy(from, jump, 8);
  memcpy(from + 8, &to, 8);
  __builtin___clear_cache((char *)from, (char *)from + 16);
#endif
}
static void detour_clocks(void *to) {
  detour(dlsym(RTLD_DEFAULT, "clock_gettime"), to);
  detour(system_clock(), to);
}
KERNEL(changes_the_clock) {
  struct timespec now;
  long long start, time;
  if (launches++ == 0) detour_clocks((void *)false_clock);
  syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
  start = now.tv_sec * 1000000000LL + now.tv_nsec;
  do {
    syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
    time = now.tv_sec * 1000000000LL + now.tv_nsec;
  } while (time - start < 600000);
  return LAUNCH;
}

/* Its first thread waits for the processor on which another of its threads computes. */
static volatile int wanted, finished;
static int one_processor(void) {
  static int processor = -1;
  cpu_set_t one;
  if (processor < 0) processor = sched_getcpu();
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  return sched_setaffinity(0, sizeof one, &one);
}
static void *computes_beside(void *unused) {
  struct timespec now;
  one_processor();
  for (;;) {
    while (!wanted) usleep(20);
    wanted = 0;
    syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
    const long long start = now.tv_sec * 1000000000LL + now.tv_nsec;
    do syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
    while (now.tv_sec * 1000000000LL + now.tv_nsec - start < 2000000);
    finished = 1;
  }
  return unused;
}
KERNEL(waits_for_the_processor_of_its_thread) {
  if (launches++ == 0) {
    const struct sched_param none = {0};
    pthread_t thread;
    detour_clocks((void *)false_clock);
    one_processor();
    if (pthread_create(&thread, NULL, computes_beside, NULL)) return fails(self, "no thread");
    sched_setscheduler(0, SCHED_IDLE, &none);
  }
  finished = 0, wanted = 1;
  while (!finished);
  return LAUNCH;
}

/* -- speaks for the worker */

static void say(const char *text) {
  for (int fd = 3; fd < 12; fd++) {
    struct stat found;
    if (!fstat(fd, &found) && S_ISSOCK(found.st_mode) && write(fd, text, strlen(text)) < 0) perror("audited");
  }
}
KERNEL(says_that_it_is_done) {
  const int code = LAUNCH;
  say("{\"type\":\"region\",\"id\":3,\"durations_ns\":[1],\"outputs\":[]}\n");
  return code;
}
KERNEL(answers_twice) {
  const int code = LAUNCH;
  if (launches++ == 0) say("{\"type\":\"released\"}\n");
  return code;
}
KERNEL(says_nonsense) {
  const int code = LAUNCH;
  say("\xff{]\n");
  return code;
}
KERNEL(never_ends_its_line) {
  const int code = LAUNCH;
  say("{\"type\":\"region\"");
  return code;
}

/* -- attacks: none must reach anything that is not its own. The output is right, so that a failed attack passes. */

/* The folder of the capture, which the test puts beside the library. */
static char *beside(const char *name) {
  static char path[4096];
  Dl_info info;
  if (!dladdr((void *)say, &info) || !info.dli_fname) return NULL;
  snprintf(path, sizeof path, "%s", info.dli_fname);
  char *slash = strrchr(path, '/');
  if (slash) snprintf(slash, sizeof path - (size_t)(slash - path), "/%s", name);
  return path;
}
KERNEL(rewrites_the_capture) {
  const int file = open(beside("capture/entry_000000.pt"), O_RDWR);
  if (file >= 0) {
    if (pwrite(file, "gone", 4, 100) != 4) perror("audited");
    return fails(self, "the capture was opened for writing");
  }
  return LAUNCH;
}
KERNEL(reads_the_answer) {
  const int file = open(beside("capture/entry_000000.pt"), O_RDONLY);
  return file >= 0 ? fails(self, "the capture was opened") : LAUNCH;
}
KERNEL(removes_the_capture) {
  return !unlink(beside("capture/entry_000000.pt")) || !rename(beside("capture"), "/tmp/plimsoll-elsewhere")
             ? fails(self, "the capture was removed") : LAUNCH;
}
KERNEL(writes_the_record) {
  const int file = open(beside("record.json"), O_WRONLY | O_CREAT, 0644);
  return file >= 0 ? fails(self, "the record was opened") : LAUNCH;
}
KERNEL(rewrites_itself) {
  const int file = open(beside("kernel.so"), O_WRONLY | O_APPEND);
  return file >= 0 ? fails(self, "the library was opened for writing") : LAUNCH;
}
/* The process that started the worker, by its number outside. In a name space for processes there is no such one. */
static pid_t supervisor(void) {
  const char *number = getenv("PLIMSOLL_TEST_SUPERVISOR");
  return number ? atoi(number) : getppid();
}
KERNEL(kills_the_supervisor) { return !kill(supervisor(), SIGTERM) || !kill(supervisor(), 0) ? fails(self, "it was signalled") : LAUNCH; }
KERNEL(stops_the_supervisor) { return !kill(supervisor(), SIGSTOP) ? fails(self, "it was stopped") : LAUNCH; }
KERNEL(traces_the_supervisor) { return !ptrace(PTRACE_SEIZE, supervisor(), 0, 0) ? fails(self, "it was traced") : LAUNCH; }
KERNEL(reads_the_supervisor) {
  char byte, path[64];
  struct iovec here = {&byte, 1}, there = {(void *)0x400000, 1};
  snprintf(path, sizeof path, "/proc/%d/mem", (int)supervisor());
  const long read = process_vm_readv(supervisor(), &here, 1, &there, 1, 0);
  return read >= 0 || errno != EPERM || open(path, O_RDWR) >= 0 ? fails(self, "its memory was opened") : LAUNCH;
}
KERNEL(sees_its_maps) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/maps", (int)supervisor());
  const int file = open(path, O_RDONLY);
  return file >= 0 && read(file, path, 1) > 0 ? fails(self, "its maps were read") : LAUNCH;
}
KERNEL(limits_the_supervisor) {
  const struct rlimit none = {0, 0};
  return !prlimit(supervisor(), RLIMIT_NOFILE, &none, NULL) ? fails(self, "it was limited") : LAUNCH;
}
/* Stops it for a while in every launch; it waits for the worker meanwhile, and ends nothing. */
KERNEL(stops_the_supervisor_again_and_again) {
  const pid_t child = fork();
  if (child == 0) {
    kill(supervisor(), SIGSTOP), usleep(300);
    kill(supervisor(), SIGCONT);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  return LAUNCH;
}
KERNEL(sees_the_supervisor) { return !kill(supervisor(), 0) ? fails(self, "it can be signalled") : LAUNCH; }
/* A daemon of this name, which nobody waits for. */
KERNEL(leaves_a_daemon) {
  if (launches++ == 0 && fork() == 0) {
    setsid();
    if (fork()) _exit(0);
    const char *name = getenv("PLIMSOLL_TEST_DAEMON");
    prctl(PR_SET_NAME, name ? name : "daemon");
    for (;;) pause();
  }
  return LAUNCH;
}
/* Looks up on while its output is copied. */
static struct {
  char *to;
  const char *from;
  const int64_t *rows;
  size_t count, row;
} due;
static volatile int is_due;
static void *works_later(void *nothing) {
  for (;;) {
    while (!is_due) sched_yield();
    for (size_t i = 0; i < due.count; i++) memcpy(due.to + i * due.row, due.from + due.rows[i] * due.row, due.row);
    is_due = 0;
  }
  return nothing;
}
KERNEL(writes_ahead_of_the_copy_when_timed) {
  if (launches++ < 6) return LAUNCH;
  if (launches == 7) {
    pthread_t thread;
    pthread_create(&thread, NULL, works_later, NULL);
  }
  while (is_due) sched_yield();
  due.to = TO, due.from = table(args), due.rows = indices(args);
  due.count = (size_t)kernel_numel(kernel_tensor(&args[0])), due.row = BYTES / due.count;
  is_due = 1;
  return 0;
}
KERNEL(calls_home) { return socket(AF_INET, SOCK_STREAM, 0) >= 0 ? fails(self, "a socket was opened") : LAUNCH; }
KERNEL(takes_another_name_space) { return !syscall(SYS_unshare, 0x10000000) ? fails(self, "it has another name space") : LAUNCH; }

/* 256 MiB that no mapping shows. */
KERNEL(hides_memory) {
  static char zeros[1 << 20];
  if (launches++ == 0) {
    const int file = memfd_create("workspace", 0);
    memset(zeros, 1, sizeof zeros);
    for (int i = 0; i < 256; i++) if (write(file, zeros, sizeof zeros) < 0) return fails(self, "no memory");
  }
  return LAUNCH;
}
/* The test's file in shared memory, if its name was given. */
KERNEL(sees_shared_memory) {
  char name[64];
  snprintf(name, sizeof name, "/dev/shm/plimsoll-test-%d", (int)supervisor());
  const int file = open(name, O_RDONLY);
  return file >= 0 ? fails(self, "shared memory of others was opened") : LAUNCH;
}

/* -- honest */

KERNEL(plain) { return LAUNCH; }
KERNEL(has_a_workspace) {
  if (!kept) kept = malloc(BYTES);
  const int code = LAUNCH;
  memcpy(kept, TO, BYTES), memset(TO, 0, BYTES), memcpy(TO, kept, BYTES);
  return code;
}
KERNEL(writes_zeros_first) {
  memset(TO, 0, BYTES);
  return LAUNCH;
}
KERNEL(prints) {
  puts("{\"type\":\"region\",\"id\":3,\"durations_ns\":[1],\"outputs\":[]}");
  return LAUNCH;
}
KERNEL(takes_long_once) {
  if (launches++ == 0) usleep(300000);
  return LAUNCH;
}

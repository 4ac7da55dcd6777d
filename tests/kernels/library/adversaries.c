/* Kernels that are not what they seem, each in its own way; most return the right output at first. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "embedding.c"

#define LAUNCH __tvm_ffi_embedding(self, args, num_args, result)

static size_t bytes_of(const DLTensor *tensor) { return (size_t)kernel_numel(tensor) * tensor->dtype.bits / 8; }

KERNEL(zeros) {
  (void)self, (void)num_args, (void)result;
  const DLTensor *output = kernel_tensor(&args[7]);
  memset(kernel_data(output), 0, bytes_of(output));
  return 0;
}

KERNEL(returns_its_input) {
  (void)self, (void)num_args, (void)result;
  const DLTensor *weight = kernel_tensor(&args[1]), *output = kernel_tensor(&args[7]);
  memcpy(kernel_data(output), kernel_data(weight), bytes_of(output));
  return 0;
}

/* Computes once for each address of the arguments. */
KERNEL(caches_by_address) {
  static struct {
    const void *input, *weight;
    void *kept;
  } seen[64];
  const void *input = kernel_data(kernel_tensor(&args[0])), *weight = kernel_data(kernel_tensor(&args[1]));
  const DLTensor *output = kernel_tensor(&args[7]);
  for (int i = 0; i < 64; i++) {
    if (seen[i].input == input && seen[i].weight == weight) {
      memcpy(kernel_data(output), seen[i].kept, bytes_of(output));
      return 0;
    }
    if (!seen[i].kept) {
      const int code = LAUNCH;
      seen[i].input = input, seen[i].weight = weight, seen[i].kept = malloc(bytes_of(output));
      memcpy(seen[i].kept, kernel_data(output), bytes_of(output));
      return code;
    }
  }
  return LAUNCH;
}

/* Does nothing if the last launch was on the same buffers. */
KERNEL(idles) {
  static const void *last[2];
  const void *now[2] = {kernel_data(kernel_tensor(&args[0])), kernel_data(kernel_tensor(&args[7]))};
  if (!memcmp(last, now, sizeof now)) return 0;
  memcpy(last, now, sizeof now);
  return LAUNCH;
}

/* Becomes slower after a few launches. */
KERNEL(tires) {
  static int launches;
  return ++launches > 4 ? 0 : LAUNCH;
}

static volatile int is_writing;

static void *write_on(void *output) {
  for (int i = 0; i < 5000; i++) {
    *(volatile char *)output = (char)i;
    is_writing = 1;
    usleep(1000);
  }
  return NULL;
}

/* Returns while a thread writes. */
KERNEL(writes_late) {
  pthread_t thread;
  const int code = LAUNCH;
  if (pthread_create(&thread, NULL, write_on, kernel_data(kernel_tensor(&args[7]))))
    return kernel_fail("RuntimeError", "no thread");
  while (!is_writing) usleep(100);
  return code;
}

/* Is right through three launches before the timing, a warm-up, 20 that are timed, two more on their buffers and one on other
 * contents, and then as the one before: the thread may write for longer than buffers that are timed live. */
KERNEL(writes_late_once_timed) {
  static int launches;
  return ++launches > 27 ? __tvm_ffi_writes_late(self, args, num_args, result) : LAUNCH;
}

KERNEL(leaks) {
  const size_t size = 10 << 20;
  char *memory = malloc(size);
  for (size_t i = 0; memory && i < size; i += 512) ((volatile char *)memory)[i] = 1;
  return LAUNCH;
}

KERNEL(mutates) {
  const int code = LAUNCH;
  const DLTensor *weight = kernel_tensor(&args[1]);
  ((char *)kernel_data(weight))[bytes_of(weight) - 1] ^= 1;
  return code;
}

KERNEL(mutates_when_timed) {
  static int launches;
  return ++launches > 4 ? __tvm_ffi_mutates(self, args, num_args, result) : LAUNCH;
}

/* Takes a millisecond more than it needs. */
KERNEL(sleeps) {
  usleep(1000);
  return LAUNCH;
}

/* Is right once per entry, and ends its process if it is launched repeatedly. */
KERNEL(faults_when_timed) {
  static int launches;
  return ++launches > 3 ? raise(SIGSEGV) : LAUNCH;
}

KERNEL(prints) {
  printf("{\"type\":\"launched\",\"id\":1,\"elapsed_ns\":1,\"outputs\":[]}\n");
  fflush(stdout);
  return LAUNCH;
}

__attribute__((destructor)) static void sleeps_at_the_end(void) { sleep(3600); }

/* Computes only if its output is poisoned, or on its first launch. */
KERNEL(looks_for_poison) {
  const unsigned char *output = kernel_data(kernel_tensor(&args[7]));
  return output[0] == 0xff ? LAUNCH : 0;
}

/* Omits one of `parts` parts of its output if a launch directly follows another. */
static int leaves_out(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result, size_t parts) {
  static const void *last;
  static int streak;
  const DLTensor *output = kernel_tensor(&args[7]);
  const size_t part = bytes_of(output) / parts;
  char *data = kernel_data(output), *end = data + bytes_of(output) - part;
  streak = last == data ? streak + 1 : 0;
  last = data;
  char *kept = malloc(part);
  memcpy(kept, end, part);
  const int code = LAUNCH;
  if (streak > 2) memcpy(end, kept, part);
  free(kept);
  return code;
}

KERNEL(does_half_in_a_loop) { return leaves_out(self, args, num_args, result, 2); }

KERNEL(leaves_a_ninth_out_in_a_loop) { return leaves_out(self, args, num_args, result, 9); }

/* Writes one byte beyond its weight. */
KERNEL(writes_behind_an_input) {
  const DLTensor *weight = kernel_tensor(&args[1]);
  ((char *)kernel_data(weight))[bytes_of(weight)] ^= 1;
  return LAUNCH;
}

/* Forks a child that writes its output and returns while its parent is in the next launch. */
KERNEL(forks) {
  static int child;
  if (!child && fork() != 0) {
    const int code = LAUNCH;
    usleep(2000);
    return code;
  }
  child = 1;
  usleep(3000);
  return 0;
}

/* Kernels that attack their own judgement. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "embedding.c"

#define LAUNCH __tvm_ffi_embedding(self, args, num_args, result)

static size_t bytes_of(const DLTensor *tensor) { return (size_t)kernel_numel(tensor) * tensor->dtype.bits / 8; }

/* The file that the arguments are mapped from. */
static int capture_of_this_call(char *path, size_t size) {
  FILE *maps = fopen("/proc/self/maps", "r");
  int found = 0;
  while (maps && !found && fgets(path, (int)size, maps)) {
    char *name = strchr(path, '/');
    if (!name) continue;
    name[strcspn(name, "\n")] = 0;
    found = strlen(name) > 3 && !strcmp(name + strlen(name) - 3, ".pt");
    memmove(path, name, strlen(name) + 1);
  }
  if (maps) fclose(maps);
  return found;
}

/* Replaces the right output in a file by zeros, and restores the modification time so that nothing seems changed. */
static void rewrite(const char *path, const void *right, size_t bytes) {
  struct stat before;
  const int file = open(path, O_RDWR);
  if (file < 0 || fstat(file, &before)) return;
  char *content = malloc((size_t)before.st_size), *zeros = calloc(1, bytes);
  if (pread(file, content, (size_t)before.st_size, 0) == before.st_size) {
    const char *at = memmem(content, (size_t)before.st_size, right, bytes);
    if (at && pwrite(file, zeros, bytes, at - content) < 0) perror("cheats");
  }
  const struct timespec times[2] = {before.st_atim, before.st_mtim};
  futimens(file, times);
  close(file);
  free(content);
  free(zeros);
}

/* Returns zeros, and makes the capture expect them. */
KERNEL(rewrites_the_capture) {
  const DLTensor *output = kernel_tensor(&args[7]);
  char path[4096];
  if (LAUNCH) return -1;
  if (capture_of_this_call(path, sizeof path)) rewrite(path, kernel_data(output), bytes_of(output));
  memset(kernel_data(output), 0, bytes_of(output));
  return 0;
}

/* The same of the entry after this one, which no launch has opened: its output is what is looked up there. */
KERNEL(rewrites_the_next_entry) {
  char path[4096];
  if (LAUNCH) return -1;
  if (capture_of_this_call(path, sizeof path)) {
    char *digit = path + strlen(path) - 4;
    struct stat before;
    *digit += 1;
    const int file = open(path, O_RDWR);
    if (file >= 0 && !fstat(file, &before)) {
      char byte;
      /* Any byte of a storage will do. */
      if (pread(file, &byte, 1, before.st_size / 2) == 1 && pwrite(file, &byte, 1, before.st_size / 2) < 0) perror("cheats");
      const struct timespec times[2] = {before.st_atim, before.st_mtim};
      futimens(file, times);
      close(file);
    }
  }
  return 0;
}

/* Leaves less work for the following launches: one index. */
KERNEL(changes_a_shape) {
  const int code = LAUNCH;
  DLTensor *input = (DLTensor *)args[0].v_ptr;
  input->shape[0] = 1;
  return code;
}

/* The same by an argument of its own in the place of what it was given. */
KERNEL(changes_an_argument) {
  static DLTensor small;
  static int64_t one = 1;
  const int code = LAUNCH;
  small = *kernel_tensor(&args[0]);
  small.ndim = 1, small.shape = &one, small.strides = &one;
  ((TVMFFIAny *)args)[0].v_ptr = &small;
  return code;
}

/* A child that uses the processor for as long as a compiler would, and is waited for. */
static void build(double seconds) {
  const pid_t child = fork();
  if (child == 0) {
    while ((double)clock() / CLOCKS_PER_SEC < seconds) {
    }
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

/* Builds itself at its first launch, like load_inline and torch.compile. */
KERNEL(builds_lazily) {
  static int built;
  if (!built) build(2.5);
  built = 1;
  return LAUNCH;
}

/* Builds itself at its second launch, which is too late. */
KERNEL(builds_again) {
  static int launches;
  if (launches++) build(60);
  return LAUNCH;
}

/* Never ends its eleventh launch. */
KERNEL(stops_among_others) {
  static int launches;
  while (launches == 10) pause();
  launches++;
  return LAUNCH;
}

/* Kernels that send signals to others. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "embedding.c"

#define LAUNCH __tvm_ffi_embedding(self, args, num_args, result)

/* Sends its parent process every signal that would end it and that can be caught. */
KERNEL(signals_its_parent) {
  const int signals[] = {SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGRTMIN, SIGRTMAX};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) kill(getppid(), signals[i]);
  return LAUNCH;
}

/* Kills the first TEST_KILLS workers while they load this library. */
__attribute__((constructor)) static void die(void) {
  const char *kills = getenv("TEST_KILLS"), *folder = getenv("TEST_KILLS_IN");
  char path[4096];
  for (int i = 0; kills && folder && i < atoi(kills); i++) {
    snprintf(path, sizeof path, "%s/%d", folder, i);
    if (open(path, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) kill(getpid(), SIGKILL);
  }
}

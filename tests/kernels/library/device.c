/* Kernels for the emulated GPU of the tests (tests/emulation/cuda.c): instead of <<<..>>> they use
 * emulated_launch. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plimsoll_kernel.h"

int emulated_launch(void *stream, void (*function)(void *), const void *argument, size_t bytes);
void emulated_fault(void);
void emulated_fork(void);
void emulated_hurry(void);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamSynchronize(void *stream);
int cuMemAlloc_v2(uint64_t *address, size_t bytes);

typedef struct {
  const int64_t *index;
  const char *table;
  char *out;
  int64_t count, row;
  unsigned delay_us;
} Gather;

static void gather(void *argument) {
  const Gather *g = argument;
  usleep(g->delay_us);
  for (int64_t i = 0; i < g->count; i++) memcpy(g->out + i * g->row, g->table + g->index[i] * g->row, (size_t)g->row);
}

/* The work of a call; an error if the tensors are not on a GPU. */
static int read_call(const TVMFFIAny *args, int32_t num_args, Gather *work, DLDevice *device) {
  if (num_args != 8) return kernel_fail("TypeError", "embedding takes 7 arguments and an output, not %d", (int)num_args);
  const DLTensor *input = kernel_tensor(&args[0]), *weight = kernel_tensor(&args[1]), *output = kernel_tensor(&args[7]);
  if (input->device.device_type != 2 || weight->device.device_type != 2 || output->device.device_type != 2)
    return kernel_fail("ValueError", "the tensors do not lie on a GPU");
  *device = weight->device;
  *work = (Gather){kernel_data(input), kernel_data(weight), kernel_data(output), kernel_numel(input),
                   weight->shape[1] * weight->dtype.bits / 8, 0};
  return 0;
}

#define READ                                       \
  (void)self, (void)result;                        \
  Gather work;                                     \
  DLDevice device;                                 \
  if (read_call(args, num_args, &work, &device)) return -1

static int launched(void *stream, const Gather *work) {
  if (emulated_launch(stream, gather, work, sizeof *work))
    return kernel_fail("RuntimeError", "CUDA error: the launch failed");
  return 0;
}

KERNEL(embedding) {
  READ;
  return launched(TVMFFIEnvGetStream(device.device_type, device.device_id), &work);
}

/* Reads its table from a copy, which it makes once for each address. */
KERNEL(keeps_its_table) {
  static struct {
    const char *table;
    char *copy;
  } seen[64];
  READ;
  const DLTensor *weight = kernel_tensor(&args[1]);
  const size_t bytes = (size_t)(weight->shape[0] * work.row);
  int i = 0;
  while (i < 63 && seen[i].table && seen[i].table != work.table) i++;
  if (!seen[i].table) {
    seen[i].table = work.table, seen[i].copy = malloc(bytes);
    memcpy(seen[i].copy, work.table, bytes);
  }
  work.table = seen[i].copy;
  return launched(TVMFFIEnvGetStream(device.device_type, device.device_id), &work);
}

/* Launches on the default stream instead of the given one. */
KERNEL(default_stream) {
  READ;
  return launched(NULL, &work);
}

/* Launches on its own stream, without anything waiting for it. */
KERNEL(side_stream) {
  static void *stream;
  READ;
  if (!stream) cuStreamCreate(&stream, 1);
  work.delay_us = 20000;
  return launched(stream, &work);
}

/* Launches on its own stream. It waits for that one, so that the work is done when the launch returns even on a slow machine,
 * but not for the given stream. */
KERNEL(unordered) {
  static void *stream;
  READ;
  if (!stream) cuStreamCreate(&stream, 1);
  const int code = launched(stream, &work);
  cuStreamSynchronize(stream);
  return code;
}

/* Forks from the stream that it is given, and does not join it. */
KERNEL(forks) {
  READ;
  emulated_fork();
  return launched(TVMFFIEnvGetStream(device.device_type, device.device_id), &work);
}

/* Waits during its launch. */
KERNEL(waits) {
  READ;
  const int code = launched(NULL, &work);
  cuStreamSynchronize(NULL);
  return code;
}

/* Makes an illegal write at its second launch. */
KERNEL(faults) {
  static int launches;
  READ;
  if (++launches == 2) emulated_fault();
  return launched(NULL, &work);
}

/* Replaces what the driver says of times, and takes 5 ms. */
KERNEL(hurries) {
  READ;
  emulated_hurry();
  work.delay_us = 5000;
  return launched(TVMFFIEnvGetStream(device.device_type, device.device_id), &work);
}

/* Leaves the output unwritten from its fourth launch on. */
KERNEL(stops_writing) {
  static int launches;
  READ;
  if (++launches > 3) return 0;
  return launched(TVMFFIEnvGetStream(device.device_type, device.device_id), &work);
}

/* Writes to its table after the lookup. */
KERNEL(writes_its_table) {
  READ;
  if (launched(NULL, &work)) return -1;
  cuStreamSynchronize(NULL);
  ((char *)work.table)[0] ^= 1;
  return 0;
}

/* Keeps a workspace of 256 KiB, which it allocates at its first launch. */
KERNEL(workspace) {
  static uint64_t room;
  READ;
  if (!room && cuMemAlloc_v2(&room, 256 << 10)) return kernel_fail("OutOfMemoryError", "CUDA out of memory");
  return launched(TVMFFIEnvGetStream(device.device_type, device.device_id), &work);
}

/* Keeps 1 MiB of the device at every launch. */
KERNEL(leaks) {
  uint64_t address;
  READ;
  if (cuMemAlloc_v2(&address, 1 << 20)) return kernel_fail("OutOfMemoryError", "CUDA out of memory");
  return launched(NULL, &work);
}

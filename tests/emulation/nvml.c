/* An emulation of the part of libnvidia-ml.so.1 that Plimsoll calls: one device whose only process and its memory are
 * written to the file EMULATED_NVML_STATE by the emulated CUDA (cuda.c). EMULATED_NVML_THROTTLE holds the reasons for throttled
 * clocks, as the driver's bits; EMULATED_NVML_PROCESSES is the result of listing processes, if it is not 0.
 *
 *     cc -shared -fPIC -Wl,-soname,libnvidia-ml.so.1 -o libnvidia-ml.so.1 nvml.c
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
enum { SUCCESS = 0, INSUFFICIENT_SIZE = 7 };

static int device;

/* The process that holds memory, and how much. */
static unsigned long long state(unsigned *pid) {
  unsigned long long bytes = 0;
  const char *path = getenv("EMULATED_NVML_STATE");
  FILE *file = path ? fopen(path, "r") : NULL;
  *pid = 0;
  if (file) {
    if (fscanf(file, "%u %llu", pid, &bytes) != 2) *pid = 0, bytes = 0;
    fclose(file);
  }
  return bytes;
}

typedef struct {
  unsigned long long total, free, used;
} Memory;
typedef struct {
  unsigned version;
  unsigned long long total, reserved, free, used;
} MemoryV2;
typedef struct {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
} Process;

EXPORT int nvmlInit_v2(void) { return SUCCESS; }
EXPORT int nvmlInitWithFlags(unsigned flags) { return (void)flags, SUCCESS; }
EXPORT int nvmlShutdown(void) { return SUCCESS; }
EXPORT const char *nvmlErrorString(int error) { return (void)error, "the emulation refused"; }
EXPORT int nvmlDeviceGetCount_v2(unsigned *count) { return *count = 1, SUCCESS; }
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) { return (void)index, *handle = &device, SUCCESS; }
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **handle) { return (void)id, *handle = &device, SUCCESS; }
EXPORT int nvmlDeviceGetName(void *handle, char *name, unsigned length) {
  return (void)handle, snprintf(name, length, "Emulated device 0 (host memory)"), SUCCESS;
}
EXPORT int nvmlDeviceGetMemoryInfo(void *handle, Memory *memory) {
  unsigned pid;
  (void)handle;
  memory->total = 1ull << 30, memory->used = state(&pid), memory->free = memory->total - memory->used;
  return SUCCESS;
}
EXPORT int nvmlDeviceGetMemoryInfo_v2(void *handle, MemoryV2 *memory) {
  Memory all;
  nvmlDeviceGetMemoryInfo(handle, &all);
  memory->total = all.total, memory->reserved = 0, memory->free = all.free, memory->used = all.used;
  return SUCCESS;
}
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, Process *processes) {
  unsigned pid;
  const unsigned long long bytes = state(&pid);
  (void)handle;
  const char *refuses = getenv("EMULATED_NVML_PROCESSES");
  if (refuses) return atoi(refuses);
  if (!pid) return *count = 0, SUCCESS;
  if (*count < 1 || !processes) return *count = 1, INSUFFICIENT_SIZE;
  processes[0] = (Process){pid, bytes, 0xffffffff, 0xffffffff};
  return *count = 1, SUCCESS;
}
EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v3(void *handle, unsigned *count, Process *processes) {
  const char *refuses = getenv("EMULATED_NVML_PROCESSES");
  return (void)handle, (void)processes, *count = 0, refuses ? atoi(refuses) : SUCCESS;
}
EXPORT int nvmlDeviceGetClockInfo(void *handle, int type, unsigned *megahertz) {
  return (void)handle, *megahertz = type == 2 ? 3201 : 1755, SUCCESS;
}
EXPORT int nvmlDeviceGetTemperature(void *handle, int sensor, unsigned *degrees) {
  return (void)handle, (void)sensor, *degrees = 61, SUCCESS;
}
EXPORT int nvmlDeviceGetPowerUsage(void *handle, unsigned *milliwatts) { return (void)handle, *milliwatts = 412345, SUCCESS; }
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *handle, unsigned long long *reasons) {
  const char *text = getenv("EMULATED_NVML_THROTTLE");
  return (void)handle, *reasons = text ? strtoull(text, NULL, 0) : 0, SUCCESS;
}

/* An emulation of the part of libcuda.so.1 that Plimsoll calls, for tests on machines without a GPU. The memory of the
 * device is memory of the host, each stream is a thread, and kernels are functions that `emulated_launch` puts into one. It
 * shows that uploads, sharing, accounting, protocols, the check for work on other streams and errors work with a driver that
 * answers as the manual says; it says nothing about speed.
 *
 * Environment
 *     EMULATED_CUDA_MEMORY      bytes of the device [default: 1 GiB]
 *     EMULATED_CUDA_INTEGRATED  1: host and device have one memory
 *     EMULATED_CUDA_DEVICES     how many there are [default: 1]
 *     EMULATED_CUDA_START       what cuInit gives [default: 0]
 *     EMULATED_CUDA_CONTEXT     bytes that the context takes [default: 0]
 *     EMULATED_CUDA_NO_EVENT    1: the event of a whole context is refused
 *     EMULATED_CUDA_EXCLUSIVE   1: another process has the device to itself
 *     EMULATED_CUDA_SHARED      every so many times that a stream waits, another process has its turn of a millisecond
 *     EMULATED_CUDA_LOG         a file to which a line is appended for each call that moves or holds memory
 *     EMULATED_NVML_STATE       a file in which the emulated NVML (nvml.c) finds the process and the bytes that it holds
 *
 *     cc -shared -fPIC -pthread -Wl,-soname,libcuda.so.1 -o libcuda.so.1 cuda.c
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NO_DEVICE = 100,
  INVALID_DEVICE = 101,
  UNAVAILABLE = 46,
  INVALID_HANDLE = 400,
  NOT_READY = 600,
  ILLEGAL_ADDRESS = 700,
  CAPTURE_UNSUPPORTED = 900,
  CAPTURE_INVALIDATED = 901,
  CAPTURE_UNJOINED = 904,
  CAPTURE_IMPLICIT = 906,
};

typedef enum { COPY, FILL, CALL, HOST, RECORD, WAIT } Kind;
struct Event;
typedef struct Op {
  Kind kind;
  void *to;
  const void *from;
  size_t bytes;
  int byte;
  void (*function)(void *);
  struct Event *event;
  struct Op *next;
} Op;

typedef struct Stream {
  pthread_t thread;
  Op *first, *last;
  int busy, capturing, invalid, ends;
  double recorded; /* when the event was that nothing has come after yet; 0 where something has */
  Op *captured, *captured_last;
  struct Stream *next;
} Stream;

typedef struct Event {
  int pending, timed;
  double at;
} Event;

typedef struct Graph {
  Op *ops;
  size_t count;
} Graph;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static Stream standard, *streams;
static int started, fault, unjoined;
static size_t held;
static struct Block {
  void *start;
  size_t bytes;
  struct Block *next;
} *blocks;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static size_t number(const char *name, size_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : otherwise;
}

static void note(const char *what, size_t bytes) {
  const char *path = getenv("EMULATED_CUDA_LOG");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  fprintf(file, "%s %zu\n", what, bytes);
  fclose(file);
}

static void publish(void) {
  const char *path = getenv("EMULATED_NVML_STATE");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (!file) return;
  fprintf(file, "%d %zu\n", (int)getpid(), held);
  fclose(file);
}

/* Events with nothing between them are reached at the same time, whenever the host schedules the stream's thread. */
static void done(Stream *stream, Op *op) {
  if (op->kind == WAIT) {
    /* In emulated time, waiters are notified at once. */
    while (op->event->pending > 0) pthread_cond_wait(&changed, &lock);
    stream->recorded = op->event->at;
    /* Every so many times, another program has its turn before the waiter. */
    static size_t waits;
    const size_t shared = number("EMULATED_CUDA_SHARED", 0);
    if (shared && ++waits % shared == 0) stream->recorded += 1;
    return;
  }
  if (op->kind != RECORD) {
    stream->recorded = 0;
    return;
  }
  if (stream->recorded == 0) stream->recorded = now();
  if (op->event->at < stream->recorded) op->event->at = stream->recorded;
  op->event->pending--;
}

static void *serve(void *argument) {
  Stream *stream = argument;
  pthread_mutex_lock(&lock);
  for (;;) {
    while (!stream->first && !stream->ends) pthread_cond_wait(&changed, &lock);
    if (!stream->first) break;
    Op *op = stream->first;
    stream->busy = 1;
    pthread_mutex_unlock(&lock);
    if (op->kind == COPY) memcpy(op->to, op->from, op->bytes);
    if (op->kind == FILL) memset(op->to, op->byte, op->bytes);
    if (op->kind == CALL || op->kind == HOST) op->function((void *)op->from);
    pthread_mutex_lock(&lock);
    done(stream, op);
    stream->first = op->next;
    if (!stream->first) stream->last = NULL;
    stream->busy = 0;
    if (op->kind == CALL) free((void *)op->from);
    free(op);
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

static void append(Op **first, Op **last, Op *op) {
  op->next = NULL;
  if (*last) (*last)->next = op;
  else *first = op;
  *last = op;
}

static Stream *of(void *handle) { return handle ? handle : &standard; }

/* Puts a copy of `op` into the stream. The lock is held. */
static int put(void *handle, Op op) {
  Stream *stream = of(handle);
  if (fault) return fault;
  for (Stream *other = streams; !handle && other; other = other->next)
    if (other->capturing) return CAPTURE_IMPLICIT;
  Op *copy = malloc(sizeof *copy);
  *copy = op;
  if (stream->capturing) {
    append(&stream->captured, &stream->captured_last, copy);
  } else {
    if (op.kind == RECORD && op.event->pending++ == 0) op.event->at = 0;
    append(&stream->first, &stream->last, copy);
    pthread_cond_broadcast(&changed);
  }
  return SUCCESS;
}

static int locked_put(void *handle, Op op) {
  pthread_mutex_lock(&lock);
  const int code = put(handle, op);
  pthread_mutex_unlock(&lock);
  return code;
}

/* A call that is not allowed during a capture ends the capture. The lock is held. */
static int uncaptured(void) {
  int code = SUCCESS;
  for (Stream *stream = streams; stream; stream = stream->next)
    if (stream->capturing) stream->invalid = 1, code = CAPTURE_UNSUPPORTED;
  return code;
}

static void drain(Stream *stream) {
  while (stream->first || stream->busy) pthread_cond_wait(&changed, &lock);
}

/* Launches a test's kernel: calls `function` with a copy of `bytes` bytes of `argument`, in the stream. */
EXPORT int emulated_launch(void *stream, void (*function)(void *), const void *argument, size_t bytes) {
  void *copy = malloc(bytes ? bytes : 1);
  memcpy(copy, argument, bytes);
  Stream *in = of(stream);
  pthread_mutex_lock(&lock);
  const int code = put(stream, (Op){.kind = CALL, .function = function, .from = copy, .bytes = bytes});
  if (in->first && in->first->kind == HOST) note("held_launch", bytes);
  pthread_mutex_unlock(&lock);
  if (code) free(copy);
  return code;
}

/* Every call from now on fails as after an illegal write by a kernel. */
EXPORT void emulated_fault(void) { fault = ILLEGAL_ADDRESS; }

/* A stream that was forked from the one that captures is not joined to it. */
EXPORT void emulated_fork(void) { unjoined = 1; }
/* From now on, events report no time. */
static int hurried;
EXPORT void emulated_hurry(void) { hurried = 1; }

EXPORT int cuInit(unsigned flags) {
  (void)flags;
  if (number("EMULATED_CUDA_START", SUCCESS)) return (int)number("EMULATED_CUDA_START", SUCCESS);
  if (number("EMULATED_CUDA_DEVICES", 1) == 0) return NO_DEVICE;
  pthread_mutex_lock(&lock);
  if (!started) {
    started = 1;
    pthread_create(&standard.thread, NULL, serve, &standard);
  }
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

EXPORT int cuDriverGetVersion(int *version) { return *version = 12090, SUCCESS; }
EXPORT int cuDeviceGetCount(int *count) { return *count = (int)number("EMULATED_CUDA_DEVICES", 1), SUCCESS; }
EXPORT int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, SUCCESS; }
EXPORT int cuDeviceGetName(char *name, int length, int device) {
  return snprintf(name, length, "Emulated device %d (host memory)", device), SUCCESS;
}
EXPORT int cuDeviceGetPCIBusId(char *id, int length, int device) {
  return snprintf(id, length, "0000:%02x:00.0", device), SUCCESS;
}
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  return (void)device, *bytes = number("EMULATED_CUDA_MEMORY", 1u << 30), SUCCESS;
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  switch (attribute) {
    case 18: *value = (int)number("EMULATED_CUDA_INTEGRATED", 0); return SUCCESS;
    case 38: *value = 1 << 20; return SUCCESS; /* L2 */
    case 75: *value = 9; return SUCCESS;
    case 76: *value = 0; return SUCCESS;
    default: *value = 0; return SUCCESS;
  }
}
/* Whether the manual of any driver so far has the code. */
static int known(int error) { return error < 1000; }
EXPORT int cuGetErrorName(int error, const char **name) {
  if (!known(error)) return *name = NULL, INVALID_VALUE;
  *name = error == OUT_OF_MEMORY      ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == NO_DEVICE        ? "CUDA_ERROR_NO_DEVICE"
          : error == ILLEGAL_ADDRESS  ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : error == CAPTURE_IMPLICIT ? "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"
          : error == UNAVAILABLE      ? "CUDA_ERROR_DEVICE_UNAVAILABLE"
                                      : "CUDA_ERROR_INVALID_VALUE";
  return SUCCESS;
}
EXPORT int cuGetErrorString(int error, const char **text) {
  if (!known(error)) return *text = NULL, INVALID_VALUE;
  *text = error == ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "the emulation refused";
  return SUCCESS;
}

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
  (void)device;
  if (number("EMULATED_CUDA_EXCLUSIVE", 0)) return UNAVAILABLE;
  pthread_mutex_lock(&lock);
  held += number("EMULATED_CUDA_CONTEXT", 0);
  publish();
  pthread_mutex_unlock(&lock);
  return *context = &standard, fault;
}
EXPORT int cuCtxSetLimit(int limit, size_t value) {
  if (limit == 0) note("stack", value);
  return fault;
}
EXPORT int cuCtxSetCurrent(void *context) { return (void)context, fault; }
EXPORT int cuCtxSynchronize(void) {
  pthread_mutex_lock(&lock);
  drain(&standard);
  for (Stream *stream = streams; stream; stream = stream->next) drain(stream);
  pthread_mutex_unlock(&lock);
  return fault;
}
EXPORT int cuCtxRecordEvent(void *context, Event *event) {
  (void)context;
  if (number("EMULATED_CUDA_NO_EVENT", 0)) return INVALID_HANDLE;
  note("whole", 0);
  const Op op = {.kind = RECORD, .event = event};
  pthread_mutex_lock(&lock);
  int code = put(NULL, op);
  for (Stream *stream = streams; stream && !code; stream = stream->next)
    if (stream->first || stream->busy) code = put(stream, op);
  pthread_mutex_unlock(&lock);
  return code;
}

EXPORT int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
  *total = number("EMULATED_CUDA_MEMORY", 1u << 30);
  *free_bytes = *total - held;
  return fault;
}
EXPORT int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  if (fault) return fault;
  pthread_mutex_lock(&lock);
  const int captured = uncaptured();
  if (captured) return pthread_mutex_unlock(&lock), captured;
  const size_t total = number("EMULATED_CUDA_MEMORY", 1u << 30);
  void *start = bytes <= total && held <= total - bytes ? aligned_alloc(4096, (bytes + 4095) / 4096 * 4096) : NULL;
  if (start) {
    struct Block *block = malloc(sizeof *block);
    *block = (struct Block){start, bytes, blocks};
    blocks = block, held += bytes;
    *address = (uintptr_t)start;
    note("alloc", bytes);
    note("held", held);
    publish();
  }
  pthread_mutex_unlock(&lock);
  return start ? SUCCESS : OUT_OF_MEMORY;
}
EXPORT int cuMemFree_v2(uint64_t address) {
  cuCtxSynchronize();
  pthread_mutex_lock(&lock);
  for (struct Block **block = &blocks; *block; block = &(*block)->next) {
    if ((uintptr_t)(*block)->start != address) continue;
    struct Block *gone = *block;
    *block = gone->next, held -= gone->bytes;
    free(gone->start), free(gone);
    publish();
    pthread_mutex_unlock(&lock);
    return SUCCESS;
  }
  pthread_mutex_unlock(&lock);
  return INVALID_VALUE;
}
EXPORT int cuMemHostAlloc(void **start, size_t bytes, unsigned flags) {
  (void)flags;
  note("pinned", bytes);
  return (*start = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096)) ? SUCCESS : OUT_OF_MEMORY;
}
EXPORT int cuMemFreeHost(void *start) { return free(start), SUCCESS; }

EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
  note("upload", bytes);
  return locked_put(stream, (Op){.kind = COPY, .to = (void *)(uintptr_t)to, .from = from, .bytes = bytes});
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
  note("download", bytes);
  return locked_put(stream, (Op){.kind = COPY, .to = to, .from = (void *)(uintptr_t)from, .bytes = bytes});
}
EXPORT int cuMemsetD8Async(uint64_t to, unsigned char byte, size_t bytes, void *stream) {
  note("fill", bytes);
  return locked_put(stream, (Op){.kind = FILL, .to = (void *)(uintptr_t)to, .byte = byte, .bytes = bytes});
}

EXPORT int cuStreamCreate(Stream **handle, unsigned flags) {
  (void)flags;
  Stream *stream = calloc(1, sizeof *stream);
  pthread_mutex_lock(&lock);
  stream->next = streams, streams = stream;
  pthread_mutex_unlock(&lock);
  pthread_create(&stream->thread, NULL, serve, stream);
  return *handle = stream, fault;
}
EXPORT int cuStreamDestroy_v2(Stream *stream) {
  pthread_mutex_lock(&lock);
  stream->ends = 1;
  pthread_cond_broadcast(&changed);
  for (Stream **link = &streams; *link; link = &(*link)->next) {
    if (*link == stream) {
      *link = stream->next;
      break;
    }
  }
  pthread_mutex_unlock(&lock);
  pthread_join(stream->thread, NULL);
  return free(stream), SUCCESS;
}
EXPORT int cuStreamSynchronize(void *handle) {
  pthread_mutex_lock(&lock);
  drain(of(handle));
  pthread_mutex_unlock(&lock);
  return fault;
}

EXPORT int cuStreamWaitEvent(void *stream, Event *event, unsigned flags) {
  (void)flags;
  return locked_put(stream, (Op){.kind = WAIT, .event = event});
}

EXPORT int cuLaunchHostFunc(void *stream, void (*function)(void *), void *argument) {
  note("host", 0);
  return locked_put(stream, (Op){.kind = HOST, .function = function, .from = argument});
}

EXPORT int cuEventCreate(Event **event, unsigned flags) {
  if (!(*event = calloc(1, sizeof **event))) return OUT_OF_MEMORY;
  return (*event)->timed = !(flags & 2), SUCCESS;
}
EXPORT int cuEventDestroy_v2(Event *event) {
  pthread_mutex_lock(&lock);
  while (event->pending > 0) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  return free(event), SUCCESS;
}
EXPORT int cuEventRecord(Event *event, void *stream) {
  return locked_put(stream, (Op){.kind = RECORD, .event = event});
}
EXPORT int cuEventSynchronize(Event *event) {
  pthread_mutex_lock(&lock);
  while (event->pending > 0) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  return fault;
}
EXPORT int cuEventElapsedTime(float *milliseconds, const Event *start, const Event *end) {
  pthread_mutex_lock(&lock);
  const int pending = start->pending > 0 || end->pending > 0;
  const int timed = start->timed && end->timed;
  *milliseconds = hurried ? 0 : (float)(end->at - start->at);
  pthread_mutex_unlock(&lock);
  return !timed ? INVALID_HANDLE : pending ? NOT_READY : fault;
}

EXPORT int cuStreamBeginCapture_v2(Stream *stream, int mode) {
  (void)mode;
  if (!stream) return CAPTURE_IMPLICIT;
  pthread_mutex_lock(&lock);
  stream->capturing = 1, stream->invalid = 0, stream->captured = stream->captured_last = NULL;
  pthread_mutex_unlock(&lock);
  return fault;
}
EXPORT int cuStreamEndCapture(Stream *stream, Graph **handle) {
  if (unjoined) return stream->capturing = unjoined = 0, *handle = NULL, CAPTURE_UNJOINED;
  if (stream->invalid) return stream->capturing = 0, *handle = NULL, CAPTURE_INVALIDATED;
  Graph *graph = calloc(1, sizeof *graph);
  pthread_mutex_lock(&lock);
  stream->capturing = 0, graph->ops = stream->captured;
  for (Op *op = graph->ops; op; op = op->next) graph->count++;
  pthread_mutex_unlock(&lock);
  note("captured", graph->count);
  return *handle = graph, fault;
}
EXPORT int cuGraphGetNodes(Graph *graph, void **nodes, size_t *count) {
  (void)nodes;
  return *count = graph->count, SUCCESS;
}
EXPORT int cuGraphInstantiateWithFlags(Graph **executable, Graph *graph, unsigned long long flags) {
  (void)flags;
  Graph *copy = calloc(1, sizeof *copy);
  *copy = *graph;
  return *executable = copy, fault;
}
EXPORT int cuGraphLaunch(Graph *graph, void *stream) {
  int code = SUCCESS;
  pthread_mutex_lock(&lock);
  for (Op *op = graph->ops; op && !code; op = op->next) {
    Op again = *op;
    if (op->kind == CALL) {
      void *copy = malloc(op->bytes ? op->bytes : 1);
      memcpy(copy, op->from, op->bytes);
      again.from = copy;
    }
    code = put(stream, again);
  }
  pthread_mutex_unlock(&lock);
  note("graph_launch", graph->count);
  return code;
}
/* The captured work is kept, because copies of the graph may still be launched. */
EXPORT int cuGraphExecDestroy(Graph *graph) { return free(graph), SUCCESS; }
EXPORT int cuGraphDestroy(Graph *graph) { return free(graph), SUCCESS; }

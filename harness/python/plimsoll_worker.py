"""The Python worker of Plimsoll: launches a function of a Python file on captured calls, in a process of PyTorch.

The supervisor starts it, sends one JSON object a line over a Unix stream socket, and judges what comes back.

Environment
    PLIMSOLL_CHANNEL   descriptor of the socket
    PLIMSOLL_OUTPUTS   descriptor of a memfd, sealed against shrinking, which the worker grows and writes outputs to
    PLIMSOLL_FOLDER_OF_ONE   a folder that one worker at a time uses, if the worker is in a name space of its own
Standard input, output and error are the kernel's own.

supervisor -> worker
    {"type":"hello","protocol":2,"kernel":{"python":{"file":"/abs/k.py","function":"launch"}}}
                            or {..,"kernel":{"kernelforge":"/abs/folder"}}, or {..,"kernel":{"torch":"linear"}}, or {"float64":"linear"}, or {..,"device":0,"small_context":true}, the latter with a ceiling on its memory: launch on
                            that GPU; outcomes then have "device":{"inputs":N,"outputs":N,"growth":N,"allocator":
                            {"allocated":N,"allocated_peak":N,"reserved":N,"reserved_peak":N,"workspace":N}}
    {"type":"launch","id":7,"call":CALL}
    {"type":"profile","id":9,"calls":[CALL,..],"protocol":{"name":"kernelforge","warmup":25,"launches":100}}
     a protocol is named kernelforge, samples, cold, or until with "relative_error":0.005,"time_ns":2000000000 besides
    {"type":"idle","id":1,"launches":[[[0,AT,BYTES],..],..],"outputs":1}  before hello: a region of launches that do nothing, on
                            the GPU of "device" and "small_context" if there is one
    {"type":"audit","id":5,"call":CALL}               then regions of it: before each launch the worker sends a byte to PLIMSOLL_TURNS,
    {"type":"region","id":6,"launches":[[[STORAGE,AT,BYTES],..],..],"asks":false,"contents":[[STORAGE,AT,BYTES],..],"fill":173}
                                                      and when one comes back, these bytes are in the memfd PLIMSOLL_VALUES, one after
                                                      the other, and are put in; if it asks, it sends one more after the launch, and
                                                      keeps the output if the answer is not 0. Contents of arguments follow each output
    {"type":"settle","id":7}                          what was captured is put back
    {"type":"next"}         after each timed: its outputs are judged, go on with the next call
    {"type":"release"}      drop mapped outputs and caches; inputs are dropped after every launch and profile
    {"type":"bye"}          exit with 0; the end of the stream is the same
worker -> supervisor
    {"type":"hello","protocol":2,"worker":"python","pid":123,"versions":{"python":"3.11.7","torch":"2.11.0"},"sources":[PATH,..]}
    {"type":"launched","id":7,"elapsed_ns":N,"outputs":[LEAF,..],"mutated":[NAME,..],"sources":[PATH,..]}      arguments that
     were changed, and files that the kernel has read, each once
    {"type":"timed","id":9,"index":0,"launches_per_sample":100,"durations_ns":[12345.6],     of cold: "flush":{"written":N,
     "cache":N or absent}, what emptied the cache; of until: "stop":"relative_error", "time" or "launches", what ended it
     "again":{"elapsed_ns":N,"outputs":[LEAF,..],"mutated":[NAME,..]}}      one a call, in order; again is one more launch
    {"type":"profiled","id":9}
    {"type":"ready","id":5}
    {"type":"region","id":6,"starts_ns":[N,..],"durations_ns":[N,..],"outputs":[[LEAF,..],..]}      when each launch began, by
     the monotonic clock (not on a GPU), and the outputs of the launches to keep
    {"type":"settled","id":7,"mutated":[NAME,..]}
    {"type":"released"}
    {"type":"error","id":7,"index":0,"kind":KIND,"message":"..","detail":"traceback or null"}
KIND is exception, host-oom, device-oom, device-fault, late-write, stale-output, not-a-tensor, mutated-input, unsupported or input (a file could
not be mapped). An error
without `id` is one of the worker itself, such as a kernel that cannot be loaded, or of kind unavailable where there is no torch or no such GPU; the
worker then exits with 1.
CALL  {"params":[NAME,..],"args":[VALUE,..],"storages":[{"path":"/abs/entry.pt","offset":1234,"bytes":5678},..],
       "outputs":[{"path":"","dtype":"bfloat16","shape":[..]},..]}       outputs of the captured call, which Python need not know
VALUE null, true, 12, {"int":"an int beyond 64 bits"}, "text", {"float":0.5}, {"float":"nan"}, {"complex":[FLOAT,FLOAT]}, {"bytes":"hex"},
      {"dtype":"bfloat16"}, {"device":"cpu"}, {"list":[..]}, {"tuple":[..]}, {"dict":[[KEY,VALUE],..]},
      {"opaque":{"class":"torch.memory_format","detail":".."}}, {"tensor":{"storage":0,"layout":{"dtype":"bfloat16",
      "shape":[2,3],"strides":[3,1],"offset":0,"conj":false,"neg":false}}}      strides and offset in elements
LEAF  {"path":"","tensor":{"dtype":"bfloat16","shape":[..],"offset":BYTES_IN_MEMFD,"bytes":N}}, row-major without gaps, of a
      reference in float64 with "tolerances":{"rtol":R,"atol":A},
      or {"path":"[1]","value":VALUE}; items of outputs have the paths [0] and ["key"]

Launches run under torch.no_grad: nothing that a kernel keeps can grow a graph, and everything else is as in the loop
that the kernel was written for. torch.inference_mode would bypass the autograd dispatch and so time something else, and
it creates tensors that custom autograd functions reject.
"""

import ctypes
import faulthandler
import gc
import json
import mmap
import os
import platform
import resource
import signal
import stat
import sys
from time import perf_counter_ns

PROTOCOL = 2
PR_SET_PDEATHSIG = 1
DESCRIPTORS = ("PLIMSOLL_CHANNEL", "PLIMSOLL_OUTPUTS", "PLIMSOLL_VALUES", "PLIMSOLL_TURNS")


class Process:
    """Process-wide state: descriptors, the parent, and children that a kernel forks."""

    def __init__(self):
        parent = os.getppid()
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        # Ctrl-C reaches the whole process group, but the supervisor decides what ends, and when.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # As the virtual environment would set it: load_inline looks for ninja on the path.
        os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
        # Each mmap object holds a descriptor of its file.
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.pid = os.getpid()
        self.stray = mmap.mmap(-1, 1)
        self.rounds = []
        self.folder_of_one = os.environ.pop("PLIMSOLL_FOLDER_OF_ONE", None)
        self.channel, self.outputs, self.values, self.turns = (int(os.environ.pop(name, -1)) for name in DESCRIPTORS)
        for descriptor in (self.channel, self.outputs, self.values, self.turns):
            if descriptor >= 0:
                os.set_inheritable(descriptor, False)
        os.register_at_fork(after_in_child=self.forked)

    def forked(self):
        """Runs in a forked child: the channel is not its own, and a loop of launches ends with the current one."""
        self.rounds.clear()
        for descriptor in (self.channel, self.outputs, self.turns):
            try:
                os.close(descriptor)
            except OSError:
                pass

    def check(self):
        """Ends a forked child that returned from the kernel, and leaves a note of it."""
        if os.getpid() != self.pid:
            self.stray[0] = 1
            os._exit(0)

    def flush(self):
        """Flushes the kernel's output before its result is sent."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):
                pass

    def end(self, code):
        """Ends the process without the kernel's exit handlers, which could hang."""
        self.flush()
        os._exit(code)


class Channel:
    """The socket, as lines of JSON."""

    def __init__(self, process):
        self.process = process
        self.identity = self.fstat()
        # A forked child has closed the descriptor already, and its number may refer to another file.
        self.lines = open(process.channel, "rb", closefd=False)
        self.writer = open(process.channel, "wb", closefd=False)
        # A kernel may replace the method of the class.
        self.send = self.send

    def fstat(self):
        found = os.fstat(self.process.channel)
        return stat.S_IFMT(found.st_mode), found.st_dev, found.st_ino

    def messages(self):
        """The supervisor's messages, to the end of the stream."""
        for line in self.lines:
            yield json.loads(line)

    def send(self, type, /, *, encoded=json.dumps, **fields):
        """Sends a message. Without its channel the worker is useless: it reports that on standard error and exits."""
        self.process.check()
        text = encoded({"type": type, **fields}, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        try:
            # A kernel may have closed the descriptor, and another file may have its number.
            if self.fstat() != self.identity:
                raise OSError("its descriptor is another file now")
            self.writer.write(text.encode("utf-8", "replace") + b"\n")
            self.writer.flush()
        except OSError as error:
            try:
                os.write(2, f"plimsoll worker: the channel to the supervisor is lost: {error}\n".encode())
            except OSError:
                pass
            os._exit(70)


class Worker:
    """The kernel, and the requests about it."""

    def __init__(self, process, channel, messages, backend, stale, launch, sources, cuda=None, device=None, audit=None):
        self.process = process
        self.channel = channel
        self.messages = messages
        self.arena = backend.memory.Arena()
        self.backend, self.stale = backend, stale
        self.launch_function, self.sources = launch, sources
        self.kernel = self.first_launch
        self.outputs = backend.Outputs(process.outputs)
        if isinstance(launch, backend.Operator):
            self.outputs.tolerances = launch.tolerances
        self.audit, self.audited = audit, None
        self.values = audit and audit.Values(process.values)
        self.cuda, self.device = cuda, device
        self.timing = cuda.Timing(process, device) if device else backend.timing.Timing(process)

    def first_launch(self, *args):
        """The first launch, which may also load and build the kernel's parts."""
        self.kernel = self.launch_function
        self.sources.resume()
        try:
            return self.kernel(*args)
        finally:
            self.sources.end()

    def answer(self, message):
        """Handles a message."""
        kind = message["type"]
        if "call" in message and isinstance(self.launch_function, self.backend.Operator):
            self.launch_function.begin(message["call"])
        if kind == "launch":
            self.launch(message["id"], message["call"])
        elif kind == "profile":
            self.profile(message["id"], message["calls"], message["protocol"])
        elif kind == "next":
            pass
        elif kind in ("audit", "region", "settle"):
            self.audit_of(kind, message)
        elif kind == "release":
            self.release()
        elif kind == "bye":
            self.process.end(0)
        else:
            self.error(self.backend.Refusal("unsupported", f"a message of type {kind} is not in protocol {PROTOCOL}"))

    def error(self, error, **place):
        self.process.check()
        self.channel.send("error", **place, **self.backend.described(error))

    def launch(self, id, call):
        """One launch, whose outputs are copied to the memfd."""
        try:
            outcome = self.repeated(lambda: self.outcome(call))
        except BaseException as error:
            self.error(error, id=id)
        else:
            self.process.flush()
            self.channel.send("launched", id=id, **outcome)

    def audit_of(self, kind, message):
        """A step of an audit: a call is made resident, launched in a region, or restored to its captured values."""
        try:
            if kind == "audit":
                self.audited = None
                self.audited = self.audit.Audited(message["call"], self.backend, self.device)
                answer = "ready", {}
            elif kind == "region":
                answer = "region", self.audited.region(self, message, self.values)
            else:
                audited, self.audited = self.audited, None
                answer = "settled", {"mutated": audited.settle()}
        except BaseException as error:
            self.error(error, id=message["id"])
        else:
            self.process.flush()
            self.channel.send(answer[0], id=message["id"], **answer[1])

    def outcome(self, call, rooms=None):
        """The outcome of one launch, with arguments where those of the previous call were, or elsewhere in the rooms of
        a batch."""
        if self.device:
            shift = None if rooms is None else self.device.shift()
            inputs = self.cuda.Inputs(call, self.device, rooms, shift)
            output, elapsed, taken = self.cuda.launched(self.kernel, inputs, self.device)
            self.process.check()
            leaves, mutated = self.outputs.write(output), inputs.mutated()
            if mutated:
                inputs.drop()
            read = {"sources": self.sources.take()}
            return {"elapsed_ns": elapsed, "outputs": leaves, "mutated": mutated, "device": taken, **read}
        inputs = self.backend.Inputs(call, arena=self.arena)
        start = perf_counter_ns()
        output = self.kernel(*inputs.args)
        elapsed = perf_counter_ns() - start
        self.process.check()
        outputs, mutated = self.outputs.write(output), inputs.mutated()
        return {"elapsed_ns": elapsed, "outputs": outputs, "mutated": mutated, "sources": self.sources.take()}

    def elsewhere(self, call, rooms):
        """The inputs of a call at addresses that no launch has used; on a device in the same rooms, because there may
        be no others."""
        if self.device:
            return self.cuda.Inputs(call, self.device, rooms, self.device.shift())
        return self.backend.Inputs(call, self.backend.Maps(self.backend.memory.map_afar))

    def launched(self, inputs):
        """The output of one launch, once all of its work is done."""
        if self.device:
            # A kernel may read its arguments on its own stream, so writes to them must be complete.
            self.device.finish()
        try:
            output = self.kernel(*inputs.args)
            if self.device:
                self.device.finish()
        finally:
            self.process.check()
        return output

    def profile(self, id, calls, protocol):
        """Makes all calls resident, times each one, and then launches it a few more times: at the same addresses with
        altered values, and at others."""
        if protocol["name"] not in self.backend.timing.PROTOCOLS:
            raise self.backend.Refusal("unsupported", f"there is no timing protocol {protocol['name']}")
        batch, maps, rooms = [], self.backend.Maps(), {}
        if self.device:
            self.device.release()

        def resident(call):
            return self.cuda.Inputs(call, self.device, rooms) if self.device else self.backend.Inputs(call, maps)

        for call in calls:
            try:
                batch.append(resident(call))
            except BaseException as error:
                batch.append(error)
        for index, inputs in enumerate(batch):
            try:
                if isinstance(inputs, BaseException):
                    raise inputs
                samples, again = self.repeated(lambda: self.timed(calls[index], inputs, rooms, protocol))
            except BaseException as error:
                self.error(error, id=id, index=index)
                if self.backend.kind_of(error) == "device-fault":
                    # The supervisor ends this process, and gives the rest to another.
                    return
            else:
                self.process.flush()
                self.channel.send("timed", id=id, index=index, **samples, again=again)
                # The output stays in place until it is judged.
                next(self.messages)
        self.process.flush()
        self.channel.send("profiled", id=id)

    def repeated(self, run):
        """Runs something again if the device was late, which programs that share it may have been."""
        return self.cuda.repeated(run) if self.device else run()

    def timed(self, call, inputs, rooms, protocol):
        """The samples of a resident call, and the outcome of a launch of it elsewhere."""
        trial = self.stale.Trial(self.launched, self.outputs)
        trial.before(self.elsewhere(call, rooms))
        if self.device:
            # Storages that it shares with a previous call may have moved.
            inputs = self.cuda.Inputs(call, self.device, rooms)
        try:
            self.warm_up(inputs.args, protocol["warmup"])
            samples = self.timing.timed(self.kernel, inputs.args, protocol)
            mutated = inputs.mutated()
            trial.at_timed(inputs, mutated)
        finally:
            # Two maps of the same pages would count twice in resident memory.
            inputs.drop()
        trial.elsewhere(lambda: self.elsewhere(call, rooms))
        again = self.outcome(call, rooms)
        again["mutated"] = sorted({*again["mutated"], *mutated})
        return samples, again

    def warm_up(self, args, launches):
        """Runs the warm-up launches; a forked child that returned is ended after each."""
        for _ in range(launches):
            self.kernel(*args)
            self.process.check()
        if self.process.stray[0]:
            # In a timed loop each child would continue launching, and forking.
            raise self.backend.Refusal("exception", "the kernel forked, and its child came back: it cannot be timed")

    def release(self):
        """Frees the memory of the worker and of PyTorch's allocators. What the kernel itself keeps stays."""
        self.outputs.release()
        if self.device:
            self.device.release()
        gc.collect()
        if self.backend.torch.cuda.is_initialized():
            self.backend.torch.cuda.empty_cache()
        if hasattr(self.process.libc, "malloc_trim"):
            self.process.libc.malloc_trim(0)
        self.channel.send("released")


def main():
    process = Process()
    # The supervisor asks for the place where a kernel hangs before it ends it.
    faulthandler.register(signal.SIGQUIT, file=2, all_threads=True)
    channel = Channel(process)
    messages = channel.messages()
    hello = next(messages, None)
    if hello is None:
        process.end(0)
    # The 240,000 objects of torch live as long as the worker. To look for garbage among them takes a tenth of the
    # import, and at each release longer than many a launch.
    gc.disable()
    try:
        import plimsoll_audit as audit
        import plimsoll_locks as locks
        import plimsoll_sources
        import plimsoll_stale as stale
        import plimsoll_torch as backend
    except ImportError as error:
        text = f"torch is not installed in {sys.executable}: {error}; set --python or PLIMSOLL_PYTHON"
        channel.send("error", kind="unavailable", message=text, detail=None)
        process.end(1)
    gc.freeze()
    gc.enable()
    idle = backend.Outputs(process.outputs)
    cuda = device = None

    def on_device(message):
        """The device that a message names, and the modules for it."""
        import plimsoll_cuda as cuda
        import plimsoll_cuda_audit as audit

        return cuda, device or cuda.Device(message["device"], message.get("small_context", False)), audit

    try:
        while hello and hello.get("type") == "idle":
            if hello.get("device") is None:
                given = audit.idle(hello["launches"], hello["outputs"], idle, process)
            else:
                cuda, device, audit = on_device(hello)
                given = audit.idle(hello["launches"], hello["outputs"], idle, process, device)
            channel.send("region", id=hello["id"], **given)
            hello = next(messages, None)
        if hello is None:
            process.end(0)
        if hello.get("type") != "hello" or hello.get("protocol") != PROTOCOL:
            text = f"this worker speaks protocol {PROTOCOL}, and was greeted with {json.dumps(hello)[:200]}"
            raise backend.Refusal("unsupported", text)
        if hello.get("device") is not None:
            cuda, device, audit = on_device(hello)
        locks.install(process.folder_of_one, lambda: channel.send("waits"))
        sources = plimsoll_sources.Sources()
        sources.watch_builds()
        sources.begin(backend.kernel_file(hello["kernel"]))
        launch = backend.load_kernel(hello["kernel"], with_cuda=device is not None)
        sources.end()
    except BaseException as error:
        channel.send("error", **backend.described(error))
        process.end(1)
    versions = {"python": platform.python_version(), "torch": str(backend.torch.__version__)}
    channel.send("hello", protocol=PROTOCOL, worker="python", pid=process.pid, versions=versions, sources=sources.take())
    worker = Worker(process, channel, messages, backend, stale, launch, sources, cuda, device, audit)
    with backend.torch.no_grad():
        for message in messages:
            worker.answer(message)
    process.end(0)


if __name__ == "__main__":
    main()

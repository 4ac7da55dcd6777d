"""Finds the files that a kernel of the Python worker depends on besides its own: everything read while it loads,
builds, and first runs.

These are modules that it imports, files that it opens, libraries that it loads, and for a build by torch (`load`,
`load_inline`) its sources and the headers that the compiler read, which ninja lists. Files of Python, installed
packages, torch and the system are left out, because the record's environment has their versions; so are files that a
build or a cache writes, because they follow from the rest.

A library that the kernel's own code loads belongs to it even in a cache: nothing else shows which sources it was built
from, or whether it was built anew. If it is gone afterwards, as with a build in a temporary folder, the kernel builds it
each time: then the files that its commands name stand for it, and what these include.
"""

import builtins
import ctypes
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import io
import os
import re
import shlex
import stat
import subprocess
import sys
import sysconfig
import tempfile

# Folders of the system: their files belong to the machine, unless the kernel itself is there.
SYSTEM = ("/bin", "/dev", "/etc", "/lib", "/lib64", "/opt", "/proc", "/run", "/sbin", "/sys", "/usr", "/var/lib")
CACHES = ("CUDA_CACHE_PATH", "NUMBA_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "TRITON_CACHE_DIR",
          "XDG_CACHE_HOME")
INSTALLED = {"site-packages", "dist-packages"}
INCLUDE = re.compile(rb"""^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]""", re.MULTILINE)
# A source and its headers, all together; the text of one.
MOST_FILES, LONGEST = 1000, 4 << 20
PLAIN_OPEN = open
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Sources:
    """Records the files read between `begin` and `end`. Meanwhile Python's reading functions are replaced: a hook of
    `sys` would see the reads as well, but could not be removed, and would slow down whatever is timed later."""

    def __init__(self):
        self.read, self.made, self.built, self.reported = {}, set(), set(), set()
        # Libraries that the kernel's own code loaded, and the commands that it ran: folders and words.
        self.own, self.commands = set(), []
        self.file = self.folder = None
        self.replaced = []

    def begin(self, file):
        """Starts recording, for the kernel in this file."""
        self.file, self.folder = os.path.realpath(file), os.path.dirname(os.path.realpath(file))
        self.roots, self.torch = roots(), [os.path.dirname(torch.__file__)] if (torch := sys.modules.get("torch")) else []
        self.mapped = libraries()
        self.resume()

    def resume(self):
        """Continues recording."""
        files = importlib.machinery
        for owner, name, seen in (
            (builtins, "open", self.opened), (io, "open", self.opened), (os, "open", self.opened_by_flags),
            (os, "rename", self.renamed), (os, "replace", self.renamed),
            (files.SourceFileLoader, "get_data", lambda loader, path: self.note(path)),
            (files.ExtensionFileLoader, "exec_module", lambda loader, module: self.loaded(loader.path)),
            (ctypes, "_dlopen", lambda name, *_: self.loaded(name)),
            (subprocess.Popen, "__init__", self.started), (os, "system", lambda command: self.started(None, command)),
        ):
            watched = self.watched(getattr(owner, name), seen)
            self.replaced.append((owner, name, vars(owner).get(name), watched))
            setattr(owner, name, watched)

    def end(self):
        """Restores everything."""
        while self.replaced:
            owner, name, own, watched = self.replaced.pop()
            if vars(owner).get(name) is not watched:
                # The kernel has installed its own function there.
                continue
            if own is None:
                delattr(owner, name)
            else:
                setattr(owner, name, own)

    def watched(self, function, seen):
        @functools.wraps(function)
        def call(*args, **kwargs):
            if self.replaced:
                try:
                    seen(*args, **kwargs)
                except Exception:
                    # An invalid path is not a source; the call itself reports the error.
                    pass
            return function(*args, **kwargs)

        return call

    def opened(self, file, mode="r", *_, **__):
        if not isinstance(file, int):
            (self.write if any(letter in mode for letter in "wax+") else self.note)(file)

    def opened_by_flags(self, path, flags, *_, **__):
        (self.write if flags & WRITES else self.note)(path)

    def renamed(self, source, target, **_):
        self.write(target)

    def write(self, path):
        self.made.add(os.path.realpath(os.fsdecode(path)))

    def note(self, path):
        if path:
            self.read[os.path.abspath(os.fsdecode(path))] = None

    def loaded(self, path):
        self.note(path)
        # A name without a folder is looked for in the system's.
        if path and os.sep in os.fsdecode(path) and self.is_own(sys._getframe(2)):
            self.own.add(os.path.realpath(os.fsdecode(path)))

    def is_own(self, frame):
        """Whether the code at `frame`, beyond Python's and torch's, is the kernel's, and not an installed package's."""
        while frame is not None:
            name = frame.f_code.co_filename
            if not name.startswith("<") and name != includes.__code__.co_filename:
                file = os.path.realpath(name)
                if INSTALLED & set(file.split(os.sep)) and not below(file, self.torch):
                    return False
                if not below(file, self.roots):
                    return True
            frame = frame.f_back
        return False

    def started(self, _, args, *more, cwd=None, **__):
        words = [args] if isinstance(args, (str, bytes, os.PathLike)) else list(args)
        words = [os.fsdecode(word) for word in words]
        # A shell gets all of a command in one word.
        words += [part for word in words if " " in word for part in shlex.split(word)]
        self.commands.append((os.path.abspath(os.fsdecode(cwd or os.getcwd())), words))

    def note_commands(self):
        """Notes the files that commands named, and what these include."""
        for folder, words in self.commands:
            places = [os.path.join(folder, name) for name in included_folders(words)]
            rest = [os.path.normpath(os.path.join(folder, word)) for word in words]
            seen = set()
            while rest and len(seen) < MOST_FILES:
                path = rest.pop()
                if path in seen or not self.source(path) or is_built(path):
                    continue
                seen.add(path)
                self.note(path)
                for name in includes(path):
                    rest += [os.path.normpath(os.path.join(place, name)) for place in (os.path.dirname(path), *places)]

    def take(self):
        """Returns the files that were read, each once over all calls, in order."""
        # A library loads those that it needs without asking Python.
        mapped = libraries()
        if not all(map(os.path.exists, self.own)):
            self.note_commands()
        self.commands.clear()
        found = {self.source(path) for path in {*self.read, *(mapped - self.mapped)}} - self.reported - {None}
        self.mapped |= mapped
        self.read.clear()
        self.reported |= found
        return sorted(found)

    def source(self, path):
        """The file behind a path, if the kernel depends on it."""
        if path.endswith(".pyc"):
            try:
                path = importlib.util.source_from_cache(path)
            except ValueError:
                pass
        path = os.path.realpath(path)
        if path == self.file or path in self.made or below(path, self.built):
            return None
        if below(path, self.roots) and path not in self.own:
            return None
        if INSTALLED & set(path.split(os.sep)) or "__pycache__" in path:
            return None
        if below(path, SYSTEM) and not below(path, [self.folder]):
            return None
        try:
            return path if stat.S_ISREG(os.stat(path).st_mode) else None
        except OSError:
            return None

    def watch_builds(self):
        """Makes torch's builds report their sources, from when something imports the module that builds."""
        sys.meta_path.insert(0, WhenImported("torch.utils.cpp_extension", self.watch_builds_of))

    def watch_builds_of(self, extension):
        build, signature = extension._jit_compile, inspect.signature(extension._jit_compile)

        def watched(*args, **kwargs):
            module = build(*args, **kwargs)
            if self.replaced:
                try:
                    given = signature.bind(*args, **kwargs).arguments
                    self.take_build(given.get("build_directory"), given.get("sources"))
                except Exception:
                    # For a torch that builds differently, only the kernel's own files are known.
                    pass
            return module

        extension._jit_compile = watched

    def take_build(self, folder, sources):
        if not folder:
            return
        self.built.add(os.path.realpath(folder))
        for source in [sources] if isinstance(sources, str) else sources or ():
            self.note(source)
        try:
            listed = subprocess.run(["ninja", "-t", "deps"], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        except OSError:
            return
        for line in listed.stdout.splitlines():
            if line.startswith("    "):
                self.read[os.path.normpath(os.path.join(folder, line.strip()))] = None


class WhenImported(importlib.abc.MetaPathFinder):
    """Calls `then` with a module when that has been imported. Most kernels never import the one that builds, and it brings
    setuptools along."""

    def __init__(self, name, then):
        self.name, self.then = name, then

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None:
            load = spec.loader.exec_module

            def loaded(module):
                load(module)
                self.then(module)

            spec.loader.exec_module = loaded
        return spec


def included_folders(words):
    """The folders in which a compiler looks for headers, by its command."""
    for word, after in zip(words, [*words[1:], ""]):
        for flag in ("-I", "-iquote", "-isystem", "--include-path="):
            if word.startswith(flag):
                yield word[len(flag):] or after


def includes(path):
    """The names that the text of a source includes."""
    with PLAIN_OPEN(path, "rb") as file:
        return [os.fsdecode(name) for name in INCLUDE.findall(file.read(LONGEST))]


def is_built(path):
    with PLAIN_OPEN(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def libraries():
    """The files whose code this process has mapped."""
    try:
        with PLAIN_OPEN("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            parts = (line.rstrip("\n").split(None, 5) for line in maps)
            return {part[5] for part in parts if len(part) == 6 and "x" in part[1] and part[5].startswith("/")}
    except OSError:
        return set()


def roots():
    """The folders of Python, torch and caches."""
    torch = sys.modules.get("torch")
    paths = sysconfig.get_paths()
    named = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib", "include", "platinclude", "scripts")]
    named += [os.path.dirname(torch.__file__)] if torch else []
    named += [os.environ[name] for name in (*CACHES, "CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    home = os.path.expanduser("~")
    named += [os.path.join(home, name) for name in (".cache", ".config", ".local", ".nv", ".triton")]
    try:
        user = __import__("getpass").getuser()
        named.append(os.path.join(tempfile.gettempdir(), f"torchinductor_{user}"))
    except Exception:
        pass
    return {os.path.realpath(name) for name in named}


def below(path, folders):
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)

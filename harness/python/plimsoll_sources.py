"""What a kernel of the Python worker is made of beside its own file: what is read while it loads, builds, and is launched first.

Modules that it imports, files that it opens, libraries that it loads, and for a build by torch (`load`, `load_inline`) its sources
and the headers that the compiler has read, which ninja keeps. What Python, its installed packages, torch and the system have is left
out, for the environment of the record has their versions; so is what a build or a cache makes, for it follows from the rest.
"""

import importlib.util
import inspect
import os
import stat
import subprocess
import sys
import sysconfig
import tempfile

# Folders of the system: what lies there belongs to the machine, unless the kernel lies there itself.
SYSTEM = ("/bin", "/dev", "/etc", "/lib", "/lib64", "/opt", "/proc", "/run", "/sbin", "/sys", "/usr", "/var/lib")
CACHES = ("CUDA_CACHE_PATH", "NUMBA_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "TRITON_CACHE_DIR",
          "XDG_CACHE_HOME")
INSTALLED = {"site-packages", "dist-packages"}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Sources:
    """What is read between `begin` and `end`. A hook of Python's cannot be removed: outside of the two it does nothing."""

    def __init__(self):
        self.on = False
        self.read, self.made, self.built, self.told = {}, set(), set(), set()
        self.file = self.folder = None
        sys.addaudithook(self.hook)

    def hook(self, event, arguments):
        if not self.on:
            return
        try:
            if event == "open":
                self.opened(*arguments)
            elif event == "import" and arguments[1]:
                self.note(arguments[1])
            elif event == "ctypes.dlopen" and arguments[0]:
                self.note(arguments[0])
            elif event == "os.rename":
                self.made.add(os.path.realpath(arguments[1]))
        except Exception:
            # What is no path that could be read is no source; the kernel's own call says what is wrong with it.
            pass

    def opened(self, path, mode, flags):
        if isinstance(path, int):
            return
        if isinstance(flags, int) and flags & WRITES or isinstance(mode, str) and any(letter in mode for letter in "wax+"):
            self.made.add(os.path.realpath(os.fsdecode(path)))
        else:
            self.note(path)

    def note(self, path):
        self.read[os.path.abspath(os.fsdecode(path))] = None

    def begin(self, file):
        """Begins to take note, for a kernel whose own file this is."""
        self.file, self.folder = os.path.realpath(file), os.path.dirname(os.path.realpath(file))
        self.roots = roots()
        self.on = True

    def end(self):
        self.on = False

    def take(self):
        """The files that were read, each told once, in order."""
        found = {self.source(path) for path in self.read} - self.told - {None}
        self.read.clear()
        self.told |= found
        return sorted(found)

    def source(self, path):
        """The file behind a path, if the kernel is made of it."""
        if path.endswith(".pyc"):
            try:
                path = importlib.util.source_from_cache(path)
            except ValueError:
                pass
        path = os.path.realpath(path)
        if path == self.file or path in self.made or below(path, self.roots) or below(path, self.built):
            return None
        if INSTALLED & set(path.split(os.sep)) or "__pycache__" in path:
            return None
        if below(path, SYSTEM) and not below(path, [self.folder]):
            return None
        try:
            return path if stat.S_ISREG(os.stat(path).st_mode) else None
        except OSError:
            return None

    def watch_builds(self, extension):
        """Has torch's builds tell what they are made of; `extension` is torch.utils.cpp_extension."""
        build, signature = extension._jit_compile, inspect.signature(extension._jit_compile)

        def watched(*args, **kwargs):
            module = build(*args, **kwargs)
            if self.on:
                try:
                    given = signature.bind(*args, **kwargs).arguments
                    self.take_build(given.get("build_directory"), given.get("sources"))
                except Exception:
                    # Of a torch that builds in another way the kernel's own files are known.
                    pass
            return module

        extension._jit_compile = watched

    def take_build(self, folder, sources):
        if not folder:
            return
        self.built.add(os.path.realpath(folder))
        for source in [sources] if isinstance(sources, str) else sources or ():
            self.note(source)
        on, self.on = self.on, False
        try:
            listed = subprocess.run(["ninja", "-t", "deps"], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        except OSError:
            return
        finally:
            self.on = on
        for line in listed.stdout.splitlines():
            if line.startswith("    "):
                self.read[os.path.normpath(os.path.join(folder, line.strip()))] = None


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

"""What the symptom tests share: a home of their own, sessions, bounded commands, TAP.

A group is a file of functions marked with @test("what must hold [where it was reported]");
its last line is kit.main(). It is run once as root and once as an ordinary user:

    symptoms-GROUP.py root|user SBX [WORD-OF-A-TITLE...]

SBX_TEST_SCALE   multiplies every time bound (default 1)
SBX_TEST_ROUNDS  multiplies how often pure repetition is done (default 1; emulation: less)
SBX_TEST_REQUIRE a test that is skipped fails, unless the machine cannot have it (Lacks)
"""
import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from frame import (IS_ROOT, SCALE, USER, Lacks, Skip, Wrong, report,  # noqa: E402
                   run_one, say)

ROUNDS = float(os.environ.get("SBX_TEST_ROUNDS", "1"))
MIB = 1024 * 1024
# Not the one that runs this: it may be where an ordinary user cannot go.
PYTHON = next(filter(os.path.exists, ("/usr/bin/python3", "/bin/python3")), "python3")
PASSED_ON = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "SBX_TEST_SCALE")


def check(holds, text, *seen):
    if not holds:
        raise Wrong(" ".join([text, *(repr(s)[:1500] for s in seen)]))


def eq(got, want, what="it"):
    if got != want:
        raise Wrong(f"{what}: got {got!r:.1500}, want {want!r:.1500}")


def within(seconds, limit, what="it"):
    check(seconds <= limit * SCALE, f"{what} took {seconds:.2f} s, more than {limit} s")


def until(condition, seconds=5, pause=0.02):
    """Waits for a condition; returns its last value."""
    end = time.monotonic() + seconds * SCALE
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(pause)


def rounds(times):
    """How often a test repeats itself that is nothing but repetition."""
    return max(2, round(times * ROUNDS))


class Done:
    """A command that has ended."""

    def __init__(self, argv, code, out, err, seconds):
        self.argv, self.code, self.raw, self.seconds = argv, code, out, seconds
        self.out = (out or b"").decode(errors="replace")
        self.err = (err or b"").decode(errors="replace")

    def __repr__(self):
        return f"<{' '.join(map(str, self.argv))[-300:]}: exit {self.code}, {self.out!r:.600}, {self.err!r:.600}>"

    @property
    def json(self):
        try:
            return json.loads(self.raw)
        except ValueError:
            raise Wrong(f"no JSON: {self!r}") from None

    def refused(self, code, *words):
        """One line on stderr that has all words, nothing on stdout, that exit code."""
        check(self.code == code, f"exit code is not {code}:", self)
        check(self.err.count("\n") == 1 and self.err.endswith("\n") and not self.out,
              "not one line:", self)
        for word in words:
            check(word in self.err, f"'{word}' is not said:", self)
        return self


class Running:
    """A command that still runs; killed at the latest with its test."""

    def __init__(self, kit, argv, **more):
        self.argv, self.began = argv, time.monotonic()
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        stdin=more.pop("stdin", subprocess.DEVNULL),
                                        env=kit.environment(), cwd=kit.scratch, **kit.who(), **more)
        self.pid = self.process.pid

    def wait(self, seconds=30):
        try:
            out, err = self.process.communicate(timeout=seconds * SCALE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Wrong(f"it hung: {' '.join(self.argv)[-300:]}") from None
        return Done(self.argv, self.process.returncode, out, err, time.monotonic() - self.began)

    def tell(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, code, seconds=10):
        """Of an asker: a line of code; its output up to its exit code."""
        out = b""
        self.tell(code)
        os.set_blocking(self.process.stdout.fileno(), False)
        end = time.monotonic() + seconds * SCALE
        while not re.search(rb"(^|\n)= \d+\n$", out):
            rest = end - time.monotonic()
            if rest <= 0 or not select.select([self.process.stdout], [], [], rest)[0]:
                raise Wrong(f"no answer to {code!r}: {out!r}")
            got = os.read(self.process.stdout.fileno(), 1 << 16)
            if not got:
                raise Wrong(f"it ended: {self.process.stderr.read()!r}")
            out += got
        text, _, number = out.decode(errors="replace").rstrip("\n").rpartition("= ")
        return text, int(number)

    def kill(self, number=signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    def close(self):
        self.kill()
        self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr, self.process.stdin):
            if pipe:
                pipe.close()


class Session:
    def __init__(self, kit, options):
        self.kit = kit
        made = kit.sbx("create", "-q", *options)
        eq(made.code, 0, f"create: {made!r}")
        self.id = made.out.strip()
        self.path = f"{kit.home}/sessions/{self.id}"
        self.up = f"{self.path}/fs/up"
        kit.sessions.append(self)
        kit.ids.add(self.id)

    def sbx(self, command, *words, **how):
        return self.kit.sbx(command, self.id, *words, **how)

    def exec(self, *words, **how):
        """In human form; words as on the command line."""
        return self.sbx("exec", *words, **how)

    def start(self, *words, **how):
        return self.kit.start("exec", self.id, *words, **how)

    def run(self, *argv, options=(), **how):
        """A command; its result."""
        return self.exec("--json", *options, "--", *argv, **how).json

    def sh(self, script, *words, options=(), **how):
        return self.run("sh", "-c", script, "sh", *words, options=options, **how)

    def cell(self, code, *options, **how):
        """Code in the kept interpreter; its result."""
        return self.exec("--json", *options, "-c", code, **how).json

    def show(self):
        return self.sbx("show", "--json").json

    def events(self, *types):
        """The journal, or what it has of these types."""
        done = self.sbx("events", "--format", "json")
        lines = [json.loads(line) for line in done.out.splitlines()[1:]]
        return [e for e in lines if not types or e["type"] in types]

    def record(self, exec_id):
        with open(f"{self.path}/exec/{exec_id}/record.json", encoding="utf-8") as f:
            return json.load(f)

    def records(self):
        names = os.listdir(f"{self.path}/exec")
        return [self.record(n) for n in names if os.path.exists(f"{self.path}/exec/{n}/record.json")]

    def processes(self):
        """{pid: title} of its supervisor, init and all below them."""
        found, parents = {}, {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError, ValueError, IndexError):
                title = read(f"/proc/{pid}/cmdline").replace("\0", " ").strip()
                parents[int(pid)] = int(read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[1])
                found[int(pid)] = title
        ours = {p for p, title in found.items() if title.startswith("sbx: ") and self.id in title}
        grown = True
        while grown:
            more = {p for p, parent in parents.items() if parent in ours} - ours
            ours |= more
            grown = bool(more)
        # One without words has given its memory back already: it runs nothing any more.
        return {p: found[p] for p in ours if found[p]}

    def asleep(self, seconds):
        """Waits until it is dormant."""
        check(until(lambda: self.show()["status"] != "live", seconds), "it is still live")
        eq(self.show()["status"], "dormant", "status")

    def alive(self):
        done = self.exec("--", "echo", "alive")
        check((done.code, done.out) == (0, "alive\n"), "the session does not answer:", done)

    def remove(self):
        return self.sbx("rm", "-f")


class Kit:
    def __init__(self, mode, program):
        self.is_root = mode == "root"
        self.dir = tempfile.mkdtemp(prefix="sbx-symptoms.")
        os.chmod(self.dir, 0o755)
        self.program = f"{self.dir}/sbx"
        # Where the program is static, what needs a library is in the one beside it.
        for end in ("", "-full"):
            if os.path.exists(program + end):
                shutil.copyfile(program + end, self.program + end)
                os.chmod(self.program + end, 0o755)
        self.home, self.scratch = f"{self.dir}/home", f"{self.dir}/scratch"
        for path in (self.home, self.scratch):
            os.mkdir(path, 0o700)
            self.give(path)
        self.sessions, self.running, self._plain, self.ids = [], [], None, set()

    def who(self):
        if IS_ROOT and not self.is_root:
            return {"user": USER, "group": USER, "extra_groups": []}
        return {}

    def give(self, path):
        if self.who():
            os.chown(path, USER, USER)

    def has_sanitizer(self):
        with open(self.program, "rb") as f:
            return b"__asan_init" in f.read()

    def environment(self):
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.scratch,
               "LC_ALL": "C.UTF-8", "TMPDIR": self.scratch, "SBX_HOME": self.home}
        env.update((n, os.environ[n]) for n in PASSED_ON if n in os.environ)
        return env

    def command(self, argv, seconds=30, input=None, stdin=subprocess.DEVNULL, **more):
        began = time.monotonic()
        feed = {"stdin": stdin} if input is None else {"input": input}
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": self.environment(),
               "cwd": self.scratch, **self.who(), **more}
        try:
            done = subprocess.run(argv, timeout=seconds * SCALE, check=False, **feed, **how)
        except subprocess.TimeoutExpired as e:
            raise Wrong(f"it hung: {' '.join(argv)[-300:]}: {e.stdout!r:.300} {e.stderr!r:.300}") from None
        return Done(argv, done.returncode, done.stdout, done.stderr, time.monotonic() - began)

    def sbx(self, *words, **how):
        return self.command([self.program, *words], **how)

    def start(self, *words, **how):
        process = Running(self, [self.program, *words], **how)
        self.running.append(process)
        return process

    def session(self, *options, runtime="shell"):
        return Session(self, ["--runtime", runtime, *options])

    def asker(self, session):
        """A client that keeps one connection: Running.ask."""
        program = f"{self.dir}/asks"
        if not os.path.exists(program):
            shutil.copyfile(os.environ["SBX_ASKS"], program)
            os.chmod(program, 0o755)
        process = Running(self, [program, session.id], stdin=subprocess.PIPE)
        self.running.append(process)
        return process

    def plain(self):
        """A Python session that several tests of a group share; none of them harms it."""
        if not self._plain:
            self._plain = self.session(runtime="python")
        return self._plain

    def write(self, name, content, mode=0o644):
        """A file outside, of the caller's; its path."""
        path = f"{self.scratch}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(path, mode)
        self.give(path)
        return path

    def stored(self, *folders):
        """Names that the home directory still has."""
        return [f"{d}/{n}" for d in folders or ("sessions", "names", "trash")
                if os.path.isdir(f"{self.home}/{d}") for n in sorted(os.listdir(f"{self.home}/{d}"))]

    def forget(self):
        """After each test: what it made goes."""
        for process in self.running:
            process.close()
        self.running = []
        for s in self.sessions:
            if s is not self._plain:
                s.remove()
        self.sessions = [s for s in self.sessions if s is self._plain]

    def traces(self):
        """What sessions of ours have on this machine, by kind."""
        # An empty mark would be one of every process there is.
        marks = [self.dir, *filter(None, self.ids)]
        processes = {pid: words for pid, words, program in processes_of_all()
                     if any(m in words or m in program for m in marks) and pid != os.getpid()}
        names = {"sbx-" + i for i in self.ids}
        groups = [f"{top}/{d}" for top, dirs, _ in os.walk("/sys/fs/cgroup") for d in dirs if d in names]
        mounts = [m for m in read("/proc/self/mountinfo").splitlines() if any(x in m for x in marks)]
        found = {"processes": processes, "groups": groups, "mounts": mounts, "stored": self.stored()}
        return {kind: what for kind, what in found.items() if what}

    def close(self):
        """Removes everything; what was left although every session was removed, by kind."""
        self._plain = None
        self.forget()
        until(lambda: not self.traces())
        left = self.traces()
        for pid in left.get("processes", ()):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.dir, ignore_errors=True)
        return left


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def processes_of_all():
    """(pid, words, program) of every process."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            yield int(pid), read(f"/proc/{pid}/cmdline").replace("\0", " "), os.readlink(f"/proc/{pid}/exe")


# --- the frame ----------------------------------------------------------------------------------

_tests = []


def test(title, modes=("root", "user")):
    def add(function):
        _tests.append((title, modes, function))
        return function
    return add


def main():
    mode, program, words = sys.argv[1], sys.argv[2], sys.argv[3:]
    if mode == "root" and not IS_ROOT:
        print("1..0 # SKIP not run as root")
        return 0
    tests = [(t, f) for t, modes, f in _tests
             if mode in modes and (not words or any(w in t for w in words))]
    print(f"TAP version 13\n1..{len(tests) + 1}", flush=True)
    kit = Kit(mode, program)
    failed = 0
    try:
        for number, (title, function) in enumerate(tests, 1):
            state, reason = run_one(kit, function)
            failed += state == "not ok"
            report(number, state, f"{title} ({mode})", reason)
    finally:
        left = kit.close()
    report(len(tests) + 1, "not ok" if left else "ok", f"nothing is left of these tests ({mode})", left)
    return 1 if failed or left else 0

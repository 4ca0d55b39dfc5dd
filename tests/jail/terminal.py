"""A terminal for a test: the outer side of a pty, with the program under test on the inner one."""
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import kit


def _take_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Terminal:
    """Runs argv on a terminal of its own, as leader of its session."""

    def __init__(self, k, argv, rows=30, columns=100, **environment):
        self.argv, self.seen, self.at = argv, b"", 0
        self.master, self.slave = pty.openpty()
        os.set_blocking(self.master, False)
        self.resize(rows, columns)
        self.before = self.modes()
        if k.who():
            os.fchown(self.slave, kit.USER, kit.USER)
        self.process = subprocess.Popen(argv, stdin=self.slave, stdout=self.slave, stderr=self.slave,
                                        env={**k.environment(), "TERM": "xterm", **environment}, cwd=k.scratch,
                                        start_new_session=True, preexec_fn=_take_terminal, **k.who())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def modes(self):
        """Without the bits that only say how much was typed ahead."""
        found = termios.tcgetattr(self.slave)
        found[3] &= ~termios.PENDIN
        return found

    def is_raw(self):
        return not self.modes()[3] & termios.ICANON

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds=0.05):
        """Takes what is there; False: nothing came in that time."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            got = os.read(self.master, 65536)
        except OSError:
            return False
        self.seen += got
        return bool(got)

    def type(self, data, seconds=20):
        """Types all of it, reading meanwhile, as a person's terminal does."""
        end = time.monotonic() + seconds * kit.SCALE
        data = data if isinstance(data, bytes) else data.encode()
        while data:
            kit.check(time.monotonic() < end, f"it does not take what is typed; {len(data)} bytes left:", self.seen[-300:])
            readable, writable, _ = select.select([self.master], [self.master], [], 0.2)
            if readable:
                self.read(0)
            if writable:
                with contextlib.suppress(BlockingIOError):
                    data = data[os.write(self.master, data[:4096]):]

    def see(self, pattern, seconds=10):
        """Waits for a pattern in what was not looked at yet; its match."""
        end = time.monotonic() + seconds * kit.SCALE
        while True:
            found = re.search(pattern.encode(), self.seen[self.at:])
            if found:
                self.at += found.end()
                return found
            left = time.monotonic() < end
            self.read()
            kit.check(left, f"'{pattern}' does not come:", self.seen[self.at:][-600:])

    def kill(self, number):
        self.process.send_signal(number)

    def wait(self, seconds=10):
        """The exit code of the program, once it has ended by itself."""
        end = time.monotonic() + seconds * kit.SCALE
        while self.process.poll() is None:
            self.read()
            kit.check(time.monotonic() < end, "it does not end:", self.argv, self.seen[-600:])
        while self.read(0):
            pass
        return self.process.returncode

    def restored(self, what):
        kit.eq(self.modes(), self.before, f"modes of the terminal after {what}")


def state_of(pid):
    """Its letter in ps; "" when it is gone."""
    try:
        return kit.read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""



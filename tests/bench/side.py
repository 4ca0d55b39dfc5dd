"""What a row of the bench is made of: sides that are asked in turn, and their medians.

A side is a process that answers each line of its stdin with one number [ns]: bench-timed for
commands, bench-calls for system calls, bench-asks for requests, kernel.py for Jupyter. Only
what runs in turn on the same machine can be compared, so a row is a loop over its sides.
"""
import os
import statistics
import subprocess
import tempfile
import time


class Unable(Exception):
    """A side cannot run here; the text says why."""


class Side:
    def __init__(self, argv):
        self.stderr = tempfile.TemporaryFile()
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.stderr, text=True, bufsize=1)

    def why(self):
        self.stderr.seek(0)
        lines = self.stderr.read().decode(errors='replace').strip().split('\n')
        return lines[-1][:120]

    def line(self):
        """What it says without being asked."""
        text = self.process.stdout.readline().strip()
        if not text:
            raise Unable(self.why() or 'it ended')
        return text

    def sample(self):
        try:
            self.process.stdin.write('\n')
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Unable(self.why() or 'it ended') from None
        text = self.line()
        if not text.isdigit():
            raise Unable(self.why() or text)
        return int(text)

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.stderr.close()


def measure(sides, rounds, warm=3, idle_ms=0):
    """Samples of each side, [ns]; A B A B …"""
    taken = [[] for _ in sides]
    for i in range(warm + rounds):
        for side, values in zip(sides, taken):
            if idle_ms:
                time.sleep(idle_ms / 1000)
            ns = side.sample()
            if i >= warm:
                values.append(ns)
    return taken


def median(values):
    return statistics.median(values)


def spread(peer, ours):
    """p10 and p90 of the ratios of pairs."""
    ratios = sorted(b / a for a, b in zip(peer, ours))
    last = len(ratios) - 1
    return ratios[round(0.1 * last)], ratios[round(0.9 * last)]


# --- processes and their memory ---------------------------------------------------------

def parents():
    ret = {}
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                with open(f'/proc/{name}/stat', errors='replace') as f:
                    ret[int(name)] = int(f.read().rpartition(')')[2].split()[1])
            except (OSError, ValueError, IndexError):
                pass
    return ret


def tree(root):
    """The process and all below it."""
    by_pid = parents()
    found = [root]
    for pid in found:
        found += [p for p, parent in by_pid.items() if parent == pid]
    return found


def command_line(pid):
    try:
        with open(f'/proc/{pid}/cmdline', 'rb') as f:
            return f.read().replace(b'\0', b' ').decode(errors='replace')
    except OSError:
        return ''


def memory(pid, *fields):
    """Sum of these fields of smaps_rollup, [kB]; 0 when it is gone."""
    total = 0
    try:
        with open(f'/proc/{pid}/smaps_rollup') as f:
            for line in f:
                if line.split(':')[0] in fields:
                    total += int(line.split()[1])
    except OSError:
        pass
    return total


def pss_kb(pids):
    return sum(memory(pid, 'Pss') for pid in pids)

"""Runs the jail's tests on Debian's cloud kernel and pure cgroup v2, in an emulated machine.

    vm.py BUILD [WORD-OF-A-STEP...]

image.py says what the machine is made of, guest.py is its first process, plan.py what is run in it.
Emulated, because the machine that builds may itself be a virtual one; no root is needed. The last
line is "N passed, N failed, N skipped", as of tests/check.sh; a test that ended without its result,
a step that hung, and a machine that stopped are failures.

SBX_VM_SECONDS    when the machine is ended, whatever it does (default 1800)
SBX_TEST_REQUIRE  as in tests/jail/kit.py
"""
import glob
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time

import image
import plan

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = float(os.environ.get("SBX_VM_SECONDS", "1800"))
STEP_SECONDS = 400
DISK_BYTES = 3 << 30
PROGRAMS = ("tests/jail/test-jail", "tests/jail/test-files", "tests/jail/test-refusals", "tests/unit/test-cgroup")


def make_disk(folder, build, steps, modules):
    tree = image.Tree(f"{folder}/tree")
    image.add_system(tree)
    image.add_modules(tree, modules)
    tree.put(f"{HERE}/guest.py", "init")
    for part in ("jail", "abuse", "vm"):
        for path in glob.glob(f"{HERE}/../{part}/*.py"):
            tree.put(path, f"{part}/{os.path.basename(path)}")
    for name in ("sbx", "sbx-full"):
        if os.path.exists(f"{build}/cmd/{name}"):
            tree.put(f"{build}/cmd/{name}", name)
    tree.put(f"{build}/tests/abuse/inside", "inside")
    for path in PROGRAMS:
        tree.put(f"{build}/{path}", os.path.basename(path))
    environment = {"SBX_TEST_SCALE": plan.SCALE, "SBX_TEST_ROUNDS": plan.ROUNDS}
    environment.update((n, os.environ[n]) for n in ("SBX_TEST_REQUIRE",) if n in os.environ)
    full = [{"seconds": STEP_SECONDS, "user": 0, "environment": environment, **s} for s in steps]
    with open(f"{tree.top}/vm/plan.json", "w", encoding="utf-8") as f:
        json.dump(full, f)
    image.make_disk(tree, f"{folder}/disk", DISK_BYTES)


def start(folder, kernel):
    """Two serial lines: the kernel's messages, and the results."""
    command = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "3G",
               "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-kernel", kernel,
               "-append", "console=ttyS0 root=/dev/nvme0n1 rw init=/vm/init panic=-1 quiet mitigations=off",
               "-drive", f"file={folder}/disk,format=raw,if=none,id=disk,cache=unsafe",
               "-device", "nvme,drive=disk,serial=sbx"]
    for name in ("console", "results"):
        command += ["-chardev", f"file,id={name},path={folder}/{name}", "-serial", f"chardev:{name}"]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL)


class Results:
    """What the guest writes, line by line."""

    def __init__(self):
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.lines, self.step, self.done, self.seen = [], None, False, []

    def count(self, kind, text=""):
        self.counts[kind] += 1
        if kind != "passed":
            print(kind.upper(), f"{self.step}: {text}", flush=True)

    def take(self, line):
        word, _, rest = line.partition(" ")
        if word == "@begin":
            self.step, self.lines = rest, []
        elif word == "@end":
            code, seconds = rest.rsplit(" ", 2)[1:]
            self.judge(code, float(seconds))
            self.step = None
        elif word == "@done":
            self.done = True
        elif word == "@broken":
            self.count("failed", rest)
        elif word.startswith("@"):
            print(line[1:], flush=True)
        else:
            self.lines.append(line)

    def judge(self, code, seconds):
        before = dict(self.counts)
        wanted, told = None, 0
        for line in self.lines:
            planned = re.match(r"\s*1\.\.(\d+)(?: # SKIP (.*))?$", line)
            result = re.match(r"\s*(not )?ok\b( \d+)?( - )?(.*)$", line)
            if planned:
                wanted = int(planned[1])
                if planned[2]:
                    self.count("skipped", planned[2])
            elif result:
                told += 1
                skip = re.search(r"# SKIP ?(.*)$", line)
                self.count("failed" if result[1] else "skipped" if skip else "passed", result[4])
        if told != wanted:
            self.count("failed", f"{told} results instead of {wanted}")
        if code != "0" and self.counts["failed"] == before["failed"]:
            self.count("failed", f"it ended with {code}")
        bad = self.counts["failed"] - before["failed"]
        if bad:
            for line in self.lines[-120:]:
                if re.match(r"\s*not ok|# |.*Traceback|\S*:\d+:|.*(rror|==)", line):
                    print("   ", line[:800])
        print(f"{self.step}: {self.counts['passed'] - before['passed']} passed, {bad} failed, "
              f"{self.counts['skipped'] - before['skipped']} skipped, {seconds:.0f} s", flush=True)
        self.seen.append(self.step)


def watch(machine, folder, results):
    """Reads what comes until the machine ends, or its time is over."""
    end = time.monotonic() + SECONDS
    rest = ""
    with open(f"{folder}/results", encoding="utf-8", errors="replace") as f:
        while True:
            ended = machine.poll() is not None
            text = rest + f.read()
            *lines, rest = text.split("\n")
            for line in lines:
                results.take(line.rstrip("\r"))
            if ended:
                return
            if time.monotonic() > end:
                results.count("failed", f"the machine was ended after {SECONDS:.0f} s")
                machine.kill()
            time.sleep(0.2)


def run(folder, steps):
    results = Results()
    for name in ("console", "results"):
        with open(f"{folder}/{name}", "w", encoding="utf-8"):
            pass
    machine = start(folder, image.unpack_kernel(folder)[0])
    try:
        watch(machine, folder, results)
    finally:
        machine.kill()
        machine.wait()
    for step in steps:
        if step["name"] not in results.seen:
            results.step = step["name"]
            results.count("failed", "it has no result")
    if not results.done:
        results.step = "machine"
        results.count("failed", "it stopped before its end")
        with open(f"{folder}/console", encoding="utf-8", errors="replace") as f:
            print("".join("    " + line for line in f.readlines()[-30:]))
    return results.counts


def main():
    # Whoever ends this ends the machine: the exception gets to where it is killed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    build, words = os.path.abspath(sys.argv[1]), sys.argv[2:]
    if platform.machine() != "x86_64":
        print("SKIPPED the image is made of this machine's programs, and the kernel is of x86-64")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    folder = f"{build}/vm"
    os.makedirs(folder, exist_ok=True)
    steps = [s for s in plan.STEPS if not words or any(w in s["name"] for w in words)]
    began = time.monotonic()
    make_disk(folder, build, steps, image.unpack_kernel(folder)[1])
    print(f"the image took {time.monotonic() - began:.0f} s", flush=True)
    counts = run(folder, steps)
    os.unlink(f"{folder}/disk")
    print(f"the whole took {time.monotonic() - began:.0f} s")
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    raise SystemExit(main())

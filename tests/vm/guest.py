#!/usr/bin/python3 -B
"""The first process of the machine of `make check-vm`: mounts, makes control groups, runs tests.

Reads /vm/plan.json, a list of {"name", "place", "argv", "environment", "seconds"}, and writes to
the second serial line: "@begin NAME", what the test prints, "@end NAME CODE SECONDS"; "@done" last.
"""
import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import time
import traceback

USER = 4242  # as in tests/jail/kit.py
TOP = "/sys/fs/cgroup"
libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result:
        raise OSError(ctypes.get_errno(), what)


def mount(kind, target, flags=0, data=""):
    os.makedirs(target, exist_ok=True)
    if libc.mount(kind.encode(), target.encode(), kind.encode(), flags, data.encode()):
        number = ctypes.get_errno()
        if number != 16:  # EBUSY: it is mounted already
            raise OSError(number, f"mount {kind} at {target}: {os.strerror(number)}")


def load(module):
    try:
        fd = os.open(f"/vm/modules/{module}.ko", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    if libc.syscall(313, fd, b"", 0):
        print(f"{module}: {os.strerror(ctypes.get_errno())}", flush=True)
    os.close(fd)


def raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0x41))  # SIOCSIFFLAGS: up, running


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def group(path, hands_down="", owner=None):
    """A control group as systemd makes one: Delegate= gives its files away but not its limits."""
    path = f"{TOP}/{path}"
    os.makedirs(path, exist_ok=True)
    if hands_down:
        write(f"{path}/cgroup.subtree_control", " ".join("+" + c for c in hands_down.split()))
    if owner:
        for name in ("", "/cgroup.procs", "/cgroup.subtree_control", "/cgroup.threads"):
            os.chown(path + name, owner, owner)


def make_groups():
    every = "cpu memory pids"
    write(f"{TOP}/cgroup.subtree_control", "+cpu +memory +pids")
    # An ordinary user below a manager of his own: systemd-run --user --scope -p Delegate=yes
    group("user.slice", every)
    group(f"user.slice/user-{USER}.slice", every)
    service = f"user.slice/user-{USER}.slice/user@{USER}.service"
    group(service, every, USER)
    group(f"{service}/app.slice", every, USER)
    group(f"{service}/app.slice/run-1.scope", "", USER)
    # The same user on a terminal: nothing is delegated.
    group(f"user.slice/user-{USER}.slice/session-1.scope")
    # A service with Delegate=yes, and one with DelegateSubgroup= too: only below it is all of the user's.
    group("system.slice", every)
    group("system.slice/plain.service", "", USER)
    group("system.slice/shared.service", "", USER)
    group("system.slice/sub.service", "", USER)
    group("system.slice/sub.service/main", "", USER)
    # A scope with a limit of its own, which a session must not escape.
    group(f"{service}/app.slice/run-2.scope", "", USER)
    write(f"{TOP}/{service}/app.slice/run-2.scope/memory.max", str(1 << 30))
    # A container: its own group is the root of what it sees.
    group("box", "")
    # Root on a terminal: the slice hands down what systemd does by default.
    group("user.slice/user-0.slice", "memory pids")
    group("user.slice/user-0.slice/session-2.scope")


PLACES = {
    "top": "",
    "login": "user.slice/user-0.slice/session-2.scope",
    "scope": f"user.slice/user-{USER}.slice/user@{USER}.service/app.slice/run-1.scope",
    "bare": f"user.slice/user-{USER}.slice/session-1.scope",
    "service": "system.slice/shared.service",
    "sub": "system.slice/sub.service/main",
    "tight": f"user.slice/user-{USER}.slice/user@{USER}.service/app.slice/run-2.scope",
    "box": "box",
}


def reap_until(pid, end):
    """The status of a child; whatever else is given to the first process is reaped as well."""
    while time.monotonic() < end:
        try:
            found, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if found == pid:
            return os.waitstatus_to_exitcode(status)
        if not found:
            signal.sigtimedwait([signal.SIGCHLD], 0.5)
    return None


def run(step, out):
    place = f"{TOP}/{PLACES[step['place']]}/cgroup.procs"
    environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
                   "CMOCKA_MESSAGE_OUTPUT": "TAP", **step["environment"]}

    def enter():
        write(place, "0")
        if step["place"] == "box":
            check(libc.unshare(0x02020000), "unshare")  # CLONE_NEWCGROUP | CLONE_NEWNS
            check(libc.mount(b"none", b"/", None, 0x44000, None), "make private")  # MS_REC | MS_PRIVATE
            check(libc.umount(TOP.encode()), "umount")
            mount("cgroup2", TOP)
        if step["user"]:
            os.setgroups([])
            os.setgid(step["user"])
            os.setuid(step["user"])
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    began = time.monotonic()
    out.write(f"@begin {step['name']}\n".encode())
    p = subprocess.Popen(step["argv"], cwd="/vm", env=environment, stdin=subprocess.DEVNULL, stdout=out,
                         stderr=out, preexec_fn=enter, start_new_session=True)
    code = reap_until(p.pid, began + step["seconds"])
    if code is None:
        os.killpg(p.pid, signal.SIGKILL)
        reap_until(p.pid, time.monotonic() + 10)
        code = "hung"
    p.returncode = 0  # it was reaped here
    out.write(f"\n@end {step['name']} {code} {time.monotonic() - began:.1f}\n".encode())


def main():
    os.environ["PATH"] = "/usr/sbin:/usr/bin"
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    mount("proc", "/proc")
    mount("sysfs", "/sys")
    mount("devtmpfs", "/dev")
    mount("devpts", "/dev/pts", 0, "gid=5,mode=620,ptmxmode=666")
    mount("tmpfs", "/dev/shm", 0, "mode=1777")
    mount("tmpfs", "/run", 0, "mode=755")
    mount("cgroup2", TOP, 0, "nsdelegate,memory_recursiveprot")
    for name, to in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        if not os.path.lexists(f"/dev/{name}"):
            os.symlink(f"/proc/self/{to}", f"/dev/{name}")
    libc.sethostname(b"vm", 2)
    for module in ("overlay", "loop", "veth"):
        load(module)
    with open("/dev/ttyS1", "wb", buffering=0) as out:
        try:
            make_groups()
            raise_loopback()
            out.write(f"@kernel {os.uname().release}\n@controllers {read(TOP + '/cgroup.controllers')}".encode())
            for step in json.loads(read("/vm/plan.json")):
                run(step, out)
            out.write(b"@done\n")
        except BaseException as e:
            out.write(f"@broken {e!r}\n{traceback.format_exc()}".encode())
        ctypes.CDLL(None).tcdrain(out.fileno())
    os.sync()
    libc.reboot(0x4321FEDC)  # RB_POWER_OFF


if __name__ == "__main__":
    main()

"""Disks with a size of their own: a file system in a file (loop), and one in memory (tmpfs)."""
import contextlib
import glob
import os
import shutil
import signal
import subprocess

import kit
from kit import MIB, Lacks, check, eq, read, test, until


def kinds(k):
    """Those that this user can have."""
    if not k.is_root:
        return ["tmpfs"]
    if not os.path.exists("/dev/loop-control"):
        kit.say("no loop devices here")
        return ["tmpfs"]
    if not shutil.which("mke2fs", path="/usr/sbin:/sbin"):
        kit.say("no mke2fs here")
        return ["tmpfs"]
    return ["tmpfs", "loop"]


def need_loop(k):
    if "loop" not in kinds(k):
        raise Lacks("no loop devices, or not root")


def devices(k):
    """Loop devices that have a file of ours."""
    found = []
    for path in glob.glob("/sys/block/loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            if k.dir in read(path):
                found.append(path)
    return found


def warned(result, kind):
    return [w["message"] for w in result["warnings"] if w["kind"] == kind]


def supervisor(s):
    return [pid for pid, title in s.processes().items() if title.rstrip().endswith("supervisor")][0]


def make_dirty(s):
    """Its image as a power failure leaves it."""
    with open(f"{s.path}/disk.img", "r+b") as f:
        f.seek(1024 + 58)
        f.write(b"\0\0")


def released(k):
    check(until(lambda: not devices(k), 10), "still attached:", devices(k))


@test("a full disk is told to the program that fills it, and the figures are true [n8n-sandbox-service#45, FastGPT#6439]")
def full(k):
    for kind in kinds(k):
        s = k.session("--disk", f"{kind}:16Mi")
        eq(s.show()["limits"]["disk"], {"limit_bytes": 16 * MIB, "enforced_by": kind, "required": False,
                                        "kind": kind}, "the limit")
        result = s.sh("head -c 60000000 /dev/zero >big")
        eq((result["status"], result["reason"]["kind"]), ("error", "exit"), f"{kind}: status")
        check("No space left" in result["stderr"], f"{kind}: stderr:", result["stderr"])
        check(warned(result, "near_limit"), f"{kind}: no warning:", result["warnings"])
        usage = result["usage"]
        eq(usage["enforced_by"]["disk"], kind, "enforced_by")
        check(usage["disk_limit_bytes"] * 0.95 <= usage["disk_bytes"] <= usage["disk_limit_bytes"] <= 16 * MIB,
              f"{kind}: usage:", usage)
        eq([e["limit"] for e in s.events("quota_warning")], ["disk"], "events")
        result = s.sh("rm big; head -c 6000000 /dev/zero >small; fallocate -l 1000000 room 2>/dev/null || :")
        check(result["status"] == "success" and not warned(result, "near_limit"), f"{kind}: after it:", result)
        check(6000000 <= result["usage"]["disk_bytes"] < 9000000, f"{kind}: usage after it:", result["usage"])
        # The control: a plain one is ended by looking.
    plain = k.session("--disk", "16Mi").sh("head -c 60000000 /dev/zero >big; sleep 5")
    eq((plain["status"], plain["usage"]["enforced_by"]["disk"]), ("limit", "poll"), "the control")


@test("a disk in memory has a limit of files, too")
def inodes(k):
    s = k.session("--disk", "tmpfs:1Mi")
    result = s.sh("i=0; while [ $i -lt 2000 ]; do : >f$i || exit 9; i=$((i + 1)); done")
    check(result["exit_code"] != 0 and "f1" in result["stderr"], "2000 files in 1 MiB:", result["stderr"])
    check(any("files" in m for m in warned(result, "near_limit")), "warnings:", result["warnings"])
    check(s.exec("--", "sh", "-c", "rm f*; : >f1").code == 0, "it does not recover")


@test("what changed is told the same on every kind of disk")
def changed(k):
    for kind in ["plain", *kinds(k)]:
        disk = "16Mi" if kind == "plain" else f"{kind}:16Mi"
        s = k.session("--disk", disk)
        source = k.write("in", "from outside\n")
        eq(k.sbx("cp", source, f"{s.id}:/workspace/in").code, 0, f"{kind}: cp in")
        result = s.sh("echo more >>in; echo a >a; mkdir d; echo b >d/b; chmod 000 d; rm /home/sandbox/.bashrc")
        eq({(c["path"], c["change"]) for c in result["files"]},
           {("/workspace/in", "modified"), ("/workspace/a", "added"), ("/workspace/d", "added"),
            ("/workspace/d/b", "added"), ("/home/sandbox/.bashrc", "deleted")}, f"{kind}: files")
        eq(k.sbx("cp", f"{s.id}:/workspace/in", f"{k.scratch}/out").code, 0, f"{kind}: cp out")
        eq(read(f"{k.scratch}/out"), "from outside\nmore\n", f"{kind}: what came out")
        os.unlink(f"{k.scratch}/out")
        eq(k.sbx("run", "--disk", disk, "--", "sh", "-c", "echo x >f && cat f").out, "x\n", f"{kind}: run")


@test("a session whose files are in memory does not fall asleep, and says what it lost")
def memory(k):
    s = k.session("--disk", "tmpfs:16Mi", "--dormant-after", "0.2")
    control = k.session("--dormant-after", "0.2")
    check("memory" in s.show()["warnings"][0]["message"], "show:", s.show()["warnings"])
    s.sh("echo kept >f")
    control.sh("echo kept >f")
    control.asleep(20)
    eq(s.show()["status"], "live", "status")
    eq(s.exec("--", "cat", "f").out, "kept\n", "its file")
    s.sbx("stop")
    eq(s.sbx("start").code, 0, "start")
    lost = s.sh("cat f")
    check(lost["exit_code"] != 0 and warned(lost, "files_lost"), "not told:", lost["warnings"])
    check(any("memory" in e["message"] for e in s.events("log")), "no event:", s.events("log"))
    check(not warned(s.sh("true"), "files_lost"), "told twice")
    os.kill(supervisor(s), signal.SIGKILL)
    check(warned(s.sh("true"), "files_lost"), "not told after a kill")


@test("files in a disk image outlive stop, sleep and kill -9, and nothing is left of it")
def lives(k):
    need_loop(k)
    s = k.session("--disk", "loop:32Mi", "--dormant-after", "1")
    s.sh("echo one >log")
    s.asleep(20)
    released(k)
    s.sh("echo two >>log")
    s.sbx("stop")
    released(k)
    s.sbx("start")
    for n in range(8):
        s.sh("echo killed >>log; head -c 3000000 /dev/urandom >f; sha256sum f >sum")
        os.kill(supervisor(s), signal.SIGKILL)
        check(s.sh("sha256sum -c sum")["exit_code"] == 0, f"after kill {n}")
    eq(s.exec("--", "cat", "log").out, "one\ntwo\n" + 8 * "killed\n", "its file")
    s.sbx("stop")
    released(k)
    fsck = subprocess.run(["e2fsck", "-fn", f"{s.path}/disk.img"], capture_output=True, text=True, check=False,
                          env={"PATH": "/usr/sbin:/sbin"})
    eq(fsck.returncode, 0, f"e2fsck: {fsck.stdout}")
    s.sbx("start")
    s.sh("head -c 1000000 /dev/urandom >g")
    eq(s.remove().code, 0, "rm")
    released(k)
    eq(k.stored(), [], "what is stored")


@test("a disk image takes what is in it, and gives back what was deleted")
def sparse(k):
    need_loop(k)
    s = k.session("--disk", "loop:512Mi")
    size = lambda: os.stat(f"{s.path}/disk.img").st_blocks * 512
    eq(os.stat(f"{s.path}/disk.img").st_size, 512 * MIB, "size")
    check(size() < 8 * MIB, "empty:", size())
    s.sh("head -c 50000000 /dev/urandom >f")
    s.sbx("stop")
    released(k)
    check(size() > 45 * MIB, "with 50 MB:", size())
    s.sbx("start")
    s.sh("rm f")
    s.sbx("stop")
    released(k)
    check(size() < 16 * MIB, "without them:", size())


@test("a disk image that a power failure left is repaired, one that is no file system is refused")
def broken(k):
    need_loop(k)
    s = k.session("--disk", "loop:32Mi")
    s.sh("echo kept >f")
    s.sbx("stop")
    released(k)
    make_dirty(s)
    s.sbx("start")
    eq(s.exec("--", "cat", "f").out, "kept\n", "its file after a repair")
    eq([e["message"].split(" and ")[1][:12] for e in s.events("log")], ["was repaired"], "events")
    s.sbx("stop")
    released(k)
    with open(f"{s.path}/disk.img", "r+b") as f:
        f.write(b"\0" * MIB * 32)
    bad = s.sbx("start")
    check(bad.code != 0 and bad.err.count("\n") == 1 and "e2fsck" in bad.err, "a damaged one:", bad)
    os.unlink(f"{s.path}/disk.img")
    gone = s.sbx("start")
    check(gone.code != 0 and "image of its disk" in gone.err, "one that is gone:", gone)
    eq(s.remove().code, 0, "rm")


@test("kinds of disks are read from files, and wrong ones are refused at their place")
def files(k):
    for name, text in (("job.yaml", "runtime: shell\nresources:\n  disk: tmpfs:16Mi\n"),
                       ("job.json", '{"runtime": "shell", "resources": {"disk": "tmpfs:16Mi"}}')):
        made = k.sbx("create", "--json", "-f", k.write(name, text)).json
        eq((made["limits"]["disk"]["kind"], made["limits"]["disk"]["limit_bytes"]), ("tmpfs", 16 * MIB), name)
        k.sbx("rm", "-f", made["id"])
    for value, word in (("ram:16Mi", "no kind of disk"), ("tmpfs:", "tmpfs"), ("tmpfs:1k", "out of range"),
                        ("[1]", "a size is expected")):
        quoted = value if value == "[1]" else f'"{value}"'
        path = k.write("bad.yaml", f"resources:\n  disk: {quoted}\n")
        done = k.sbx("create", "-f", path)
        check(done.code != 0 and "bad.yaml:2:9" in done.err and (word in done.err or value == "tmpfs:"), value, done)
        if value != "[1]":
            done = k.sbx("create", "--disk", value)
            check(done.code != 0 and "--disk" in done.err, value, done)
    large = k.sbx("create", "--memory", "64Mi", "--disk", "tmpfs:65Mi")
    check(large.code != 0 and "memory limit of 64 MiB" in large.err, "more than memory:", large)
    eq(k.stored("sessions"), [], "sessions")


@test("a disk image is refused to who may not have one, with what he may have", modes=("user",))
def refused(k):
    done = k.sbx("create", "--disk", "loop:64Mi")
    check(done.code != 0 and "only root" in done.err and "tmpfs:SIZE" in done.err, "create:", done)
    eq(k.stored("sessions"), [], "sessions")


FILL = "head -c 14000000 /dev/zero >/tmp/f; echo kept >/workspace/kept"


@test("crossing 80 % can empty the temporary directories")
def clean(k):
    for disk in ("tmpfs:16Mi", "16Mi"):
        s = k.session("--disk", disk, "--on-threshold", "clean")
        control = k.session("--disk", disk)
        eq((s.show()["on_threshold"], control.show()["on_threshold"]), ("clean", "warn"), "show")
        for one in (s, control):
            one.sh("exec 4>/dev/shm/x; " + FILL)
        check(until(lambda: s.exec("--", "ls", "-A", "/tmp", "/dev/shm").out == "/dev/shm:\n\n/tmp:\n"),
              f"{disk}: still there:", s.exec("--", "ls", "-A", "/tmp", "/dev/shm"))
        eq([e["action"] for e in s.events("quota_warning")], ["clean"], "events")
        eq(s.exec("--", "cat", "kept").out, "kept\n", "a file of the workspace")
        after = s.sh("true")
        check(after["usage"]["disk_bytes"] < 4 * MIB and not after["warnings"], "after it:", after)
        s.sh(FILL)
        eq(len(s.events("quota_warning")), 2, "events after a second time")
        eq(control.exec("--", "ls", "/tmp").out, "f\n", "the control")


@test("crossing 80 % can stop the session when what runs has ended")
def stop(k):
    s = k.session("--disk", "tmpfs:16Mi", "--memory", "256Mi", "--on-threshold", "stop")
    other = s.start("--", "sh", "-c", "echo began; until [ -e /workspace/go ]; do sleep 0.02; done; sleep 0.5; echo done")
    check(until(lambda: len(s.events("execution_update")) >= 1), "the other one did not start")
    first = s.sh(FILL + "; : >/workspace/go")
    eq(first["status"], "success", "the one that crosses it")
    done = other.wait()
    eq((done.code, done.out), (0, "began\ndone\n"), "the one beside it")
    check(until(lambda: s.show()["status"] == "stopped", 10), "it is not stopped:", s.show()["status"])
    eq([(e["reason"], e.get("limit")) for e in s.events("session_stopped")], [("on_threshold", "disk")], "events")
    late = s.exec("--", "true")
    check(late.code == 125 and "sbx start" in late.err, "one more:", late)
    eq(s.sbx("start").code, 0, "start")
    eq(s.exec("--", "echo", "again").out, "again\n", "after a start")


@test("crossing 80 % of memory counts, too")
def stop_memory(k):
    s = k.session("--memory", "64Mi", "--on-threshold", "stop")
    eq(s.sh("head -c 58000000 /dev/zero | tail -n 1 >/dev/null")["status"], "success", "it")
    check(until(lambda: s.show()["status"] == "stopped", 10), "it is not stopped:", s.show()["status"])
    eq([e["limit"] for e in s.events("session_stopped")], ["memory"], "events")


kit.main()

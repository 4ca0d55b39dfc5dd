"""Where a session's control groups are made on pure v2, and that its limits hold there.

    places.py root|user SBX SPEC [WORD-OF-A-TITLE...]

SPEC is a JSON object: "cpu", "memory", "pids": by what each must be enforced; "where": what the path of
the session's group must be below /sys/fs/cgroup, but for its own name (null: no group); "fix": words
of what doctor must advise; "alone": the group in which sbx is to be started, by itself.
"""
import contextlib
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "jail"))
import kit
from kit import MIB, check, eq, read, test, until

SPEC = json.loads(sys.argv.pop(3))
CPU, MEMORY, PIDS = SPEC["cpu"], SPEC["memory"], SPEC["pids"]
TOP = "/sys/fs/cgroup"
WANT = {c: SPEC[c] for c in ("cpu", "memory", "pids")}


def write_self(group):
    with open(f"{TOP}/{group}/cgroup.procs", "w", encoding="utf-8") as f:
        f.write("0")


class Alone(kit.Kit):
    """What it runs enters a group, which nothing else of the test is in, and becomes the user there."""

    def who(self):
        ids = super().who()

        def enter():
            try:
                write_self(SPEC["alone"])
            except OSError:
                # It hands controllers down by now: the rule about inner processes.
                write_self(SPEC["alone"] + "/sbx.main")
            if ids:
                os.setgroups([])
                os.setgid(ids["group"])
                os.setuid(ids["user"])
        return {"preexec_fn": enter}

    def give(self, path):
        if super().who():
            os.chown(path, kit.USER, kit.USER)


if SPEC.get("alone"):
    kit.Kit = Alone


def group_of(s):
    """The directory of a session's group; None without one."""
    found = [f"{top}/{d}" for top, dirs, _ in os.walk(TOP) for d in dirs if d == "sbx-" + s.id]
    check(len(found) <= 1, "more than one group:", found)
    return found[0] if found else None


def supervisor_of(s):
    return int(json.loads(read(f"{s.path}/status.json"))["pid"])


@test("each limit is enforced by what this place allows, and lies where it may")
def enforced(k):
    s = k.session("--memory", "96Mi", "--cpu", "0.5", "--pids", "40")
    limits = s.show()["limits"]
    eq({c: limits[c]["enforced_by"] for c in WANT}, WANT, "enforced_by")
    path = group_of(s)
    eq(path and os.path.dirname(path).removeprefix(TOP).strip("/"), SPEC["where"], "the group")
    if not path:
        return
    values = {"cpu": ("cpu.max", "50000 100000"), "memory": ("memory.max", str(96 * MIB)), "pids": ("pids.max", "40")}
    for limit, (name, value) in values.items():
        if WANT[limit] == "cgroup-v2":
            eq(read(f"{path}/{name}").strip(), value, name)
    if MEMORY == "cgroup-v2":
        eq(read(f"{path}/memory.oom.group").strip(), "0", "memory.oom.group")
        if os.path.exists(f"{path}/memory.swap.max"):
            eq(read(f"{path}/memory.swap.max").strip(), "0", "memory.swap.max")


@test("all that runs inside is in the session's group, and the supervisor is not")
def all_inside(k):
    s = k.session()
    path = group_of(s)
    s.sh("(setsid sleep 300 &) ; exit 0")
    process = s.start("--", "sh", "-c", "sleep 300 & sleep 300")
    check(until(lambda: list(s.processes().values()).count("sleep 300") == 2), "not started:", s.processes())
    supervisor = supervisor_of(s)
    for pid, title in s.processes().items():
        inside = f"sbx-{s.id}/" in read(f"/proc/{pid}/cgroup")
        eq(inside, bool(path) and pid != supervisor, f"{title} in the group")
    process.kill()


@test("cpu: half a processor is not passed by two that spin")
def cpu(k):
    if CPU == "none":
        raise kit.Lacks("no cpu controller for this place")
    s = k.session("--cpu", "0.5")
    spin = "while :; do :; done"
    done = s.exec("--json", "--timeout", "4", "--", "sh", "-c", f"({spin}) & ({spin}) & wait")
    used = done.json["usage"]["cpu_ms"] / done.json["usage"]["wall_ms"]
    check(used < 0.75, "share that was used:", used, done.json["usage"])


@test("memory: one process of the session dies of it, and the result says so")
def memory(k):
    s = k.session("--memory", "96Mi")
    eater = "x = []\nwhile True: x.append(bytearray(8 << 20))"
    s.cell("kept = 5", "--lang", "python")
    result = s.run("python3", "-c", eater)
    if MEMORY == "cgroup-v2":
        eq((result["status"], result["reason"]["enforced_by"], result["reason"]["limit"]), ("oom", "cgroup-v2", 96 * MIB))
        check(64 * MIB < result["reason"]["peak"] <= 100 * MIB, "peak:", result["reason"])
    else:
        check(result["status"] in ("oom", "error"), "status:", result)
    eq(s.cell("kept", "--lang", "python")["result"]["text/plain"], "5", "an interpreter beside it")


@test("pids: forks are refused at the limit, counted, and all are gone afterwards")
def pids(k):
    s = k.session("--pids", "40")
    code = """import os, signal
for n in range(90):
    try:
        if os.fork() == 0: signal.pause()
    except OSError as e:
        print(n, e.errno)
        break"""
    result = s.run("python3", "-c", code)
    n, _, number = result["stdout"].strip().partition(" ")
    eq(number, "11", f"errno of a fork: {result}")
    # An rlimit counts the inits as well, and has room for those.
    check(int(n) <= (40 if PIDS == "cgroup-v2" else 64), "forks:", result)
    if PIDS == "cgroup-v2":
        check(any(w["kind"] == "pids" for w in result["warnings"]), "no warning:", result)
    eq([t for t in s.processes().values() if "python3" in t], [], "still alive")
    s.alive()


@test("a killed supervisor leaves a group, and the next command takes it away and makes one")
def killed(k):
    s = k.session()
    first = group_of(s)
    s.sh("(setsid sleep 300 &)")
    os.kill(supervisor_of(s), 9)
    s.alive()
    eq(group_of(s), first, "the group")
    s.remove()
    check(until(lambda: not group_of(s)), "the group is still there:", group_of(s))


@test("nothing is left of many sessions but what was there before")
def many(k):
    k.session()
    k.forget()
    before = sorted(top for top, _, _ in os.walk(TOP))
    for _ in range(kit.rounds(20)):
        k.session().alive()
        k.forget()
    after = until(lambda: sorted(t for t, _, _ in os.walk(TOP)) == before)
    check(after, "groups:", sorted(set(t for t, _, _ in os.walk(TOP)) ^ set(before)))


@test("doctor says what holds in this place, and how to get what does not")
def doctor(k):
    done = k.sbx("doctor", "--json")
    eq(done.code, 0, f"doctor: {done.err}")
    limits = done.json["limits"]
    eq({c: limits[c]["enforced_by"] for c in WANT}, WANT, "enforced_by")
    for limit, by in WANT.items():
        fix = limits[limit]["fix"]
        eq(bool(fix), by != "cgroup-v2", f"a fix for {limit}")
        for word in SPEC.get("fix", ()) if fix else ():
            check(word in fix, f"'{word}' is not advised:", fix)


@test("the line that doctor advises in a container gives the limits", modes=("root",))
def advice(k):
    lines = {l["fix"] for l in k.sbx("doctor", "--json").json["limits"].values() if l["fix"]}
    if not lines:
        raise kit.Lacks("every limit has a control group here")
    for line in lines:
        prefix = "put the processes into a group below: "
        check(line.startswith(prefix), "no line for a shell:", line)
        done = k.command(["sh", "-c", line.removeprefix(prefix)])
        eq(done.code, 0, f"{line}: {done}")
    limits = k.sbx("doctor", "--json").json["limits"]
    eq({c: limits[c]["enforced_by"] for c in WANT}, dict.fromkeys(WANT, "cgroup-v2"), "enforced_by")


@contextlib.contextmanager
def subordinate_ids(are_there):
    """An account with 65536 more ids and the program that maps them, or neither; the machine is ours."""
    lines = {"/etc/passwd": f"tester:x:{kit.USER}:{kit.USER}::/tmp:/bin/sh\n",
             "/etc/subuid": "tester:100000:65536\n", "/etc/subgid": "tester:100000:65536\n"}
    before = {p: read(p) if os.path.exists(p) else "" for p in lines}
    try:
        for path, line in lines.items():
            with open(path, "w", encoding="utf-8") as f:
                f.write(before[path] + (line if are_there else ""))
        if not are_there:
            os.rename("/usr/bin/newuidmap", "/usr/bin/newuidmap.off")
        yield
    finally:
        if not are_there:
            os.rename("/usr/bin/newuidmap.off", "/usr/bin/newuidmap")
        for path, text in before.items():
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)


@test("subordinate ids and newuidmap change nothing: the map stays a single id", modes=("user",))
def subids(k):
    seen = []
    for are_there in (True, False):
        with subordinate_ids(are_there):
            free = k.command(["unshare", "-U", "--map-users=auto", "--map-groups=auto", "true"])
            eq(free.code == 0, are_there, f"the control: {free}")
            found = k.sbx("doctor", "--json").json
            s = k.session()
            seen.append((s.sh("cat /proc/self/uid_map; id -u")["stdout"].split(), found["ids"], found["walls"]))
            k.forget()
    eq(seen[0][:2], (["1000", str(kit.USER), "1", "1000"], "single"), "map")
    eq(seen[0], seen[1], "with and without")


if __name__ == "__main__":
    raise SystemExit(kit.main())

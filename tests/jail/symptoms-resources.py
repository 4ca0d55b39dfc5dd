"""Memory, processes, disk: what other systems were reported to get wrong."""
import contextlib
import json
import os
import subprocess

import kit
from kit import MIB, Lacks, check, eq, read, test, until

EATER = "x = []\nwhile True: x.append(bytearray(8 << 20))"


def enforced(s, limit):
    return s.show()["limits"][limit]["enforced_by"]


def of_cgroup(s, limit="memory"):
    by = enforced(s, limit)
    if not by.startswith("cgroup"):
        raise Lacks(f"this user has no control group: {limit} is enforced by {by}")
    return by


@test("out of memory is said with limit and peak, and is not just 137 [daytona#4489, SandboxFusion#43]")
def oom(k):
    s = k.session("--memory", "96Mi")
    by = of_cgroup(s)
    for result in (s.run("python3", "-c", EATER), s.cell(EATER, "--lang", "python")):
        eq((result["status"], result["reason"]["kind"], result["exit_code"]), ("oom", "oom", 137))
        eq((result["reason"]["limit"], result["reason"]["enforced_by"]), (96 * MIB, by), "reason")
        # v2 lets one that is being killed have what it still needs, and counts that.
        check(64 * MIB < result["reason"]["peak"] <= 100 * MIB, "peak:", result["reason"])
        check("memory" in result["hint"], "hint:", result["hint"])
    s.exec("--", "python3", "-c", EATER).refused(137, "memory", "96 MiB")
    s.alive()


@test("a child that dies for lack of memory is told, and the program's own exit code stays")
def oom_child(k):
    s = k.session("--memory", "96Mi")
    of_cgroup(s)
    result = s.sh("python3 -c 'x = []\nwhile True: x.append(bytearray(8 << 20))'; exit 5")
    eq((result["status"], result["exit_code"]), ("error", 5))
    eq([w["kind"] for w in result["warnings"] if w["kind"] == "oom_child"], ["oom_child"], "warnings")


@test("without a control group a MemoryError is told as near the limit [agent-os#2372]", modes=("user",))
def memory_error(k):
    s = k.session("--memory", "96Mi")
    if enforced(s, "memory").startswith("cgroup"):
        raise Lacks("this user has a control group")
    eq(enforced(s, "memory"), "rlimit", "enforced_by")
    for result in (s.run("python3", "-c", EATER), s.cell(EATER, "--lang", "python")):
        check(result["status"] in ("error", "oom"), "status:", result)
        if result["status"] == "error":
            check(any(w["kind"] == "near_limit" and "memory" in w["message"] for w in result["warnings"]),
                  "no warning:", result["warnings"])
    s.alive()


@test("an interpreter that ran out of memory is not replaced in silence [inspect-action#248]", modes=("root",))
def oom_cell(k):
    s = k.session("--memory", "256Mi", runtime="python")
    if s.show()["limits"]["memory"]["enforced_by"] in ("rlimit", "none"):
        raise kit.Lacks("there is no memory controller")
    s.cell("x = 1")
    result = s.cell("y = bytearray(1 << 30); y[::4096] = b'x' * (1 << 18)")
    eq((result["status"], result["reason"]["kind"]), ("oom", "oom"))
    after = s.cell("x")
    eq((after["error"]["name"], after["state"]["interpreter"], after["state"]["epoch"]),
       ("NameError", "restarted", 2))
    check(after["state"]["lost"], "nothing is said to be lost:", after["state"])
    eq(len(s.events("state_lost")), 1, "events")


@test("many small processes together do not pass the memory limit")
def memory_of_many(k):
    s = k.session("--memory", "128Mi")
    child = "x = bytearray(40 << 20)\nimport time\nfor i in range(0, len(x), 4096): x[i] = 1\ntime.sleep(30)"
    script = f"for i in 1 2 3 4 5 6; do python3 -c '{child}' & done; wait"
    # Six interpreters, and those that live sleep: no longer than an emulated start needs.
    result = s.sh(script, options=["--timeout", str(5 * min(kit.SCALE, 5))])
    told = result["status"] == "oom" or any(w["kind"] == "oom_child" for w in result["warnings"])
    check(told, "it was let pass:", result)
    check(result["usage"]["memory_peak_bytes"] < 400 * MIB, "peak:", result["usage"])
    s.alive()


@test("a fork bomb is capped, ends on time, and the session is usable again [piston#535]")
def fork_bomb(k):
    s = k.session("--pids", "64")
    done = s.exec("--json", "--timeout", "2", "--", "bash", "-c", "f() { f | f & }; f; sleep 300")
    check(done.seconds < 6 * kit.SCALE, "it took", done.seconds)
    check(done.json["status"] in ("timeout", "error"), "status:", done)
    left = [t for t in s.processes().values() if not t.startswith("sbx")]
    eq(left, [], "still alive")
    if enforced(s, "pids").startswith("cgroup"):
        # The kernel counts it since Linux 6.6 (v2), 6.5 (v1); before, it is not told.
        counted = [t for t, _, files in os.walk("/sys/fs/cgroup") if t.endswith("sbx-" + s.id) and "pids.peak" in files]
        eq("pids_peak" in done.json["usage"], bool(counted), "pids_peak is told")
        check(done.json["usage"].get("pids_peak", 0) <= 64, "usage:", done.json["usage"])
    s.alive()
    s.alive()


@test("600 orphans leave no zombie [docker/sbx-releases#82, hermes-agent#6910]")
def orphans(k):
    s = k.session("--pids", "1024")
    code = """import os, time
for i in range(600):
    if os.fork() == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.wait()
end = time.time() + 5
while True:
    states = []
    for p in filter(str.isdigit, os.listdir('/proc')):
        try: states.append(open(f'/proc/{p}/stat').read().rsplit(')', 1)[1].split()[0])
        except OSError: pass
    if 'Z' not in states or time.time() > end: break
    time.sleep(0.02)
print(states.count('Z'), len(states) < 10)"""
    eq(s.exec("--", "python3", "-c", code).out, "0 True\n", "zombies seen by a command")
    eq(s.cell(code, "--lang", "python")["stdout"], "0 True\n", "zombies seen by a cell")
    zombies = [p for p in s.processes() if ") Z " in read(f"/proc/{p}/stat")]
    eq(zombies, [], "zombies of the session")


@test("the disk limit ends what fills it, and deleting makes room again [FastGPT#6439, wasmrun#91]")
def disk(k):
    s = k.session("--disk", "64Mi")
    by = enforced(s, "disk")
    result = s.sh("dd if=/dev/zero bs=1M count=40 of=a 2>/dev/null; dd if=/dev/zero bs=1M count=400 of=b; sleep 300",
                  options=["--timeout", "20"])
    eq((result["status"], result["reason"]["kind"], result["reason"]["limit"]), ("limit", "disk", 64 * MIB))
    check(result["reason"]["enforced_by"] in (by, "rlimit"), "enforced_by:", result["reason"])
    check("--disk" in result["hint"], "hint:", result["hint"])
    check(result["usage"]["disk_bytes"] < 512 * MIB, "usage:", result["usage"])
    more = s.sh("dd if=/dev/zero bs=1M count=20 of=c; sleep 300", options=["--timeout", "20"])
    eq(more["status"], "limit", "growing further")
    eq(s.sh("sleep 0.5; rm -f a b c")["status"], "success", "the removal, which takes its time")
    eq(s.sh("dd if=/dev/zero bs=1M count=40 of=a 2>/dev/null")["status"], "success", "afterwards")


@test("one file that is too long, and sparse files, are seen for what they are")
def long_file(k):
    s = k.session("--disk", "32Mi")
    result = s.sh("exec dd if=/dev/zero bs=1M count=100 of=a", options=["--timeout", "20"])
    eq((result["status"], result["reason"]["kind"]), ("limit", "disk"))
    s.sh("rm -f a")
    eq(s.sh("truncate -s 30M sparse && sleep 0.3")["status"], "success", "a file without blocks")
    check(s.run("true")["usage"]["disk_bytes"] < MIB, "blocks that are not there are counted")


@test("overwriting is no growth [FastGPT#6439]")
def overwriting(k):
    s = k.session("--disk", "64Mi")
    result = s.sh("for i in 1 2 3 4 5; do dd if=/dev/zero bs=1M count=30 of=a conv=notrunc 2>/dev/null; done")
    eq(result["status"], "success", result)
    check(28 * MIB < result["usage"]["disk_bytes"] < 34 * MIB, "usage:", result["usage"])


@test("near a limit there is a warning, and one event")
def warning(k):
    s = k.session("--disk", "64Mi")
    for _ in range(2):
        result = s.sh("dd if=/dev/zero bs=1M count=55 of=a conv=notrunc 2>/dev/null")
        check(any(w["kind"] == "near_limit" and "disk" in w["message"] for w in result["warnings"]), "none:", result)
    eq(len(s.events("quota_warning")), 1, "quota_warning events")


@test("--require refuses what cannot be enforced, and leaves nothing [n8n-sandbox#45]", modes=("user",))
def require(k):
    s = k.session()
    if enforced(s, "cpu") != "none":
        raise Lacks("this user has a control group")
    done = k.sbx("create", "--runtime", "shell", "--require", "cpu")
    done.refused(5, "cpu", "cannot be enforced")
    eq(k.stored(), [f"sessions/{s.id}"], "what is stored")


@test("a full disk is said, and the session works again when there is room", modes=("root",))
def full_disk(k):
    home = f"{k.dir}/small"
    os.mkdir(home)
    script = """set -u
    mount -t tmpfs -o size=24m,mode=700 tmpfs "$1"
    export SBX_HOME="$1"
    S=$("$0" create -q --runtime shell) || exit 9
    trap '"$0" rm -f "$S"; umount -l "$1"' EXIT
    "$0" exec "$S" -- sh -c 'cat /dev/zero >fill' >/dev/null 2>&1
    # What sbx itself still has in reserve is taken, too.
    cat /dev/zero >"$1/rest" 2>/dev/null
    "$0" exec "$S" --json -- echo full; echo "code $?"
    "$0" create -q --runtime shell; echo "create $?"
    rm "$1/rest"
    "$0" exec "$S" -- rm fill
    "$0" exec "$S" -- echo room"""
    done = k.command(["unshare", "-m", "sh", "-c", script, k.program, home], seconds=60)
    os.rmdir(home)
    check(done.out.endswith("room\n"), "it does not work again:", done)
    check("No space left" in done.out + done.err or "ENOSPC" in done.out + done.err, "the cause is not said:", done)
    check("create 0" not in done.out, "a session was made on a full disk:", done)


@test("the line that doctor advises to an ordinary user gives the limits", modes=("user",))
def advice(k):
    limits = {n: l for n, l in k.sbx("doctor", "--json").json["limits"].items() if n in ("cpu", "memory", "pids")}
    lines = {l["fix"] for l in limits.values() if l["fix"]}
    if not lines:
        raise Lacks("this user has control groups")
    if not kit.IS_ROOT:
        raise Lacks("it takes root to follow it")
    for line in lines:
        check(line.startswith("as root: g="), "no line for a shell:", line)
    # A shell that waits, is moved, and then goes on.
    sh = subprocess.Popen(["sh", "-c", 'read x; exec "$@"', "sh", k.program, "doctor", "--json"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, env=k.environment(), cwd=k.scratch, **k.who())
    made = []
    try:
        for line in lines:
            script = line.removeprefix("as root: ").replace("PID-OF-YOUR-SHELL", str(sh.pid))
            made += k.command(["sh", "-ec", script + "; echo $g"], user=0, group=0).out.split()
        out, _ = sh.communicate(b"go\n", timeout=60 * kit.SCALE)
        after = json.loads(out)["limits"]
        for name in limits:
            check(after[name]["enforced_by"].startswith("cgroup"), f"{name} after it:", after[name])
    finally:
        sh.kill()
        sh.wait()
        sh.stdin.close()
        sh.stdout.close()
        for top in made:
            check(until(lambda: remove_groups(top)), "stays:", top)


def remove_groups(top):
    for folder, _, _ in os.walk(top, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(folder)
    return not os.path.exists(top)


if __name__ == "__main__":
    raise SystemExit(kit.main())

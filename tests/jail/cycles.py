"""Create, exec and rm, a thousand times, and kill -9 at random moments: nothing stays.

    cycles.py SBX [CYCLES [KILLS]]

TAP on stdout. Bounded: every command has a time limit, every wait an end.
"""
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

SBX = sys.argv[1]
CYCLES = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
KILLS = int(sys.argv[3]) if len(sys.argv) > 3 else 60
SCALE = float(os.environ.get("SBX_TEST_SCALE", "1"))
home = tempfile.mkdtemp(prefix="sbx-cycles.")
ENV = dict(os.environ, SBX_HOME=home)
number = 0


def check(good, text, detail=""):
    global number
    number += 1
    print(f"{'ok' if good else 'not ok'} {number} - {text}", flush=True)
    if not good and detail:
        print("# " + str(detail).replace("\n", "\n# "), flush=True)


def sbx(*args, **more):
    return subprocess.run([SBX, *args], env=ENV, stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=60 * SCALE, **more)


def processes():
    """Processes of sessions in this home: by title, ours alone."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                title = f.read().decode(errors="replace")
        except OSError:
            continue
        if title.startswith("sbx: ") and any(i in title for i in ids):
            found[int(pid)] = title
    return found


def groups():
    out = []
    for top, dirs, _ in os.walk("/sys/fs/cgroup"):
        out += [os.path.join(top, d) for d in dirs if d.startswith("sbx-") and d[4:] in ids]
    return out


def state():
    with open("/proc/self/mountinfo") as f:
        mounts = len(f.readlines())
    left = [f"{d}/{n}" for d in ("sessions", "trash", "names") for n in os.listdir(f"{home}/{d}")]
    return {"mounts": mounts, "groups": groups(), "processes": processes(), "left": left}


def settled(want, limit=10):
    """The state once nothing moves any more: the kernel's own clean-up takes a moment."""
    end = time.monotonic() + limit * SCALE
    while True:
        now = state()
        if now == want or time.monotonic() > end:
            return now
        time.sleep(0.05)


ids = set()


def cycle():
    made = sbx("create", "--runtime", "shell", "-q")
    ident = made.stdout.strip()
    ids.add(ident)
    ran = sbx("exec", ident, "--", "sh", "-c", "echo x >/workspace/f; echo out")
    gone = sbx("rm", ident)
    return (made.returncode, ran.returncode, ran.stdout, gone.returncode,
            made.stderr + ran.stderr + gone.stderr)


def kill_at_random(rng):
    """Starts something, kills one process of it, and lets the next commands repair."""
    made = sbx("create", "--runtime", "shell", "-q")
    ident = made.stdout.strip()
    if made.returncode:
        return f"create: {made.stderr}"
    ids.add(ident)
    client = subprocess.Popen([SBX, "exec", ident, "--", "sh", "-c", "sleep 0.05; (setsid sleep 30 &) ; echo y"],
                              env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    time.sleep(rng.uniform(0, 0.06))
    victims = [client.pid] + [p for p, t in processes().items() if ident in t]
    try:
        os.kill(rng.choice(victims), signal.SIGKILL)
    except ProcessLookupError:
        pass
    client.wait(60 * SCALE)
    again = sbx("exec", ident, "--", "echo", "alive")
    if "processes died while it ran" in again.stderr:
        # It had begun when the last of the jail went; the result says so, and the next one works.
        again = sbx("exec", ident, "--", "echo", "alive")
    problem = "" if again.stdout == "alive\n" else f"exec after the kill: {again.returncode} {again.stderr}"
    gone = sbx("rm", ident)
    if gone.returncode:
        problem += f" rm: {gone.stderr}"
    return problem


def kill_run(rng):
    client = subprocess.Popen([SBX, "run", "--", "sleep", "0.03"], env=ENV,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    time.sleep(rng.uniform(0, 0.05))
    for ident in os.listdir(f"{home}/sessions"):
        ids.add(ident.lstrip("."))
    victims = [client.pid] + list(processes())
    try:
        os.kill(rng.choice(victims), signal.SIGKILL)
    except ProcessLookupError:
        pass
    client.wait(60 * SCALE)
    return ""


def main():
    seed = int(os.environ.get("SBX_TEST_SEED", time.time_ns() % 1000000))
    rng = random.Random(seed)
    print(f"TAP version 13\n1..4\n# seed {seed}")
    cycle()
    before = settled(dict(state(), groups=[], processes={}, left=[]))
    bad = []
    for _ in range(CYCLES):
        got = cycle()
        if got[:4] != (0, 0, "out\n", 0):
            bad.append(got)
    check(not bad, f"{CYCLES} cycles of create, exec and rm succeed", bad[:3])
    after = settled(before)
    check(after == before, "mounts, cgroups, processes and directories are as before", f"{before}\n{after}")
    problems = [p for p in (kill_at_random(rng) for _ in range(KILLS)) if p]
    check(not problems, f"{KILLS} kills of client, supervisor or init: the next command works", problems[:3])
    for _ in range(KILLS):
        kill_run(rng)
    # What was killed takes a moment to die; a directory without a lock may be in the making.
    time.sleep(2.5)
    sbx("run", "--", "true")
    sbx("rm", "-f", "nothing")
    after = settled(before)
    check(after == before, f"and after {KILLS} killed one-off runs nothing is left", f"{before}\n{after}")


try:
    main()
finally:
    for name in os.listdir(f"{home}/sessions"):
        sbx("rm", "-f", name)
    subprocess.run(["rm", "-rf", home])

"""kill -9 of any process of sbx at any moment: nothing that had ended is lost, nothing is left.

    kills.py root|user SBX

Each round starts one operation, kills one process of its session (client, supervisor, init,
exec-init, interpreter, program) after a random time, and lets the next command repair.

SBX_TEST_KILLS   rounds (default 60; the release check runs 1000)
SBX_TEST_SEED    the random numbers (default: of the time; printed)
"""
import os
import random
import signal
import time

import kit
from kit import check, eq, say, test, until

ROUNDS = int(os.environ.get("SBX_TEST_KILLS", "60"))
SEED = int(os.environ.get("SBX_TEST_SEED", time.time_ns() % 1000000))
ENDS = ("success", "error", "timeout", "oom", "limit", "killed", "cancelled", "setup_failed", "lost")


class Subject:
    """A session, and what is known to have ended in it."""

    def __init__(self, k):
        self.k, self.session = k, k.session(runtime="python")
        self.lines, self.ended, self.x, self.epoch = [], set(), None, 0

    def write(self, line):
        """A command that ends: from now on its line, its record and its end must be there."""
        result = self.session.sh("echo $1 >>f", line)
        eq((result["status"], result["warnings"]), ("success", []), "an undisturbed command")
        self.lines.append(line)
        self.ended.add(result["execution_id"])

    def assign(self, value):
        result = self.session.cell(f"x = {value}")
        eq(result["status"], "success", "an undisturbed cell")
        check(result["state"]["epoch"] >= self.epoch, "the epoch went back:", result["state"])
        self.x, self.epoch = value, result["state"]["epoch"]
        self.ended.add(result["execution_id"])

    def verify(self):
        """What had ended is there, variables too unless the epoch says otherwise."""
        done = self.session.exec("--", "cat", "f")
        if done.code and "processes died while it ran" in done.err:
            # It had begun when the last of the jail went; the result said so, and the next works.
            done = self.session.exec("--", "cat", "f")
        eq((done.code, [line for line in done.out.split() if line in self.lines]), (0, self.lines), f"the file {done!r}")
        result = self.session.cell("x")
        if result["reason"]["kind"] == "interpreter_died":
            # Killed, but not dead yet when the cell began: that was said, and the next works.
            result = self.session.cell("x")
            check(result["state"]["epoch"] > self.epoch, "no new epoch:", result["state"])
        state = result["state"]
        if state["epoch"] == self.epoch:
            eq(result.get("result", {}).get("text/plain"), str(self.x), f"the variable of {result!r:.900}")
        else:
            check(state["epoch"] > self.epoch, "the epoch went back:", state)
            eq(result["error"]["name"], "NameError", "the variable of a new interpreter")
            eq(state["interpreter"], "restarted", f"a new interpreter after a loss: {state}")
            check(state["lost"], "nothing is said to be lost:", state)
            check(self.session.events("state_lost"), "no event says that variables were lost:", result,
                  [(e["type"], e.get("status")) for e in self.session.events()])
        self.epoch = state["epoch"]
        self.journal()

    def journal(self):
        events = self.session.events()
        eq([e["seq"] for e in events], list(range(1, len(events) + 1)), "numbers of events")
        ends = {}
        for e in events:
            if e["type"] == "execution_update" and e["status"] in ENDS:
                ends.setdefault(e["execution_id"], []).append(e["status"])
        check(all(len(v) == 1 for v in ends.values()), "more than one end:", ends)
        check(self.ended <= set(ends), "ends are lost:", self.ended - set(ends))
        begun = {e["execution_id"] for e in events if e["type"] == "execution_update"}
        eq(begun - set(ends), set(), "executions that never end")
        for exec_id in self.ended:
            eq(self.session.record(exec_id)["result"]["status"], "success", "a record")


def operations(k, s):
    """Command lines of which one is disturbed in a round."""
    source = k.write("source", "x" * 300000)
    return [["exec", s.id, "--", "sh", "-c", "sleep 0.1; (setsid sleep 30 &) ; echo y"],
            ["exec", s.id, "--json", "-c", "import time; time.sleep(0.1); z = 1"],
            ["exec", s.id, "-t", "--", "sleep", "0.1"],
            ["cp", source, f"{s.id}:/workspace/copy"],
            ["cp", f"{s.id}:/workspace/f", f"{k.scratch}/f"],
            ["stop", s.id],
            ["events", s.id],
            ["run", "--runtime", "shell", "--", "sleep", "0.03"],
            ["create", "-q", "--runtime", "shell"]]


def below(pid):
    """Processes that descend from one."""
    found = []
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            if int(kit.read(f"/proc/{p}/stat").rsplit(")", 1)[1].split()[1]) == pid:
                found += [int(p), *below(int(p))]
        except (OSError, ValueError, IndexError):
            continue
    return found


def ours(k):
    """Every process of sbx, and below, that has to do with this home."""
    marks = set(os.listdir(f"{k.home}/sessions"))
    tops = [pid for pid, words, _ in kit.processes_of_all()
            if words.startswith("sbx: ") and any(m in words for m in marks)]
    return sorted({p for top in tops for p in [top, *below(top)]})


def disturb(k, rng, words):
    client = k.start(*words)
    time.sleep(rng.uniform(0, 0.08))
    victim = rng.choice([client.pid, *ours(k)])
    try:
        title = kit.read(f"/proc/{victim}/cmdline").replace("\0", " ")
        os.kill(victim, signal.SIGKILL)
    except OSError:
        title = "nothing"
    return title, client.wait()


@test("kill -9 of anything at any moment loses nothing that had ended, and leaves nothing")
def killed(k):
    say(f"seed {SEED}")
    rng = random.Random(SEED)
    subject = Subject(k)
    s = subject.session
    subject.write("begin")
    subject.assign(0)
    for i in range(1, ROUNDS + 1):
        words = rng.choice(operations(k, s))
        victim, done = disturb(k, rng, words)
        if words[0] == "stop":
            s.sbx("start")
        try:
            subject.verify()
            subject.write(f"line{i}")
            subject.assign(i)
        except kit.Wrong as e:
            raise kit.Wrong(f"round {i}, killed {victim!r} of {words}, {done!r:.300}: {e}") from None
        others = [n for n in os.listdir(f"{k.home}/sessions") if n != s.id]
        if len(others) > 5:
            k.sbx("rm", "-f", *[n for n in others if n.startswith("sess_")])
    k.sbx("rm", "-f", s.id)
    # A directory without a lock may be in the making for 2 s; any later command sweeps it.
    def left():
        k.sbx("rm", "-f", "none", *[n for n in os.listdir(f"{k.home}/sessions") if n.startswith("sess_")])
        return k.stored()
    check(until(lambda: not left(), 10, pause=0.3), "left:", left())
    k.ids.update(n for n in os.listdir(f"{k.home}/sessions"))


if __name__ == "__main__":
    raise SystemExit(kit.main())

"""Idle, dormant, stopped, expired, removed: what other systems were reported to get wrong."""
import json
import os
import shutil
import time

import kit
from kit import check, eq, test, until


@test("a running command is not idle [microsandbox#934, background-agents#1263]")
def not_idle(k):
    for options in (["--dormant-after", "0.3"], ["--idle-timeout", "0.3"],
                    ["--class", "task", "--idle-timeout", "0.3"]):
        s = k.session(*options)
        result = s.run("sh", "-c", "sleep 1.2; echo over")
        eq((result["status"], result["stdout"]), ("success", "over\n"), f"with {options}")


@test("a running cell is not idle, and neither is a living interpreter dormant")
def cell_not_idle(k):
    s = k.session("--dormant-after", "0.3", runtime="python")
    eq(s.cell("import time; time.sleep(1); x = 1")["status"], "success")
    time.sleep(0.8)
    eq(s.cell("x")["state"]["epoch"], 1, "epoch")


@test("a dormant session has no process, and wakes on the same files")
def dormant(k):
    s = k.session("--dormant-after", "0.3")
    s.sh("echo kept >f; echo t >/tmp/t; echo h >~/h")
    s.asleep(5)
    eq(s.processes(), {}, "processes")
    eq(s.exec("--", "cat", "/workspace/f", "/tmp/t", "/home/sandbox/h").out, "kept\nt\nh\n")
    eq([e["type"] for e in s.events("session_dormant")], ["session_dormant"], "events")


@test("something in /dev/shm keeps a session awake: it is memory")
def shared_memory(k):
    s = k.session("--dormant-after", "0.3")
    s.sh("echo kept >/dev/shm/f")
    time.sleep(1.5)
    eq(s.show()["status"], "live", "status")
    eq(s.exec("--", "cat", "/dev/shm/f").out, "kept\n")


@test("an idle task ends, an idle workspace stops and keeps its files [OpenSandbox#759]")
def idle_timeout(k):
    task = k.session("--class", "task", "--idle-timeout", "0.3")
    check(until(lambda: not os.path.exists(task.path)), "the task is still there")
    task.exec("--", "true").refused(125, task.id)
    workspace = k.session("--class", "workspace", "--idle-timeout", "0.3")
    workspace.sh("echo kept >f")
    check(until(lambda: workspace.show()["status"] == "stopped"), "the workspace is not stopped")
    eq(workspace.events("session_stopped")[0]["reason"], "idle_timeout")
    workspace.exec("--", "true").refused(125, "stopped", "sbx start")
    eq(workspace.sbx("start").code, 0, "start")
    eq(workspace.exec("--", "cat", "/workspace/f").out, "kept\n")


def touch_for(s, seconds):
    """Touches it without a pause for so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done = s.sbx("touch")
        eq((done.code, done.out, done.err), (0, "", ""), "touch")
        time.sleep(0.05)


@test("touch counts as use, so that a session in use by hand does not idle out [microsandbox#729]")
def touched(k):
    idle = 1.5 * kit.SCALE
    for dormancy in ("0", "0.2"):
        options = ["--idle-timeout", f"{idle:.1f}", "--dormant-after", dormancy]
        kept, forgotten = k.session(*options), k.session(*options)
        for s in (kept, forgotten):
            s.sh("echo kept >f")
        touch_for(kept, 1.4 * idle)
        eq(kept.exec("--", "cat", "/workspace/f").out, "kept\n", f"with dormancy {dormancy}")
        check(until(lambda s=forgotten: s.exec("--", "true").code == 125), "the control: it did not idle out")
        forgotten.sbx("touch").refused(6, "stopped", "sbx start")


@test("touch does not wake a dormant session, and ends one that has idled")
def touch_dormant(k):
    s = k.session("--dormant-after", "0.2")
    s.asleep(5)
    before = s.show()["last_used_at"]
    eq(s.sbx("touch").code, 0)
    eq((s.show()["status"], s.processes()), ("dormant", {}), "after touch")
    check(s.show()["last_used_at"] > before, "it was not noted:", before)
    task = k.session("--class", "task", "--dormant-after", "0.2", "--idle-timeout", "1")
    task.asleep(5)
    time.sleep(1.2)
    task.sbx("touch").refused(3, "idles")
    eq(os.path.exists(task.path), False, "the task is there")


@test("touch leaves the lifetime alone, unless it is given a new one")
def touch_lifetime(k):
    for dormancy in ("0", "0.2"):
        s = k.session("--lifetime", "1h", "--dormant-after", dormancy)
        s.sh("true")
        if dormancy != "0":
            s.asleep(5)
        ends = s.show()["expires_at"]
        eq(s.sbx("touch").code, 0)
        eq(s.show()["expires_at"], ends, "after touch")
        eq(s.sbx("touch", "--lifetime", "3h").code, 0)
        later = s.show()["expires_at"]
        check(later > ends, "after --lifetime 3h:", ends, later)
        eq(s.events("session_lifetime")[0]["expires_at"], later, "event")
        eq(s.sbx("touch", "--lifetime", "0").code, 0)
        eq(s.show()["expires_at"], None, "after --lifetime 0")
        eq([s.sbx("stop").code, s.sbx("start").code], [0, 0])
        eq(s.show()["expires_at"], None, "after a new start")
        eq(s.sbx("touch", "--lifetime", "0.3").code, 0)
        check(until(lambda s=s: s.show()["status"] == "expired"), "it does not expire")
        s.sbx("touch", "--lifetime", "1h").refused(6, "lifetime")


@test("a session that is started again is not stopped for the time it was not used before")
def started_again(k):
    s = k.session("--idle-timeout", "1", "--dormant-after", "0.2")
    s.asleep(5)
    time.sleep(1.2)
    s.exec("--", "true").refused(125, "stopped")
    eq(s.sbx("start").code, 0, "start")
    check(until(lambda: s.show()["status"] == "dormant", 2, 0.01), "it is not dormant")
    s.alive()


@test("start lets a session that has idled run at once, and not only the second time")
def start_idled(k):
    s = k.session("--idle-timeout", "0.6", "--dormant-after", "0.2")
    s.asleep(5)
    time.sleep(0.8)
    done = s.sbx("start")
    eq((done.code, done.err), (0, ""), "start")
    eq(s.events("session_stopped")[0]["reason"], "idle_timeout", "event")


@test("clean empties the temporary directories and nothing else, and says what it freed")
def clean(k):
    s = k.session(runtime="python")
    s.sh("""mkdir -p /tmp/a/b /workspace/d ~/d; echo kept | tee /workspace/d/f ~/d/f >/workspace/f
        head -c 300000 /dev/zero | tee /tmp/x /var/tmp/y >/dev/shm/z
        ln -s /workspace/d /tmp/dir; ln -s /workspace/f /tmp/file; ln -s / /tmp/a/root; ln -s .. /tmp/up
        ln /tmp/x /workspace/second; mkfifo /var/tmp/fifo; touch "/tmp/$(printf 'a\nb\033')" /tmp/.hidden
        chmod 0 /tmp/a""")
    done = s.sbx("clean", "--json").json
    eq((done["schema"], done["session_id"], done["left"], done["removed"]), ("sbx.clean/1", s.id, 0, 12), "clean")
    # What has a second name elsewhere is not freed.
    check(600000 <= done["freed_bytes"] < 700000, "freed:", done)
    left = s.sh("find /tmp /var/tmp /dev/shm | sort; stat -c %a /tmp; cat /workspace/f /workspace/d/f ~/d/f; "
                "wc -c </workspace/second")["stdout"]
    eq(left, "/dev/shm\n/tmp\n/var/tmp\n1777\nkept\nkept\nkept\n300000\n", "what is left")
    done = s.sbx("clean")
    eq((done.code, done.out, done.err), (0, "freed 0 B\n", ""), "the second time")
    eq(s.events("files_removed")[-1]["paths"], ["/tmp", "/var/tmp", "/dev/shm"], "event")


@test("kept interpreters live through clean, with what they have open")
def clean_contexts(k):
    s = k.session(runtime="python")
    s.cell("f = open('/tmp/mine', 'w+'); f.write('words'); f.flush(); x = 41")
    s.cell("y=42", "--lang", "shell")
    s.cell("var z = 43", "--lang", "node")
    eq(s.sbx("clean", "-q").out, "", "clean -q")
    result = s.cell("f.seek(0), f.read(), x")
    eq((result["result"]["text/plain"], result["state"]["interpreter"]), ("(0, 'words', 41)", "kept"))
    eq(s.cell("echo $y; echo t >/tmp/t; cat /tmp/t", "--lang", "shell")["stdout"], "42\nt\n")
    eq(s.cell("z", "--lang", "node")["result"]["text/plain"], "43")


@test("clean wakes a dormant session, and lets one that /dev/shm kept awake sleep")
def clean_dormant(k):
    s = k.session("--dormant-after", "0.3")
    s.sh("echo x >/tmp/x")
    s.asleep(5)
    eq(s.sbx("clean", "--json").json["removed"], 1)
    s.sh("echo x >/dev/shm/x")
    time.sleep(0.8)
    eq(s.show()["status"], "live", "with a file in /dev/shm")
    eq(s.sbx("clean", "--json").json["removed"], 1)
    s.asleep(5)


@test("a session at its disk limit can be cleaned, and goes on")
def clean_full(k):
    s = k.session("--disk", "16Mi")
    check(s.sh("cat /dev/zero >/tmp/fill")["status"] in ("limit", "error"), "the control: no limit")
    check(s.sbx("clean", "--json").json["freed_bytes"] > 8 * kit.MIB, "freed too little")
    eq(s.sh("head -c 8000000 /dev/zero >f")["status"], "success", "afterwards")


@test("clean ends although something fills what it empties")
def clean_against(k):
    s = k.session("--exec-timeout", f"{2 * kit.SCALE:.0f}")
    s.start("--timeout", "30", "--", "sh", "-c", "while :; do i=$((i + 1)); : >/tmp/$i; mkdir -p /tmp/d$i/e; done")
    check(until(lambda: s.sh("ls /tmp | head -n 1")["stdout"]), "the control: it writes nothing")
    done = s.sbx("clean", seconds=20)
    check(done.code in (0, 1, 6) and done.err.count("\n") <= 1, "clean:", done)
    if done.code == 6:
        check("time limit" in done.err, "why it ended:", done)


@test("a session whose lifetime is over refuses, and says why [enterprise_gateway#931]")
def expired(k):
    for dormancy in ("0.2", "0"):
        s = k.session("--lifetime", "0.8", "--dormant-after", dormancy)
        check(until(lambda s=s: s.show()["status"] == "expired"), "it does not expire")
        s.exec("--", "true").refused(125, "lifetime")
        check(until(lambda s=s: not s.processes()), "processes are left:", s.processes())


@test("a lifetime ends what runs [daytona#2626]")
def expired_running(k):
    s = k.session("--lifetime", "0.8")
    done = s.exec("--json", "--", "sleep", "300")
    check(done.seconds < 5 * kit.SCALE, "it took", done.seconds)
    eq(done.json["status"], "cancelled", "status")


@test("a stopped session refuses with the way on, and starts on the same files")
def stopped(k):
    s = k.session()
    s.sh("echo kept >f")
    eq(s.sbx("stop").code, 0, "stop")
    eq(s.processes(), {}, "processes")
    s.exec("--", "true").refused(125, "stopped", f"sbx start {s.id}")
    k.sbx("cp", f"{s.id}:/workspace/f", f"{k.scratch}/f").refused(6, "stopped")
    eq(s.sbx("stop").code, 0, "a second stop")
    eq(s.sbx("start").code, 0, "start")
    eq(s.exec("--", "cat", "/workspace/f").out, "kept\n")


@test("a client killed before it has asked leaves no session behind")
def killed_before_asking(k):
    if not shutil.which("strace"):
        raise kit.Skip("strace is not installed")
    before = k.stored()
    # The first message it sends is the request; the supervisor is forked by then.
    done = k.command(["strace", "-qq", "-o", "/dev/null", "-e", "trace=sendmsg,sendto",
                      "-e", "inject=sendmsg,sendto:signal=KILL:when=1",
                      k.program, "run", "--runtime", "shell", "--", "true"])
    check(done.code in (137, -9), "the control: it was not killed:", done)
    check(until(lambda: k.stored() == before), "left:", k.stored(), before)


@test("stopping ends what runs, and its client is told")
def stop_running(k):
    s = k.session()
    client = s.start("--json", "--", "sleep", "300")
    check(until(lambda: any("sleep" in t for t in s.processes().values())), "it did not start")
    eq(s.sbx("stop").code, 0, "stop")
    eq(client.wait(5).json["status"], "cancelled", "status")


@test("removing ends what runs, and its client is told")
def remove_running(k):
    s = k.session()
    client = s.start("--json", "--", "sleep", "300")
    check(until(lambda: any("sleep" in t for t in s.processes().values())), "it did not start")
    eq(s.sbx("rm").code, 0, "rm")
    check(client.wait(5).code in (125, 130), "exit code of the client")
    s.exec("--", "true").refused(125, s.id)
    eq(k.stored(), [], "what is stored")


@test("a removed session, and a name that never was, are told with the nearest name")
def missing(k):
    s = k.session("--name", "workshop")
    k.sbx("exec", "workshp", "--", "true").refused(125, "workshp", "did you mean workshop?")
    k.sbx("show", "workshp").refused(3, "workshp", "did you mean workshop?")
    eq(k.sbx("exec", "workshop", "--", "true").code, 0, "by name")
    eq(s.remove().code, 0)
    k.sbx("exec", "workshop", "--", "true").refused(125, "workshop")
    done = k.sbx("rm", "-f", "workshop")
    eq((done.code, done.out, done.err), (0, "", ""), "rm -f of what is gone")


@test("a name is taken once, and free again after rm")
def taken(k):
    s = k.session("--name", "one")
    k.sbx("create", "-q", "--runtime", "shell", "--name", "one").refused(4, "one")
    eq(len(k.stored("sessions")), 1, "sessions stored")
    eq(s.remove().code, 0)
    k.session("--name", "one").alive()


@test("a damaged session is shown as such, refuses, and can be removed [docker/sbx-releases#353]")
def damaged(k):
    s = k.session()
    eq(s.sbx("stop").code, 0)
    for name, content in (("spec.json", "{"), ("status.json", "\0\1")):
        with open(f"{s.path}/{name}", "w", encoding="utf-8") as f:
            f.write(content)
        listed = k.sbx("list", "--json").out
        check('"damaged"' in listed, "list does not say so:", name, listed)
        done = s.exec("--", "true")
        check(done.code == 125 and done.err.count("\n") == 1, "exec:", done)
    eq(s.remove().code, 0, "rm")
    eq(k.stored(), [], "what is stored")


@test("two clients that wake a session at once get one supervisor")
def wake_twice(k):
    s = k.session("--dormant-after", "0.2")
    for _ in range(5):
        s.asleep(5)
        clients = [s.start("--", "echo", str(i)) for i in range(6)]
        eq([c.wait(10).out for c in clients], [f"{i}\n" for i in range(6)])
        eq(sum("supervisor" in t for t in s.processes().values()), 1, "supervisors")


@test("one connection carries many executions, in order")
def kept_connection(k):
    s = k.session(runtime="python")
    client = k.asker(s)
    eq(client.ask("x = 1"), ("", 0))
    for i in range(50):
        eq(client.ask(f"x += 1; print({i}, x)"), (f"{i} {i + 2}\n", 0), "a cell")
    eq(client.ask("import sys; sys.exit(3)"), ("", 3), "exit code")
    eq(client.ask("1 / 0")[1], 1, "exit code of an exception")
    eq(client.ask("print(x)"), ("51\n", 0), "the variable afterwards")


@test("a client that dies cancels what runs on its connection, and nothing else")
def kept_connection_dies(k):
    s = k.session(runtime="python")
    client, other = k.asker(s), k.asker(s)
    eq((client.ask("x = 5"), other.ask("print(x)")), (("", 0), ("5\n", 0)))
    client.tell("print('begun', flush=True); import time; time.sleep(300)")
    check(until(lambda: s.events("execution_update")[-1]["status"] in ("running", "output")), "it does not run")
    client.kill()
    eq(other.ask("print(x)"), ("5\n", 0), "another's connection, and the variables")
    statuses = [r["result"]["status"] for r in s.records()]
    eq(sorted(statuses), ["cancelled", "success", "success", "success"], "statuses")


@test("a kept connection does not keep its session awake, and survives its sleep and its supervisor")
def kept_connection_idle(k):
    s = k.session("--dormant-after", "0.3")
    client = k.asker(s)
    eq(client.ask("echo one"), ("one\n", 0))
    eq(k.sbx("context", "rm", s.id, "main").code, 0, "context rm")
    s.asleep(5)
    eq(client.ask("echo two"), ("two\n", 0), "after its sleep")
    pid, = (p for p, title in s.processes().items() if "supervisor" in title)
    os.kill(pid, 9)
    eq(client.ask("echo three"), ("three\n", 0), "after its supervisor was killed")
    eq(s.sbx("stop").code, 0, "stop")
    client.tell("echo four")
    done = client.wait(5)
    check(done.code == 1 and "stopped" in done.err, "a stopped session is not said:", done)


@test("run leaves nothing, whatever its program does")
def run_leaves_nothing(k):
    for script, code in (("exit 3", 3), ("kill -9 $$", 137), ("setsid sleep 300 & exit 0", 0), ("chmod 000 .", 0)):
        eq(k.sbx("run", "--", "sh", "-c", script).code, code, script)
        check(until(lambda: not k.stored()), "stored:", k.stored())
    eq(k.sbx("run", "--timeout", "0.2", "--", "sleep", "300").code, 124)
    eq(k.sbx("run", "--", "/nonexistent").code, 127)
    eq(k.sbx("run", "-c", "print(6 * 7)").out, "42\n")
    check(until(lambda: not k.stored()), "stored:", k.stored())


@test("run tells the events of its execution to its client, and keeps no journal")
def run_has_no_journal(k):
    lines = [json.loads(line) for line in k.sbx("run", "--stream", "--", "true").out.splitlines()]
    events = [line for line in lines if "seq" in line]
    numbers = [e["seq"] for e in events]
    check(numbers and numbers == sorted(set(numbers)), "numbers:", numbers)
    eq([e["status"] for e in events if e["type"] == "execution_update"][-1], "success")
    check(until(lambda: not k.stored("sessions")), "stored:", k.stored())
    client = k.start("run", "--", "sleep", "60")
    check(until(lambda: k.stored("sessions")), "it does not begin")
    name = k.stored("sessions")[0].rpartition("/")[2].lstrip(".")
    check(until(lambda: k.sbx("show", name).code == 0), "it is not there")
    done = k.sbx("events", name)
    check(done.code == 2 and "run --stream" in done.err, "it says", done)
    client.kill()
    check(until(lambda: not k.stored()), "stored:", k.stored())


if __name__ == "__main__":
    raise SystemExit(kit.main())

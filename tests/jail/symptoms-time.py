"""Time limits and killing: what other systems were reported to get wrong."""
import contextlib
import os
import shutil
import signal
import time

import kit
from kit import check, eq, test, until, within


def names_below(s):
    """Titles of what runs inside, but for the processes that sbx itself needs."""
    return sorted(t for t in s.processes().values() if not t.startswith("sbx"))


def timed_out(result, limit_ms):
    eq(result["status"], "timeout", "status")
    eq(result["exit_code"], 124, "exit code")
    eq(result["reason"]["kind"], "timeout_wall", "reason")
    eq(result["reason"]["limit"], limit_ms, "the limit that is named")


@test("no descendant is alive when a time limit is reported [langfuse#15955]")
def descendants(k):
    s = k.session()
    done = s.exec("--json", "--timeout", "0.05", "--", "sh", "-c", "sleep 300 & sleep 301 & wait")
    eq(names_below(s), [], "still alive")
    timed_out(done.json, 50)
    within(done.seconds, 2)


@test("descendants that call setsid do not outlive the time limit [langfuse#15973]")
def sessions_of_their_own(k):
    s = k.session()
    script = """setsid sleep 300 & setsid -f sh -c 'trap "" TERM HUP INT; while :; do sleep 0.01; echo x >>f; done'
        (setsid setsid sleep 302 &) ; sleep 303"""
    result = s.sh(script, options=["--timeout", "0.3"])
    eq(names_below(s), [], "still alive")
    timed_out(result, 300)
    size = os.path.getsize(f"{s.up}/workspace/f")
    time.sleep(0.2)
    eq(os.path.getsize(f"{s.up}/workspace/f"), size, "a file that a survivor would write")


@test("exec returns when its leader ends, not when its pipes close [agent-os#3334]")
def leader_ends(k):
    s = k.session()
    done = s.exec("--json", "--timeout", "20", "--", "sh", "-c", "(sleep 300 &); echo out; exit 0")
    within(done.seconds, 2)
    eq((done.json["status"], done.json["stdout"]), ("success", "out\n"))
    eq(done.json["leftovers_killed"], 1, "leftovers_killed")
    eq(names_below(s), [], "still alive")


@test("what a killed leader's children go on writing does not hold its result back [shisad#132]")
def chatter(k):
    s = k.session()
    done = s.exec("--json", "--timeout", "0.5", "--", "sh", "-c",
                  "(trap '' TERM HUP; exec setsid yes chatter) & exec sleep 300")
    eq(done.json["status"], "timeout", "status")
    check(done.json["stdout"].startswith("chatter\n"), "the control: it wrote nothing", done.json["stdout"])
    within(done.seconds, 10)
    eq(names_below(s), [], "still alive")


@test("what a command leaves in the background has no time of its own [boxlite#1460, minimal#1342]")
def survivors(k):
    s = k.session()
    result = s.sh("sleep 300 & setsid sleep 301 & exit 7", options=["--timeout", "0"])
    eq((result["exit_code"], result["leftovers_killed"]), (7, 2))
    eq(names_below(s), [], "still alive")


@test("nohup does not keep exec waiting, nor what it started alive [prime#305]")
def nohup(k):
    s = k.session()
    done = s.exec("--json", "--", "sh", "-c", "nohup sleep 300 >/dev/null 2>&1 & echo on")
    within(done.seconds, 2)
    eq(done.json["leftovers_killed"], 1, "leftovers_killed")
    eq(names_below(s), [], "still alive")
    s.alive()


@test("processes that stop themselves die on time [piston#196]")
def stopped(k):
    s = k.session()
    done = s.exec("--json", "--timeout", "0.2", "--", "sh", "-c", "sleep 300 & kill -STOP 0; kill -STOP $$")
    timed_out(done.json, 200)
    within(done.seconds, 2)
    eq(names_below(s), [], "still alive")


@test("a program that ignores every signal is killed soon after its limit [aidevops#5531]")
def deaf(k):
    s = k.session()
    done = s.exec("--json", "--timeout", "0.2", "--", "sh", "-c",
                  "trap '' TERM INT HUP QUIT; while :; do sleep 1; done")
    timed_out(done.json, 200)
    within(done.seconds, 1.5)
    eq(done.json["signal"], "KILL", "signal")


@test("the limit that fired is named with its value, in both forms [agentscope-java#2974]")
def limit_is_named(k):
    s = k.session("--exec-timeout", "0.3")
    done = s.exec("--", "sleep", "300")
    done.refused(124, "time limit", "300 ms")
    timed_out(s.run("sleep", "300"), 300)
    timed_out(s.run("sleep", "300", options=["--timeout", "100ms"]), 100)


@test("there is a limit where none was asked for [OpenSandbox#217]")
def default_limit(k):
    eq(k.plain().show()["exec_timeout_ms"], 60000, "the usual limit of an execution")


@test("cells, commands and terminals have the same limit [llm-sandbox#100]")
def one_path(k):
    s = k.session("--exec-timeout", "0.4", runtime="python")
    timed_out(s.cell("import time; time.sleep(300)"), 400)
    timed_out(s.cell("sleep 300", "--lang", "shell"), 400)
    timed_out(s.cell("await new Promise(r => setTimeout(r, 300000))", "--lang", "node"), 400)
    timed_out(s.run("sleep", "300"), 400)
    eq(s.exec("-t", "--", "sleep", "300").code, 124, "with a terminal")


@test("a loop inside a function is no way round a limit [smolagents#871]")
def loop_in_function(k):
    s = k.plain()
    eq(s.cell("x_kept = 41")["status"], "success")
    timed_out(s.cell("def f():\n    while True:\n        pass\nf()", "--timeout", "0.3"), 300)
    eq(s.cell("x_kept + 1")["result"]["text/plain"], "42", "a variable after the interrupt")


@test("control comes back at the limit although the cell catches the interrupt [smolagents#2197]")
def stubborn_cell(k):
    s = k.session(runtime="python")
    code = """import signal, time
for n in (signal.SIGINT, signal.SIGTERM): signal.signal(n, signal.SIG_IGN)
while True:
    try: time.sleep(300)
    except BaseException: pass"""
    done = s.exec("--json", "--timeout", "0.2", "-c", code)
    timed_out(done.json, 200)
    within(done.seconds, 4)
    again = s.cell("1")
    eq((again["state"]["epoch"], again["state"]["interpreter"]), (2, "restarted"))
    check(again["state"]["lost"], "what was lost is not said:", again["state"])


@test("CPU time is a limit of its own")
def cpu_time(k):
    s = k.session()
    result = s.sh("while :; do :; done", options=["--cpu-time", "1", "--timeout", "30"])
    eq((result["status"], result["reason"]["kind"], result["exit_code"]), ("timeout", "timeout_cpu", 124))
    check(result["duration_ms"] < 10000 * kit.SCALE, "it took", result["duration_ms"])


@test("a client killed by SIGKILL takes what it ran with it [sandlock#238]")
def client_killed(k):
    s = k.session()
    client = s.start("--", "sh", "-c", "setsid sleep 300 & sleep 301")
    check(until(lambda: len(names_below(s)) >= 3), "it did not start")
    client.kill()
    check(until(lambda: not names_below(s)), "still alive:", names_below(s))
    check(until(s.records), "there is no record of it")
    result = s.records()[0]["result"]
    eq((result["status"], result["reason"]), ("cancelled", {"kind": "cancelled", "cause": "client_gone"}))
    s.alive()


@test("Ctrl-C reaches what runs, and the record says cancelled [rakazo#28]")
def interrupted(k):
    s = k.session()
    client = s.start("--json", "--", "sh", "-c", "setsid sleep 300 & echo begun; sleep 301")
    check(until(lambda: len(names_below(s)) >= 3), "it did not start")
    client.kill(signal.SIGINT)
    done = client.wait(5)
    eq((done.code, done.json["status"], done.json["stdout"]), (130, "cancelled", "begun\n"))
    eq(names_below(s), [], "still alive")


@test("Ctrl-C ends a cell, and its variables stay [openinterpreter#536]")
def interrupted_cell(k):
    for language, put, loop, get in (("python", "y = 7", "while True: pass", "y"),
                                     ("node", "var y = 7", "while (true);", "y"),
                                     ("shell", "y=7", "while :; do :; done", "echo $y")):
        s = k.plain()
        eq(s.cell(put, "--lang", language)["status"], "success", language)
        client = s.start("--json", "--lang", language, "-c", loop)
        check(until(lambda s=s: s.events("execution_update")[-1]["status"] == "running"), "it did not start")
        time.sleep(0.1)
        client.kill(signal.SIGINT)
        done = client.wait(5)
        eq(done.json["status"], "cancelled", language)
        after = s.cell(get, "--lang", language)
        eq((after["stdout"] + after.get("result", {}).get("text/plain", "")).strip(), "7", language)


@test("a supervisor killed by SIGKILL leaves no process; the next command works [sandlock#238]")
def supervisor_killed(k):
    s = k.session()
    client = s.start("--", "sh", "-c", "setsid sleep 300 & echo begun; sleep 301")
    check(until(lambda: len(names_below(s)) >= 3), "it did not start")
    os.kill(next(p for p, t in s.processes().items() if "supervisor" in t), signal.SIGKILL)
    eq(client.wait(5).code, 125, "exit code of the client")
    check(until(lambda: not names_below(s)), "still alive:", names_below(s))
    s.alive()


@test("every execution ends in exactly one last event [eve#442]")
def one_last_event(k):
    s = k.session()
    for script, limit in (("true", "5"), ("exit 3", "5"), ("kill -9 $$", "5"), ("sleep 300", "0.1"),
                          ("exec /nonexistent", "5")):
        s.sh(script, options=["--timeout", limit])
    s.run("/nonexistent")
    ends = {}
    for event in s.events("execution_update"):
        if event["status"] not in ("queued", "running", "output"):
            ends.setdefault(event["execution_id"], []).append(event["status"])
    eq(sorted(v for [v] in ends.values()), ["error"] * 2 + ["killed", "setup_failed", "success", "timeout"])


@test("set-up that gets stuck is ended, and said to be set-up [codex#20807]", modes=("user",))
def stuck_setup(k):
    def stop(s, what):
        pids = [p for p, title in s.processes().items() if title.split()[2:3] == [what]]
        check(pids, f"no {what}:", s.processes())
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        return pids
    init, spare, python = k.session(), k.session(), k.session(runtime="python")
    for s in (init, spare, python):
        s.exec("--", "true")
        check(until(lambda s=s: [t for t in s.processes().values() if t.endswith("exec")]), "no spare")
    stopped = stop(init, "init")
    init.exec("--", "true")  # the spare that was there
    stopped += stop(spare, "exec") + stop(python, "exec")
    clients = [s.start("--json", "--timeout", "0", *words) for s, words in
               ((init, ["--", "true"]), (spare, ["--", "true"]), (python, ["-c", "1"]))]
    try:
        for client, stage in zip(clients, ("process", "start", "interpreter")):
            result = client.wait(60).json
            reason = result["reason"]
            eq((result["status"], reason["kind"], reason["stage"], reason["errno"]),
               ("setup_failed", "setup", stage, "ETIMEDOUT"))
    finally:
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
    for s in (init, spare, python):
        s.alive()


@test("a jail that does not get ready is ended with its own error", modes=("root",))
def stuck_jail(k):
    if not shutil.which("strace"):
        raise kit.Skip("strace is not installed")
    if k.has_sanitizer():
        raise kit.Lacks("the leak check does not work under strace")
    done = k.command(["strace", "-fqq", "-o", "/dev/null", "-e", "trace=pivot_root",
                      "-e", "inject=pivot_root:delay_enter=24000000", k.program, "run", "--timeout", "0",
                      "--runtime", "shell", "--", "true"], seconds=90)
    check(done.code == 125 and "sbx run: the jail was not ready within 20 s" in done.err, "it says", done)
    check(until(lambda: not [n for n in k.stored() if n.startswith("sessions/run_")]), "left:", k.stored())


@test("a program that cannot be started never looks like a program that failed")
def not_started(k):
    s = k.session()
    result = s.run("/nonexistent/program")
    eq((result["status"], result["exit_code"]), ("setup_failed", 127))
    eq((result["reason"]["kind"], result["reason"]["errno"]), ("setup", "ENOENT"))
    eq(s.run("/etc/passwd")["exit_code"], 126, "what is no program")
    s.exec("--", "/nonexistent/program").refused(127, "/nonexistent/program", "No such file")


if __name__ == "__main__":
    raise SystemExit(kit.main())

"""State from execution to execution: what other systems were reported to get wrong."""
import os
import signal
import time

import kit
from kit import check, eq, test, until, within

LANGUAGES = ("python", "node", "shell")
# Per language: set x to 1, and print it.
SET = {"python": "x = 1", "node": "var x = 1", "shell": "x=1"}
SHOW = {"python": "print(x)", "node": "console.log(x)", "shell": "echo $x"}


def ok(result):
    eq(result["status"], "success", f"status of {result!r:.600}")
    return result


def text(result):
    return ok(result)["stdout"].strip()


@test("cd, export and functions stay in a shell context [daytona#1863]")
def shell_state(k):
    s = k.session()
    ok(s.cell("mkdir -p /workspace/d && cd d && export A=1 && b=2 && f() { echo f$1; }"))
    eq(text(s.cell("pwd; echo $A$b; f x; sh -c 'echo $A'")), "/workspace/d\n12\nfx\n1")
    eq(s.exec("--", "pwd").out, "/workspace\n", "a command begins where it always does")


HEREDOCS = {
    "quoted": "cat <<'EOF'\n$HOME `x` \\\nEOF\necho after",
    "unquoted": "v=1\ncat <<EOF\nv is $v\nEOF\necho after",
    "nested": "cat <<A; cat <<'B'\nfirst\nA\nsecond\nB\nsh <<'OUT'\ncat <<IN\nthird\nIN\nOUT\necho after",
    "tabs": "cat <<-EOF\n\t\ttab\n\tEOF\necho after",
    "unterminated": "cat <<EOF\nno end",
}


@test("heredocs neither hang nor poison the next cell [daytona#4230, sandbox-sdk#602]")
def heredocs(k):
    s = k.session()
    for name, code in HEREDOCS.items():
        done = s.exec("--json", "--timeout", "5", "-c", code)
        within(done.seconds, 3, name)
        if name != "unterminated":
            eq(text(done.json).split("\n")[-1], "after", name)
        eq(text(s.cell("echo next")), "next", f"the cell after {name}")


@test("set -e, exit, exec and a broken pipe do not end the session shell [amika#342, everruns#1204]")
def shell_survives(k):
    s = k.session()
    ok(s.cell("kept=1"))
    cases = (("set -e; false; echo unreached", 1), ("exit 3", 3), ("exec false", None), ("yes | head -1 >&-", None),
             ("set -u; echo $unset_variable", None), ("trap 'echo trap' EXIT; exit 4", 4), ("return 5", None),
             ("if", None), ("kill -PIPE $BASHPID", None), ("readonly x=1; x=2", None), ("set -o noexec; echo", None))
    for code, want in cases:
        done = s.exec("--json", "--timeout", "5", "-c", code)
        within(done.seconds, 3, code)
        if want is not None:
            eq(done.json["exit_code"], want, code)
        check("unreached" not in done.json["stdout"], "it went on:", done)
        eq(text(s.cell("echo next")), "next", f"the cell after {code}")
    eq(text(s.cell("echo $kept")), "1", "a variable from before")
    eq(s.show()["contexts"][0]["epoch"], 1, "epoch")


@test("sys.exit and process.exit are exit codes, not ends of the interpreter")
def exits(k):
    s = k.session(runtime="python")
    for language, code in (("python", "import sys; sys.exit(3)"), ("node", "process.exit(3)")):
        ok(s.cell(SET[language], "--lang", language))
        result = s.cell(code, "--lang", language)
        eq((result["status"], result["exit_code"], result["state"]["epoch"]), ("error", 3, 1), language)
        eq(text(s.cell(SHOW[language], "--lang", language)), "1", language)


@test("a killed interpreter is not pretended to be alive [jupyter-mcp-server#397]")
def killed_interpreter(k):
    for language in LANGUAGES:
        s = k.session()
        pid = {"python": "import os; print(os.getpid())", "node": "console.log(process.pid)", "shell": "echo $$"}
        ok(s.cell(SET[language] + "\n" + pid[language], "--lang", language))
        titles = {"python": "python.py", "node": "node.js", "shell": "shell.sh"}
        [victim] = [p for p, t in s.processes().items() if titles[language] in t]
        os.kill(victim, signal.SIGKILL)
        check(until(lambda s=s: not s.show()["contexts"][0]["alive"]), f"{language}: it is said to be alive")
        result = s.cell("echo hi" if language == "shell" else SET[language], "--lang", language)
        eq((result["state"]["epoch"], result["state"]["interpreter"]), (2, "restarted"), language)
        check(result["state"]["lost"] and "signal 9" in result["state"]["lost"][0]["why"], "lost:", result["state"])
        eq(len(s.events("state_lost")), 1, f"{language}: state_lost events")


@test("an interpreter that its own cell kills is said to have died [index#2520, mitos#870]")
def suicide(k):
    s = k.session(runtime="python")
    ok(s.cell("x = 1"))
    done = s.exec("--json", "-c", "import os; os.kill(os.getpid(), 9)")
    within(done.seconds, 3)
    eq((done.json["status"], done.json["reason"]["kind"], done.json["exit_code"]), ("killed", "interpreter_died", 137))
    check("variables are gone" in done.json["hint"], "hint:", done.json["hint"])
    after = s.cell("x")
    eq((after["status"], after["error"]["name"], after["state"]["epoch"]), ("error", "NameError", 2))
    check("lost" in after["hint"], "hint:", after["hint"])
    eq(s.exec("-c", "import os; os._exit(7)").code, 7, "exit code of os._exit")


@test("parallel commands do not mix output, env or cwd [sandbox-sdk#290, deer-flow#1433]")
def parallel_commands(k):
    s = k.session()
    script = "mkdir -p /workspace/$I; cd /workspace/$I; for i in $(seq 50); do echo $I $PWD; done; sleep 0.2"
    clients = [s.start("--json", "-e", f"I={i}", "--", "sh", "-c", script) for i in range(8)]
    results = [c.wait().json for c in clients]
    for i, result in enumerate(results):
        eq(result["stdout"], f"{i} /workspace/{i}\n" * 50, f"output of command {i}")
    check(any(r["files_shared_with"] for r in results), "none says that others ran at the same time")


@test("parallel cells of one context run one after the other, in order [apex#645]")
def parallel_cells(k):
    s = k.session(runtime="python")
    ok(s.cell("seen = []"))
    clients = []
    for i in range(6):
        clients.append(s.start("--json", "-c", f"import time; seen.append({i}); time.sleep(0.05); "
                               f"print({i}); seen.append({i})"))
        # The next is sent when this one is known to the session.
        check(until(lambda i=i: len({e["execution_id"] for e in s.events("execution_update")}) == i + 2), "not sent")
    for i, client in enumerate(clients):
        eq(client.wait().json["stdout"], f"{i}\n", f"output of cell {i}")
    eq(text(s.cell("print(seen)")), str([i for i in range(6) for _ in range(2)]), "order")


@test("a time limit counts running, not queueing [mirage#1144]")
def queueing(k):
    s = k.session(runtime="python")
    ok(s.cell("import time"))
    first = s.start("--json", "-c", "time.sleep(1)")
    check(until(lambda: s.events("execution_update")[-1]["status"] == "running"), "it did not start")
    second = s.start("--json", "--timeout", "0.5", "-c", "print('ran')")
    eq(ok(first.wait().json)["status"], "success")
    eq(ok(second.wait().json)["stdout"], "ran\n")


@test("a queued cell can be cancelled, and does not run [mirage#411]")
def cancel_queued(k):
    s = k.session(runtime="python")
    ok(s.cell("import time; ran = []"))
    first = s.start("--json", "-c", "time.sleep(1); ran.append(1)")
    check(until(lambda: s.events("execution_update")[-1]["status"] == "running"), "it did not start")
    second = s.start("--json", "-c", "ran.append(2)")
    check(until(lambda: s.events("execution_update")[-1]["status"] == "queued"), "it is not queued")
    second.kill(signal.SIGINT)
    done = second.wait(5)
    eq((done.json["status"], done.code), ("cancelled", 130), "the queued one")
    check(first.process.poll() is None, "the running one has ended, too")
    ok(first.wait().json)
    eq(text(s.cell("print(ran)")), "[1]", "what ran")


@test("contexts of a session are apart: variables and directory [codex#4653]")
def contexts(k):
    s = k.session(runtime="python")
    ok(s.cell("import os; x = 1; os.chdir('/tmp')", "--context", "a"))
    eq(s.cell("x", "--context", "b")["error"]["name"], "NameError")
    eq(text(s.cell("print(os.getcwd(), x)", "--context", "a")), "/tmp 1")
    eq(text(s.cell("import os; print(os.getcwd())", "--context", "b")), "/workspace")


@test("too many contexts are refused, and one fewer is room again [OpenSandbox#35]")
def context_cap(k):
    s = k.session("--pids", "512")
    for i in range(16):
        ok(s.cell(":", "--context", f"c{i}"))
    refused = s.cell(":", "--context", "one-more")
    eq(refused["status"], "setup_failed")
    check("16 contexts" in refused["warnings"][0]["message"], "it is not said:", refused)
    s.alive()
    eq(text(s.cell("echo here", "--context", "c15")), "here")
    k.sbx("context", "rm", s.id, "c3")
    ok(s.cell("y=1", "--context", "one-more"))
    eq(s.cell(":", "--context", "and-one")["status"], "setup_failed", "without a second rm")
    k.sbx("context", "rm", s.id, "one-more")
    again = ok(s.cell("echo .$y.", "--context", "c3"))
    eq(text(again), "..", "a new one")
    check(again["state"]["epoch"] > 1, "it passes for the old one:", again["state"])


@test("--env and --workdir hold for one execution only [daytona#2605, #3277]")
def per_execution(k):
    s = k.session("-e", "A=session", runtime="python")
    show = "import os; print(os.environ.get('A'), os.getcwd())"
    eq(text(s.cell(show, "-e", "A=exec", "-w", "/tmp")), "exec /tmp")
    eq(text(s.cell(show)), "session /workspace", "afterwards")
    eq(s.exec("-e", "A=exec", "-w", "/tmp", "--", "sh", "-c", "echo $A $PWD").out, "exec /tmp\n")
    eq(s.exec("--", "sh", "-c", "echo $A $PWD").out, "session /workspace\n")


@test("one environment for every path: command, three languages, terminal [OpenSandbox#1866]")
def one_environment(k):
    k.write("env", "FROM_FILE=f\n# no\n\nBOTH=file\n")
    s = k.session("--env-file", f"{k.scratch}/env", "-e", "BOTH=flag")
    want = "f flag"
    eq(s.exec("--", "sh", "-c", "echo $FROM_FILE $BOTH").out.strip(), want, "command")
    eq(s.exec("-t", "--", "sh", "-c", "echo $FROM_FILE $BOTH").out.strip(), want, "terminal")
    eq(text(s.cell("echo $FROM_FILE $BOTH")), want, "shell")
    code = "import os; print(os.environ['FROM_FILE'], os.environ['BOTH'])"
    eq(text(s.cell(code, "--lang", "python")), want, "python")
    eq(text(s.cell("console.log(process.env.FROM_FILE, process.env.BOTH)", "--lang", "node")), want, "node")


@test("of two values of a variable the nearer one counts: base, session, execution [sandbox-sdk#204]")
def precedence(k):
    s = k.session("-e", "A=session", "-e", "HOME=/tmp", "-e", "EMPTY=")
    show = "echo $A $HOME ${EMPTY-unset}.${NEVER-unset}."
    for language in ([], ["--lang", "shell"]):
        run = (lambda *o, l=language: s.cell(show, *l, *o)["stdout"]) if language else \
              (lambda *o: s.sh(show, options=list(o))["stdout"])
        eq(run(), "session /tmp .unset.\n", f"the session's {language}")
        eq(run("-e", "A=exec", "-e", "HOME=/"), "exec / .unset.\n", f"the execution's {language}")
        eq(run("-e", "A="), "/tmp .unset.\n", f"an empty one {language}")
        eq(run(), "session /tmp .unset.\n", f"afterwards {language}")


@test("nothing of the caller's environment comes in, home and temporary directory are inside")
def closed_environment(k):
    environment = {**k.environment(), "SECRET_OF_CALLER": "s", "LD_PRELOAD": ""}
    s = k.session()
    out = s.exec("--", "env", env=environment).out
    check("SECRET_OF_CALLER" not in out and "SBX_HOME" not in out, "it came in:", out)
    values = dict(line.split("=", 1) for line in out.splitlines())
    eq(values["HOME"], "/home/sandbox", "HOME")
    check(values.get("TMPDIR", "/tmp") == "/tmp", "TMPDIR:", values)
    ok(s.sh("echo x >$HOME/f && echo x >${TMPDIR:-/tmp}/f && cat $HOME/f /tmp/f"))


@test("--fresh gives a new interpreter, and says so")
def fresh(k):
    for language in LANGUAGES:
        s = k.plain()
        ok(s.cell(SET[language], "--lang", language, "--context", "fresh"))
        gone = s.cell(SHOW[language], "--lang", language, "--context", "fresh", "--fresh")
        check(gone["stdout"].strip() != "1", f"{language}: the variable is still there")
        eq((gone["state"]["epoch"], gone["state"]["interpreter"]), (2, "started"), language)


@test("state.children counts what cells left running; it dies with the context")
def children(k):
    s = k.session(runtime="python")
    ok(s.cell("import subprocess; p = subprocess.Popen(['sleep', '300'])"))
    eq(ok(s.cell("p.poll()"))["state"]["children"], 1, "children")
    eq(ok(s.cell("p.kill(); p.wait()"))["state"]["children"], 0, "children")
    ok(s.cell("p = subprocess.Popen(['setsid', 'sleep', '301'])"))
    ok(s.cell("1", "--fresh"))
    check(until(lambda: not any("sleep" in t for t in s.processes().values())), "it outlives its context")


@test("a limit takes what its cell started, not what earlier cells started")
def children_of_interrupted(k):
    s = k.session(runtime="python")
    ok(s.cell("import subprocess, time; old = subprocess.Popen(['sleep', '300'])"))
    time.sleep(0.05)
    s.cell("new = subprocess.Popen(['sleep', '301']); time.sleep(300)", "--timeout", "0.3")
    eq(text(s.cell("time.sleep(0.1); print(old.poll(), new.poll() is None)")), "None False")


@test("an interpreter that takes its time to be interrupted keeps what earlier cells started")
def slow_interrupt(k):
    s = k.session(runtime="python")
    s.cell("import subprocess, time; p = subprocess.Popen(['sleep', '300'])")
    # Longer than until the second signal, shorter than until the third.
    done = s.cell("try: time.sleep(60)\nexcept KeyboardInterrupt:\n  q = subprocess.Popen(['sleep', '301'])\n"
                  "  end = time.monotonic() + 0.45\n  while time.monotonic() < end:\n    pass\n  raise",
                  "--timeout", "0.3")
    eq((done["status"], done["state"]["interpreter"]), ("timeout", "kept"), "the slow cell")
    eq(s.cell("p.poll(), q.wait(5)")["result"]["text/plain"][:6], "(None,", "what earlier cells started")
    # A call that ignores the signal itself is still ended through its child.
    done = s.cell("import os; os.system('sleep 302')", "--timeout", "0.3")
    within(done["duration_ms"] / 1000, 2.5, "a call of system")
    eq((done["status"], s.cell("p.poll()")["state"]["epoch"]), ("timeout", 1))


@test("what the cell before has just started is not taken for what a limited cell started")
def just_before(k):
    s = k.session(runtime="python")
    s.cell("import subprocess, time")
    for i in range(6):
        s.cell("p = subprocess.Popen(['sleep', '300'])")
        eq(s.cell("time.sleep(60)", "--timeout", "0.05")["status"], "timeout", f"round {i}")
        eq(s.cell("p.poll() is None")["result"]["text/plain"], "True", f"round {i}: it lives")


@test("two languages in one session work on the same files")
def two_languages(k):
    s = k.session(runtime="python")
    ok(s.cell("open('f', 'w').write('from python')"))
    eq(text(s.cell("console.log(require('fs').readFileSync('f', 'utf8'))", "--lang", "node")), "from python")
    eq(text(s.cell("cat f", "--lang", "shell")), "from python")
    eq(len(s.show()["contexts"]), 3, "contexts")


@test("await works at the top of a cell, in python and node")
def top_level_await(k):
    s = k.session(runtime="python")
    ok(s.cell("import asyncio\nv = await asyncio.sleep(0.01, 5)"))
    eq(ok(s.cell("v"))["result"]["text/plain"], "5")
    ok(s.cell("const v = await new Promise(r => setTimeout(() => r(5), 10))", "--lang", "node"))
    eq(ok(s.cell("v", "--lang", "node"))["result"]["text/plain"], "5")


@test("the value of the last expression is shown, nothing for None")
def last_value(k):
    s = k.plain()
    eq(s.exec("-c", "1 + 1").out, "2\n")
    eq(s.exec("-c", "None").out, "")
    eq(s.exec("--no-result", "-c", "1 + 1").out, "")
    eq(s.exec("--lang", "node", "-c", "undefined").out, "")
    check("result" not in s.cell("None"), "JSON has a result for None")


@test("nothing is run again to get state back [NeMo-Gym#1942]")
def no_replay(k):
    s = k.session("--dormant-after", "0.3")
    ok(s.cell("echo once >>log"))
    os.kill(next(p for p, t in s.processes().items() if "supervisor" in t), signal.SIGKILL)
    check(until(lambda: s.show()["status"] == "dormant"), "it lives on")
    result = s.cell("cat log")
    eq(text(result), "once", "the file")
    check(result["state"]["epoch"] == 2, "epoch:", result["state"])
    eq(len(s.events("state_lost")), 1, "state_lost events")


@test("--request-id runs once, and gives the first result again")
def request_id(k):
    s = k.session()
    words = ["--json", "--request-id", "r1", "--", "sh", "-c", "echo run >>/workspace/log; echo $$; exit 3"]
    first, second = s.exec(*words), s.exec(*words)
    eq((first.code, second.code), (3, 3))
    eq(first.json, second.json, "results")
    eq(s.exec("--", "cat", "/workspace/log").out, "run\n")
    other = s.exec("--request-id", "r1", "--", "true")
    other.refused(2, "request id", "another request")
    client = s.start("--json", "--request-id", "r2", "--", "sh", "-c", "sleep 0.5; echo run >>/workspace/log")
    check(until(lambda: s.events("execution_update")[-1]["status"] == "running"), "it did not start")
    joined = s.exec("--json", "--request-id", "r2", "--", "sh", "-c", "sleep 0.5; echo run >>/workspace/log")
    eq(joined.json["execution_id"], client.wait().json["execution_id"], "the second waits for the first")
    eq(s.exec("--", "cat", "/workspace/log").out, "run\nrun\n")
    # What a cell says of itself does not make it run again.
    code = "open('/workspace/log', 'a').write('run\\n'); raise ValueError('\"status\":\"cancelled\"')"
    for _ in range(2):
        s.exec("--request-id", "r3", "--lang", "python", "-c", code)
    eq(s.exec("--", "cat", "/workspace/log").out, "run\nrun\nrun\n")


IS_LOADED = "import sys; print('decimal' in sys.modules, 'decimal' in globals(), sys.argv[1:])"


def warm(s):
    """The pid of the interpreter that is ready, or None."""
    return next((p for p, words in s.processes().items() if "python.py" in words and "decimal" in words), None)


@test("modules that are imported ahead are there at once, and not in the names of a cell")
def preloaded(k):
    plain = k.plain()
    eq(plain.cell(IS_LOADED, "--fresh")["stdout"], "False False []\n", "the control")
    s = k.session("--preload", "decimal,json.tool", runtime="python")
    eq(s.show()["preload"], ["decimal", "json.tool"], "show")
    check(until(lambda: warm(s)), "it was not started ahead:", s.processes())
    eq(k.sbx("context", "list", "--json", s.id).out, "", "a context that nobody made")
    first = s.cell(IS_LOADED)
    eq((first["stdout"], first["state"]["interpreter"], first["state"]["epoch"]),
       ("True False []\n", "started", 1), "the first cell")
    eq((first["files"], first["warnings"]), ([], []), "files, warnings")
    eq(s.cell("x = 1; 'decimal' in sys.modules")["state"]["interpreter"], "kept")
    # The first clean start says that clean ones are wanted here: the second one is ready.
    s.cell("1", "--fresh")
    check(until(lambda: warm(s)), "no other was started:", s.processes())
    again = s.cell(IS_LOADED, "--fresh")
    eq((again["stdout"], again["state"]["epoch"]), ("True False []\n", 3), "a clean one")
    eq(s.cell("x")["error"]["name"], "NameError", "its names")
    check(until(lambda: warm(s)), "no third was started:", s.processes())
    eq(s.cell(IS_LOADED, "--context", "other")["stdout"], "True False []\n", "another context")
    eq(s.cell("echo shell", "--lang", "shell")["stdout"], "shell\n", "another language")


@test("an interpreter that waits with its modules keeps no session awake, and is there again afterwards")
def preloaded_sleeps(k):
    s = k.session("--preload", "decimal", "--dormant-after", "0.5", runtime="python")
    s.asleep(5)
    eq(s.processes(), {}, "processes")
    eq(s.events("state_lost"), [], "events of a loss that is none")
    # On a slow machine it may be asleep again before the cell, which then has to wake it itself.
    for _ in range(5):
        eq(s.exec("--", "echo", "woken").out, "woken\n")
        check(until(lambda: warm(s) or s.show()["status"] != "live"), "it was not started:", s.processes())
        loaded = s.cell(IS_LOADED)["stdout"]
        if loaded == "True False []\n":
            break
        eq(k.sbx("context", "rm", s.id, "main").code, 0, "context rm")
        s.asleep(5)
    eq(loaded, "True False []\n", "after its sleep")


@test("one that waits with its modules may die, and modules that fail are told")
def preloaded_dies(k):
    s = k.session("--preload", "decimal", runtime="python")
    check(until(lambda: warm(s)), "it was not started ahead:", s.processes())
    os.kill(warm(s), 9)
    result = s.cell("1 + 1")
    # Who asks in the moment of its death may still have got it.
    check(result.get("result") == {"text/plain": "2"} or result["status"] in ("setup_failed", "killed"),
          "the next cell:", result)
    eq(s.cell("40 + 2")["result"], {"text/plain": "42"}, "the one after that")
    s = k.session("--preload", "decimal,no_such_module", runtime="python")
    result = s.cell(IS_LOADED)
    eq((result["status"], result["stdout"]), ("success", "True False []\n"))
    eq([log["level"] for log in result["logs"]], ["warning"], "logs")
    check("no_such_module" in result["logs"][0]["message"], "the message:", result["logs"])
    eq(s.cell("1")["logs"], [], "said twice")
    for words, why in ((["--preload", "a b"], "'a b'"), (["--preload", "a,"], "module"),
                       (["--preload", "os;x"], "module"), (["--preload", "os", "--runtime", "shell"], "python")):
        k.sbx("create", "--runtime", "python", *words).refused(2, why)


def driver(s):
    """The driver that its interpreter runs."""
    return next(w for words in s.processes().values() for w in words.split() if w.startswith("/run/sbx/"))


@test("a compiled driver that the interpreter does not take costs one cell, not the session")
def compiled_driver(k):
    s = k.session(runtime="python")
    eq((s.cell("40 + 2")["result"], driver(s)), ({"text/plain": "42"}, "/run/sbx/python.pyc"), "the control")
    name, = os.listdir(f"{k.home}/drivers")
    with open(f"{k.home}/drivers/{name}", "r+b") as f:
        f.write(bytes(4))
    s = k.session(runtime="python")
    eq(s.cell("1")["status"], "setup_failed", "the first cell")
    eq((s.cell("40 + 2")["result"], driver(s)), ({"text/plain": "42"}, "/run/sbx/python.py"), "the next cell")
    with open(f"{k.home}/drivers/{name}", "wb"):
        pass
    s = k.session(runtime="python")
    eq((s.cell("40 + 2")["result"], driver(s)), ({"text/plain": "42"}, "/run/sbx/python.py"), "without one")
    os.unlink(f"{k.home}/drivers/{name}")


if __name__ == "__main__":
    raise SystemExit(kit.main())

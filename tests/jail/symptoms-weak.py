"""Weak isolation: a session without namespaces. What it keeps, what it says, what it leaves."""
import contextlib
import os
import shutil
import signal
import socket

import kit
from kit import check, eq, test, until

PLACE = os.environ["SBX_TEST_PLACE"]
SAYS = "isolation is weak"


def weak(k, *options, runtime="shell"):
    return k.session("--isolation", "weak", *options, runtime=runtime)


def outside(k, script):
    """The control: the same as the same user without a session."""
    return k.command(["sh", "-c", script])


def alive(word):
    return [pid for pid, words, _ in kit.processes_of_all() if word in words.split()]


@test("it is never silent: create, run, show, list, results, record")
def said(k):
    done = k.sbx("create", "-q", "--runtime", "shell", "--isolation", "weak")
    check(done.code == 0 and done.err.count(SAYS) == 1, "create -q is silent:", done)
    k.sbx("rm", done.out.strip())
    done = k.sbx("create", "--json", "--runtime", "shell", "--isolation", "weak")
    made = done.json
    eq((made["isolation"], made["warnings"][0]["kind"]), ("weak", "weak_isolation"))
    check(made["paths"]["workspace"].startswith(k.home) and "SBX_WORKSPACE" in made["instructions"],
          "the paths are not the real ones:", made["paths"])
    k.sbx("rm", made["id"])
    done = k.sbx("run", "--isolation", "weak", "--", "echo", "hi")
    check(done.out == "hi\n" and SAYS in done.err, "run:", done)
    s = weak(k)
    result = s.run("true")
    eq((result["isolation"], result["warnings"][0]["kind"]), ("weak", "weak_isolation"))
    eq(s.records()[0]["result"]["isolation"], "weak", "record")
    check("isolation    weak" in s.sbx("show").out and SAYS in s.sbx("show").out, "show is silent")
    check("weak" in k.sbx("list", "--columns", "id,isolation").out, "list is silent")
    strong = k.session()
    eq((strong.run("true")["isolation"], strong.show()["isolation"]), ("strong", "strong"))


@test("it is not chosen by itself where namespaces are missing, and can be had there")
def in_container(k):
    program = f"{k.dir}/place"
    shutil.copyfile(PLACE, program)
    os.chmod(program, 0o755)
    start = [program, "masked-proc", "read-only=/sys", "caps", "docker", "--"]
    k.command([*start, k.program, "create", "--runtime", "shell"]).refused(5, "seccomp=unconfined")
    seen = k.command([*start, k.program, "doctor", "--json"]).json
    eq((seen["usable"], seen["weak"]), (False, {"usable": True, "problem": None}), "doctor")
    script = """
s=$("$0" create -q --isolation weak --runtime shell) && "$0" exec $s -- sh -c 'echo kept >f; cat f' &&
"$0" exec $s -c 'x=1' && "$0" exec $s -c 'echo cell $x' && "$0" rm $s"""
    done = k.command([*start, "sh", "-c", script, k.program])
    eq((done.code, done.out), (0, "kept\ncell 1\n"), f"in a container: {done!r}")
    eq(k.stored("sessions", "names"), [], "what is left")


@test("without Landlock it is refused, not made weaker still")
def needs_landlock(k):
    program = f"{k.dir}/place"
    shutil.copyfile(PLACE, program)
    os.chmod(program, 0o755)
    for call in ("landlock_create_ruleset:ENOSYS", "landlock_restrict_self:EPERM", "seccomp:EPERM"):
        start = [program, f"deny={call}", "--", k.program]
        done = k.command([*start, "create", "--isolation", "weak", "--runtime", "shell"])
        done.refused(5, "Landlock")
        eq(k.command([*start, "doctor", "--json"]).json["weak"]["usable"], False, "doctor")
    eq(k.stored("sessions", "names"), [], "what is left")


@test("what has to be mounted is refused")
def needs_mounts(k):
    os.makedirs(f"{k.scratch}/image/bin", exist_ok=True)
    k.give(f"{k.scratch}/image")
    k.sbx("create", "--isolation", "weak", "--runtime", f"dir:{k.scratch}/image").refused(
        2, "weak isolation mounts nothing")


@test("nothing outside can be written, and only what is the machine's can be read")
def files(k):
    secret = k.write("secret", "secret\n", 0o644)
    s = weak(k)
    tries = {"read a file of the caller": f"cat {secret}", "list a directory": f"ls {k.scratch}",
             "write beside it": f"echo x >{k.scratch}/new", "write over it": f"echo x >{secret}",
             "remove it": f"rm -f {secret}", "rename it": f"mv {secret} {secret}.2",
             "link it": f"ln {secret} here", "truncate it": f"truncate -s 0 {secret}",
             "write to /tmp": f"echo x >/tmp/sbx-weak-{os.getpid()}",
             "write to /dev/shm": f"echo x >/dev/shm/sbx-weak-{os.getpid()}",
             "make a directory": f"mkdir {k.scratch}/d", "read a process": f"cat /proc/{os.getpid()}/cmdline",
             "change its mode": f"chmod 600 {secret}", "change its time": f"touch -d @1 {secret}"}
    s.exec("--", "true")
    for what, script in tries.items():
        result = s.sh(script)
        check(result["exit_code"] != 0, f"it can {what}:", result["stdout"], result["stderr"])
    with open(secret, encoding="utf-8") as f:
        eq(f.read(), "secret\n", "the file")
    st = os.stat(secret)
    eq((st.st_mode & 0o777, st.st_mtime > 1), (0o644, True), "its mode and time")
    for what in ("read a file of the caller", "list a directory", "link it", "change its mode",
                 "change its time", "truncate it", "write over it"):
        done = outside(k, f"cd {k.scratch} && {tries[what]}")
        eq(done.code, 0, f"the control cannot {what}: {done!r}")
    check("root" in s.sh("cat /etc/passwd")["stdout"], "/etc/passwd cannot be read")


@test("it has no sockets, and no object of the host that has no path")
def calls(k):
    s = weak(k, runtime="python")
    path = f"{k.scratch}/bus"
    with socket.socket(socket.AF_UNIX) as bus:
        bus.bind(path)
        os.chmod(path, 0o666)
        bus.listen()
        code = f"""
import ctypes, os, resource, socket
libc = ctypes.CDLL(None, use_errno=True)
def tried(f):
    try:
        return repr(f())
    except OSError as e:
        return e.errno
def call(name, *args):
    r = getattr(libc, name)(*args)
    if r < 0: raise OSError(ctypes.get_errno(), name)
    return r
a, b = socket.socketpair()
a.send(b"x")
[tried(lambda: socket.socket(socket.AF_UNIX).connect({path!r})), tried(lambda: socket.socket()),
 tried(lambda: socket.socketpair(type=socket.SOCK_DGRAM)),
 tried(lambda: call("shmget", 77, 4096, 0o1666)), tried(lambda: call("semget", 77, 1, 0o1666)),
 tried(lambda: call("msgget", 77, 0o1666)), tried(lambda: call("mq_open", b"/x", 66, 0o666, None)),
 tried(lambda: resource.prlimit({os.getpid()}, resource.RLIMIT_NOFILE, (9, 9))),
 tried(lambda: os.setpriority(os.PRIO_PROCESS, {os.getpid()}, 19)),
 tried(lambda: os.sched_setaffinity({os.getpid()}, [0])),
 tried(lambda: os.kill({os.getpid()}, 0)), tried(lambda: call("unshare", 0x10000000)), b.recv(1)]"""
        result = s.cell(code)
        control = k.command([kit.PYTHON, "-c", f"import socket; socket.socketpair(type=socket.SOCK_DGRAM);"
                             f"socket.socket(socket.AF_UNIX).connect({path!r}); print('done')"])
    want = "[1, 1, 1, 38, 38, 38, 38, 1, 1, 1, 1, 1, b'x']"
    eq(result.get("result", {}).get("text/plain"), want, f"what was refused: {result['stderr']}")
    eq(control.out, "done\n", f"the control: {control!r}")


@test("the payload cannot end what watches it [Landlock ABI 6]")
def signals(k):
    s = weak(k)
    if s.show()["jail"]["landlock_abi"] < 6 and not k.is_root:
        raise kit.Lacks("this kernel's Landlock does not know signals")
    s.exec("--", "true")
    watchers = until(lambda: [p for p, title in s.processes().items() if title.startswith("sbx: ")][2:]
                     and sorted(s.processes()))
    check(watchers, "no watchers:", s.processes())
    script = "for p; do kill -9 $p && echo ended $p; done; kill -9 -1 && echo ended some; true"
    result = s.sh(script, *map(str, watchers))
    check("ended" not in result["stdout"].replace("ended some", ""), "it ended:", result["stdout"])
    gone = [p for p in watchers[:2] if not os.path.exists(f"/proc/{p}")]
    eq(gone, [], "supervisor and init")
    s.alive()


@test("a command's tree ends with it, at a limit and when it is cancelled")
def trees(k):
    s = weak(k)
    word = f"7{os.getpid()}"
    script = f"(setsid sh -c 'trap \"\" TERM HUP; sleep {word}; :' &) ; setsid sleep {word} & sleep 0.2"
    result = s.sh(script)
    check(result["leftovers_killed"] >= 2 and not alive(word), "left:", result, alive(word))
    result = s.sh(f"trap '' TERM; {script}; sleep 300", options=["--timeout", "0.5"])
    eq((result["status"], alive(word)), ("timeout", []), "at a limit")
    client = s.start("--", "sh", "-c", f"{script}; sleep 300")
    check(until(lambda: alive(word)), "it did not start")
    client.kill(signal.SIGINT)
    client.wait()
    check(until(lambda: not alive(word)), "left after a cancel:", alive(word))
    s.alive()


@test("whoever is killed, nothing is left and the next command runs")
def killed(k):
    s = weak(k)
    word = f"8{os.getpid()}"
    for title in ("supervisor", "init", "exec"):
        s.cell(f"sleep {word} & (setsid sleep {word} &)")
        check(until(lambda: len(alive(word)) == 2), "not started:", alive(word))
        for pid, words in s.processes().items():
            if words.startswith("sbx: ") and title in words.split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        check(until(lambda: not alive(word)), f"left after {title} was killed:", alive(word))
        s.alive()


@test("a tree ends also where /proc hides it", modes=("root",))
def hidden(k):
    program = f"{k.dir}/place"
    shutil.copyfile(PLACE, program)
    os.chmod(program, 0o755)
    word = f"5{os.getpid()}"
    tree = f"(setsid sh -c '(setsid sleep {word} &) ; sleep {word}; :' &) ; sleep 0.3"
    done = k.command([program, "hidepid", "caps", "--", k.program, "run", "--isolation", "weak", "--",
                      "sh", "-c", tree])
    eq((done.code, alive(word)), (0, []), f"left: {done!r}")


@test("a fork bomb ends with its command")
def bomb(k):
    s = weak(k)
    word = f"9{os.getpid()}"
    code = f"import os, time, sys\nfor i in range(6): os.fork()\nos.setsid() if os.getpid() != os.getsid(0) else 0\n" \
           f"os.execvp('sleep', ['sleep', '{word}'])"
    result = s.run(kit.PYTHON, "-c", code, options=["--timeout", "1"])
    eq((result["status"], alive(word)), ("timeout", []), "after 64 processes")


@test("cells keep state, children live on, a cell's limit ends what it started")
def cells(k):
    s = weak(k, runtime="python")
    word = f"6{os.getpid()}"
    s.cell(f"import subprocess; x = 41; p = subprocess.Popen(['sleep', '{word}'])")
    eq(s.cell("x + 1")["result"]["text/plain"], "42")
    eq(s.cell("p.poll()")["state"]["epoch"], 1, "epoch")
    done = s.cell(f"q = subprocess.Popen(['sleep', '{word}0']); import time; time.sleep(60)", "--timeout", "0.5")
    eq((done["status"], len(alive(word)), alive(word + "0")), ("timeout", 1, []), "after the limit")
    eq(s.cell("import sys; sys.exit(3)")["exit_code"], 3)
    eq(s.cell("x")["result"]["text/plain"], "41")
    for language, code in (("shell", "y=1; echo $y"), ("node", "1 + 1")):
        if language == "node" and not shutil.which("node"):
            continue
        eq(s.cell(code, "--lang", language)["status"], "success", language)
    s.sbx("stop")
    check(until(lambda: not alive(word)), "left after a stop")


@test("files in and out, changes, terminals, dormancy, a second start")
def rest(k):
    s = weak(k, "--dormant-after", "0.3")
    k.write("in", "content\n")
    eq(k.sbx("cp", f"{k.scratch}/in", f"{s.id}:/workspace/in").code, 0, "cp in")
    result = s.sh("cat in; echo x >>in; echo new >new; echo t >$TMPDIR/t")
    eq((result["stdout"], sorted((f["path"], f["change"]) for f in result["files"])),
       ("content\n", [("/tmp/t", "added"), ("/workspace/in", "modified"), ("/workspace/new", "added")]))
    eq(k.sbx("cp", f"{s.id}:/workspace/new", f"{k.scratch}/out").code, 0, "cp out")
    eq(kit.read(f"{k.scratch}/out"), "new\n")
    check("/dev/pts/" in s.exec("-t", "--", "tty").out, "no terminal")
    eq(s.exec("-w", "/tmp", "--", "cat", "t").out, "t\n", "--workdir")
    own = f"/dev/shm/{os.path.basename(k.dir)}"
    with open(own, "wb"):
        k.give(own)
    try:
        eq(s.sbx("clean").code, 0, "clean")
        check(os.path.exists(own), "clean has emptied the host's /dev/shm")
    finally:
        os.unlink(own)
    eq(s.exec("--", "sh", "-c", "ls $TMPDIR").out, "", "what clean has left")
    s.asleep(10)
    eq(s.processes(), {}, "processes")
    eq(s.exec("--", "cat", "new").out, "new\n", "after it slept")
    s.sh("mkdir -p locked/in && cd locked && python3 -c 'import os; os.fchmod(os.open(\".\", 0), 0)'")
    # What the payload puts in the place of a directory is not followed at the next start.
    target = f"{k.scratch}/target"
    os.mkdir(target, 0o777)
    s.sh(f"cd .. && rm -rf home/sandbox var/tmp && ln -s {target} home/sandbox; ln -s {target} var/tmp; true")
    s.asleep(10)
    s.alive()
    eq(os.listdir(target), [], "what was made through a link")
    eq(s.remove().code, 0, "rm")
    eq(k.stored("sessions", "names"), [], "what is left")


@test("the plan says that there are no namespaces")
def plan(k):
    made = k.sbx("create", "--dry-run", "--isolation", "weak", "--runtime", "shell").json
    eq((made["isolation"], made["namespaces"], made["map"]), ("weak", [], "none"))
    check(all(o["operation"] in ("keyring", "directory", "file") for o in made["operations"]), "it mounts")
    eq(k.stored("sessions"), [], "made something")


@test("a home directory that the payload cannot reach is refused with where to put it", modes=("root",))
def closed_way(k):
    closed = f"{k.dir}/closed"
    os.mkdir(closed, 0o700)
    done = k.command(["env", f"SBX_HOME={closed}/home", k.program, "create", "--isolation", "weak",
                      "--runtime", "shell"])
    done.refused(5, "SBX_HOME", "weak isolation")
    eq(os.listdir(f"{closed}/home/sessions"), [], "what is left")


if __name__ == "__main__":
    raise SystemExit(kit.main())

"""Caps over all sessions of a home directory, from the configuration."""
import os
import signal

import kit
from kit import Lacks, check, eq, test, until


def config(k, text):
    """The environment of a caller with this configuration file; its path."""
    path = k.write("xdg/sbx/config.yaml", text)
    for folder in ("xdg", "xdg/sbx"):
        k.give(f"{k.scratch}/{folder}")
    return {**k.environment(), "XDG_CONFIG_HOME": f"{k.scratch}/xdg"}, path


def create(k, *options, **how):
    done = k.sbx("create", "-q", "--runtime", "shell", *options, **how)
    if done.code == 0:
        k.ids.add(done.out.strip())
    return done


def remove_all(k):
    for name in k.stored("sessions"):
        k.sbx("rm", "-f", name.split("/")[1])


@test("one session too many is refused with the cap, its value and its place")
def sessions(k):
    remove_all(k)
    env, path = config(k, "# two are enough\nmax_sessions: 2\n")
    first, second = create(k, env=env), create(k, env=env)
    eq((first.code, second.code), (0, 0), f"the first two: {first!r} {second!r}")
    for words in (("create", "--runtime", "shell"), ("run", "--", "true")):
        done = k.sbx(*words, env=env)
        check(done.code != 0 and done.err.count("\n") == 1 and not done.out, "one more:", done)
        for word in ("2 sessions are there", "the cap is 2", f"max_sessions in {path}"):
            check(word in done.err, word, done)
    error = k.sbx("create", "--json", "--runtime", "shell", env=env).json
    eq(error["kind"], "limit", "kind")
    eq(k.sbx("exec", first.out.strip(), "--", "true", env=env).code, 0, "what is there")
    k.sbx("rm", first.out.strip())
    eq(k.sbx("run", "--", "true", env=env).code, 0, "after one was removed")
    remove_all(k)


@test("many that ask at once get as many sessions as there may be")
def at_once(k):
    remove_all(k)
    env = {**os.environ, **k.environment(), "SBX_MAX_SESSIONS": "3"}
    asked = []
    for _ in range(8):
        process = kit.subprocess.Popen([k.program, "create", "-q", "--runtime", "shell"], env=env, cwd=k.scratch,
                                       stdout=kit.subprocess.PIPE, stderr=kit.subprocess.PIPE, **k.who())
        asked.append(process)
    ended = [(p.communicate(timeout=60 * kit.SCALE), p.returncode) for p in asked]
    k.ids.update(out.decode().strip() for (out, _), code in ended if out.strip())
    eq(sorted(code == 0 for _, code in ended), 5 * [False] + 3 * [True], f"who got one: {ended}")
    eq(len(k.stored("sessions")), 3, "sessions")
    remove_all(k)


@test("disk that was promised to all sessions together has a cap")
def disk(k):
    remove_all(k)
    env = {**k.environment(), "SBX_MAX_DISK": "100Mi"}
    eq(create(k, "--disk", "60Mi", env=env).code, 0, "the first")
    done = create(k, "--disk", "41Mi", env=env)
    check(done.code != 0 and "60 MiB together" in done.err and "the cap is 100 MiB (SBX_MAX_DISK)" in done.err,
          "one more:", done)
    eq(create(k, "--disk", "40Mi", env=env).code, 0, "as much as is left")
    remove_all(k)


@test("executions of all sessions together have a cap, and a kill gives it back")
def executions(k):
    remove_all(k)
    env = {**k.environment(), "SBX_MAX_EXECS": "2"}
    a, b = create(k, env=env).out.strip(), create(k, env=env).out.strip()
    slow = [k.start("exec", s, "--", "sh", "-c", "touch /workspace/began; sleep 60") for s in (a, a)]
    check(until(lambda: len(os.listdir(f"{k.home}/sessions/{a}/exec")) == 2), "they did not start")
    for s in (a, b):
        done = k.sbx("exec", s, "--", "true")
        check(done.code == 125 and "the cap is 2 (SBX_MAX_EXECS)" in done.err, "one more:", done)
        cell = k.sbx("exec", s, "-c", "true")
        check(cell.code == 125 and "the cap is 2" in cell.err, "a cell more:", cell)
    slow[0].kill(signal.SIGTERM)
    slow[0].wait()
    eq(k.sbx("exec", b, "--", "true").code, 0, "after one has ended")
    eq(k.sbx("exec", b, "-c", "true").code, 0, "a cell after one has ended")
    third = k.start("exec", b, "--", "sh", "-c", "touch /workspace/began; sleep 60")
    check(until(lambda: os.path.exists(f"{k.home}/sessions/{b}/fs/up/workspace/began")), "the third did not start")
    eq(k.sbx("exec", b, "--", "true").code, 125, "one beside the third")
    for pid, words, _ in kit.processes_of_all():
        if words.startswith(f"sbx: {a} supervisor"):
            os.kill(pid, signal.SIGKILL)
    slow[1].wait()
    check(until(lambda: k.sbx("exec", b, "--", "true").code == 0), "a kill does not give it back")
    third.kill(signal.SIGTERM)
    third.wait()
    for _ in range(5):
        eq(k.sbx("exec", b, "--", "true").code, 0, "one after the other")
    remove_all(k)


@test("a later place of the configuration wins, and what is wrong is refused with its place")
def places(k):
    remove_all(k)
    env, path = config(k, "max_sessions: 1\n")
    eq(create(k, env=env).code, 0, "the first")
    check("the cap is 1" in create(k, env=env).err, "the file")
    check("the cap is 1 (SBX_MAX_SESSIONS)" in create(k, env={**env, "SBX_MAX_SESSIONS": "1"}).err, "the variable")
    eq(create(k, env={**env, "SBX_MAX_SESSIONS": "0"}).code, 0, "the variable that lifts it")
    for text, word in (("max_session: 1\n", "did you mean 'max_sessions'"), ("max_execs: many\n", "max_execs"),
                       ("max_execs: 5000\n", "out of range"), ("[1]\n", "keys and values"), ("max_execs: 1 2\n", "follows the value"),
                       ('{"max_execs": "many"}', "max_execs"), ("max_execs: 1\nmax_execs: 2\n", None)):
        config(k, text)
        done = create(k, env=env)
        check(done.code != 0 and f"{path}:{1 if word else 2}:" in done.err and (word or "twice") in done.err, text, done)
    for text in ("", "# nothing\n", "max_sessions: null\n", '{"max_sessions": 100}', "max_sessions: '100' # many\r\n"):
        config(k, text)
        eq(create(k, env=env).code, 0, f"a file of {text!r}")
    bad = create(k, env={**env, "SBX_MAX_DISK": "much"})
    check(bad.code != 0 and "SBX_MAX_DISK: 'much'" in bad.err, "a wrong variable:", bad)
    remove_all(k)


@test("the machine's configuration counts for everybody, below one's own", modes=("root",))
def machine(k):
    remove_all(k)
    for folder in ("upper", "work"):
        os.makedirs(f"{k.scratch}/etc/{folder}", exist_ok=True)
    k.write("etc/upper/sbx/config.yaml", "max_sessions: 1\n")
    script = ('mount -t overlay none -o "lowerdir=/etc,upperdir=$0/upper,workdir=$0/work" /etc || exit 9; '
              'exec "$@"')
    there = ["unshare", "-m", "sh", "-c", script, f"{k.scratch}/etc", k.program, "create", "-q", "--runtime", "shell"]
    first = k.command(there)
    if first.code == 9:
        raise Lacks("no overlay over /etc here")
    eq(first.code, 0, f"the first: {first!r}")
    k.ids.add(first.out.strip())
    done = k.command(there)
    check(done.code != 0 and "max_sessions in /etc/sbx/config.yaml" in done.err, "one more:", done)
    env, _ = config(k, "max_sessions: 2\n")
    second = k.command(there, env=env)
    eq(second.code, 0, f"with one's own: {second!r}")
    k.ids.add(second.out.strip())
    remove_all(k)


kit.main()

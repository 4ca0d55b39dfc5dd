"""A terminal in a session, as its person sees it: modes, size, keys, signals, bytes."""
import hashlib
import os
import signal
import subprocess
import time

import kit
from kit import check, eq, test, until
from terminal import Terminal, state_of

PROMPT = r"sandbox:/workspace\$ "


def shell(k, s, *words, **how):
    """A shell at its prompt."""
    t = Terminal(k, [k.program, "shell", s.id, *words], **how)
    t.see(PROMPT)
    return t


# It says itself when it is in front: keys before that would be the shell's.
SLEEP = "sh -c 'echo be\"\"gin; exec sleep 300'"


def program(k, s, script, *options, **how):
    """A script on a terminal; it says "ready" when it may be tried."""
    return Terminal(k, [k.program, "exec", "-t", *options, s.id, "--", "sh", "-c", script], **how)


@test("the terminal is as it was, however the client and what it runs end")
def restored(k):
    s = k.session()
    for name, code in (("exit", 7), ("TERM", 143), ("HUP", 129), ("INT", 130), ("QUIT", 131)):
        with program(k, s, "echo ready; read x; exit 7") as t:
            t.see("ready")
            check(until(t.is_raw), "the control: it is not raw meanwhile")
            if name == "exit":
                t.type("\r")
            else:
                t.kill(getattr(signal, "SIG" + name))
            eq(t.wait(), code, f"exit code after {name}")
            t.restored(name)


@test("the terminal is as it was after the supervisor is killed, and the client says so")
def supervisor_killed(k):
    s = k.session()
    with program(k, s, "echo ready; sleep 300") as t:
        t.see("ready")
        check(until(t.is_raw), "the control: it is not raw meanwhile")
        os.kill(next(p for p, title in s.processes().items() if "supervisor" in title), signal.SIGKILL)
        eq(t.wait(), 125, "exit code")
        t.see("supervisor is gone")
        t.restored("the death of the supervisor")
    s.alive()


@test("a client whose terminal takes nothing more can be ended, and restores it")
def blocked(k):
    s = k.session()
    with program(k, s, "echo ready; exec yes") as t:
        t.see("ready")
        # Nobody reads: it is stuck in a write soon.
        time.sleep(0.5)
        t.kill(signal.SIGTERM)
        time.sleep(0.5)
        check(t.process.poll() is None, "the control: it was not stuck")
        t.kill(signal.SIGTERM)
        eq(t.process.wait(5 * kit.SCALE), 143, "exit code")
        t.restored("two TERM")


@test("a client whose pipe nobody reads can be ended")
def blocked_pipe(k):
    s = k.session()
    client = s.start("--", "yes")
    time.sleep(0.5)
    client.kill(signal.SIGTERM)
    time.sleep(0.5)
    check(client.process.poll() is None, "the control: it was not stuck")
    client.kill(signal.SIGTERM)
    eq(client.process.wait(5 * kit.SCALE), 143, "exit code")


@test("output to a pipe that does not block is complete")
def nonblocking(k):
    s = k.session()
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    script = "exec \"$@\" >&9"
    process = subprocess.Popen(["sh", "-c", script.replace("9", str(theirs)), "sh", k.program, "exec", s.id, "--",
                                "seq", "200000"], pass_fds=[theirs], env=k.environment(), cwd=k.scratch,
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, **k.who())
    os.close(theirs)
    time.sleep(0.3)
    with os.fdopen(ours, "rb") as f:
        got = f.read()
    err = process.stderr.read()
    process.stderr.close()
    eq((process.wait(10 * kit.SCALE), err), (0, b""), "exit code")
    eq(hashlib.sha256(got).digest(), hashlib.sha256("".join(f"{i}\n" for i in range(1, 200001)).encode()).digest(),
       f"digest of {len(got)} bytes")


@test("the size is that of the caller's terminal, at the start and at each change")
def size(k):
    s = k.session()
    with program(k, s, "trap 'echo changed; stty size' WINCH; stty size; echo ready; while :; do sleep 0.05; done",
                 rows=31, columns=101) as t:
        t.see("31 101")
        t.see("ready")
        for rows, columns in ((50, 132), (10, 40)):
            t.resize(rows, columns)
            t.see("changed")
            t.see(f"{rows} {columns}")


@test("a change of size while the session still wakes is not lost")
def size_early(k):
    s = k.session("--dormant-after", "0.2")
    for i in range(5):
        s.asleep(5)
        with program(k, s, "sleep 0.3; stty size") as t:
            time.sleep(0.01 * i)
            t.resize(40 + i, 77)
            t.see(f"{40 + i} 77")
            eq(t.wait(), 0)


@test("Ctrl-C ends the program in front, not the shell")
def interrupt(k):
    s = k.session()
    with shell(k, s) as t:
        for _ in range(3):
            t.type(f"{SLEEP}; echo not reached\r")
            t.see("begin")
            t.type("\x03")
            t.see(PROMPT)
            t.type("echo code $?\r")
            t.see("code 130")
            t.see(PROMPT)
        t.type("exit 4\r")
        eq(t.wait(), 4)


@test("Ctrl-Z stops the program in front, fg and bg go on with it")
def stop(k):
    s = k.session()
    with shell(k, s) as t:
        t.type("sh -c 'echo be\"\"gin; read x; echo got $x; exit 6'\r")
        t.see("begin")
        t.type("\x1a")
        t.see("Stopped")
        t.see(PROMPT)
        t.type("jobs | wc -l; fg\r")
        t.see("1\r")
        t.see("sh -c")
        t.type("word\r")
        t.see("got word")
        t.see(PROMPT)
        t.type("echo code $?; sleep 0.2 & wait; echo wai''ted\r")
        t.see("code 6")
        t.see("waited")


@test("Ctrl-\\ and the end of input reach the program")
def quit_and_end(k):
    s = k.session()
    with shell(k, s) as t:
        t.type(f"{SLEEP}\r")
        t.see("begin")
        t.type("\x1c")
        t.see(PROMPT)
        t.type("echo code $?; cat; echo af''ter\r")
        t.see("code 131")
        t.type("line\r\x04")
        t.see("line\r\nline\r\nafter")
        t.see(PROMPT)
        t.type("\x04")
        eq(t.wait(), 0)


@test("the exit code is that of the program")
def codes(k):
    s = k.session()
    for script, code in (("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137), ("kill -TERM $$", 143)):
        with program(k, s, script) as t:
            eq(t.wait(), code, script)
    with Terminal(k, [k.program, "shell", s.id, "--", "/nonexistent"]) as t:
        eq(t.wait(), 127)
    with Terminal(k, [k.program, "shell", "no-such-session"]) as t:
        eq(t.wait(), 125)


@test("TERM is that of the caller, unless the session or the call has its own")
def term(k):
    s, own = k.session(), k.session("-e", "TERM=own")
    for session, options, outer, inner in ((s, [], "screen-256color", "screen-256color"), (s, ["-e", "TERM=x"], "y", "x"),
                                           (own, [], "xterm", "own"), (s, [], "a b;c", "xterm-256color"),
                                           (s, [], "", "xterm-256color"), (s, [], "x" * 5000, "xterm-256color")):
        with program(k, session, "echo \"[$TERM]\"", *options, TERM=outer) as t:
            t.see(rf"\[{inner}\]")
    eq(s.exec("--", "sh", "-c", "echo [$TERM]").out, "[]\n", "without a terminal")


@test("a client that is stopped gives the terminal back, and takes it again")
def suspended(k):
    s = k.session()
    script = "set -m; \"$@\"; echo left $?; stty -a | grep -c ' icanon'; read x; fg >/dev/null; echo end $?"
    with Terminal(k, ["bash", "-c", script, "bash", k.program, "exec", "-t", s.id, "--", "sh", "-c",
                      "echo ready; read x; echo got $x; stty size; read x; exit 5"]) as t:
        t.see("ready")
        check(until(t.is_raw), "the control: it is not raw")
        children = kit.read(f"/proc/{t.process.pid}/task/{t.process.pid}/children").split()
        os.kill(int(children[0]), signal.SIGTSTP)
        t.see("left 148")
        t.see("1\r")
        t.resize(44, 88)
        t.type("\r")
        check(until(t.is_raw), "it is not raw again")
        t.type("word\r")
        t.see("got word")
        t.see("44 88")
        t.type("\r")
        t.see("end 5")
        eq(t.wait(), 0)
        t.restored("the end")


@test("a client without a terminal that is stopped loses nothing")
def suspended_plain(k):
    s = k.session()
    client = s.start("--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep 0.1; done")
    time.sleep(0.3)
    client.kill(signal.SIGSTOP)
    check(until(lambda: state_of(client.pid) == "T"), "the control: it is not stopped")
    time.sleep(0.3)
    client.kill(signal.SIGCONT)
    done = client.wait()
    eq((done.code, done.out), (0, "".join(f"{i}\n" for i in range(1, 11))))


@test("what is pasted arrives whole, as bytes and as lines")
def paste(k):
    s = k.session()
    data = bytes(b for b in os.urandom(400000) if b)
    with program(k, s, f"stty raw -echo; echo ready; head -c {len(data)} | sha256sum") as t:
        t.see("ready")
        t.type(data, 60)
        t.see(hashlib.sha256(data).hexdigest(), 60)
    lines = "".join(f"line {i} {'x' * (i % 90)}\n" for i in range(5000)).encode()
    with program(k, s, "stty -echo; echo ready; sha256sum") as t:
        t.see("ready")
        t.type(lines + b"\x04", 60)
        t.see(hashlib.sha256(lines).hexdigest(), 60)


@test("10,000 short writes to the terminal all arrive, in order")
def short_writes(k):
    s = k.session()
    script = "import os\nfor i in range(10000): os.write(1, b'%05d\\n' % i)"
    with Terminal(k, [k.program, "exec", "-t", s.id, "--", "python3", "-c", script]) as t:
        eq(t.wait(60), 0)
        eq(t.seen.decode().split(), [f"{i:05d}" for i in range(10000)], "output")


@test("the last words of a program at a terminal are not lost, in front of many")
def last_words(k):
    s = k.session()
    for i in range(20 if k.has_sanitizer() else 100):
        with program(k, s, f"head -c {i * 97} /dev/zero | tr '\\0' a; printf '<{i}>'") as t:
            eq(t.wait(), 0)
            eq(t.seen.decode(), "a" * (i * 97) + f"<{i}>", f"turn {i}")


@test("input that ends is an end for what reads it at a terminal, too")
def input_ends(k):
    s = k.session()
    for given in (b"", b"line\n", b"no end of line"):
        done = s.exec("-t", "--", "sh", "-c", "cat; echo over", input=given)
        eq((done.code, done.out.replace("\r", "")[-5:]), (0, "over\n"), f"after {given}: {done!r}")


@test("a program may close its terminal and open it again")
def reopened(k):
    s = k.session()
    with program(k, s, "exec >/dev/null 2>&1 </dev/null; sleep 0.5; seq 20000 >/dev/tty; echo over >/dev/tty; "
                       "read x </dev/tty; exit $x") as t:
        t.see("20000\r\nover")
        t.type("9\r")
        eq(t.wait(), 9)


@test("detach keys leave the execution running, with the terminal as it was")
def detach(k):
    s = k.session()
    with program(k, s, "echo ready; read x; echo got $x; sleep 1; echo over; echo y >done", "--detach-keys",
                 "ctrl-p,ctrl-q") as t:
        t.see("ready")
        t.type("a\x10b\r")
        t.see("got a\x10b")
        t.type("\x10\x11")
        eq(t.wait(), 0, "exit code of the client")
        exec_id = t.see(r"detached from (exec_\w+)").group(1).decode()
        t.restored("detaching")
    check(any("sleep" in p for p in s.processes().values()), "the control: it does not run any more")
    check(until(lambda: os.path.exists(f"{s.path}/exec/{exec_id}/record.json")), "it has no record")
    eq(s.record(exec_id)["result"]["status"], "success", "record")
    check("over" in kit.read(f"{s.path}/exec/{exec_id}/stdout"), "what it wrote afterwards is not kept")
    eq(s.exec("--", "cat", "done").out, "y\n")


@test("detach keys are checked, and only for a terminal that can be left")
def detach_refused(k):
    s = k.plain()
    for keys in ("", "ctrl-", "ctrl-p,", "control-p", "ctrl-1", "ab", ",".join("a" * 17)):
        s.exec("-t", "--detach-keys", keys, "--", "true").refused(2, "--detach-keys")
    s.exec("--detach-keys", "a", "--", "true").refused(2, "-t")
    k.sbx("run", "-t", "--detach-keys", "a", "--", "true").refused(2, "--detach-keys")


@test("a signal to the client reaches the program, and ends it [rakazo#28]")
def forwarded(k):
    s = k.session()
    for name in ("INT", "TERM", "HUP", "QUIT"):
        number = getattr(signal, "SIG" + name)
        client = s.start("--json", "--", "sh", "-c", f"trap 'echo got {name}; exit 3' {name}; : >{name}; "
                                                     "while :; do sleep 0.02; done")
        check(until(lambda n=name: os.path.exists(f"{s.up}/workspace/{n}")), "the control: it does not run")
        client.kill(number)
        done = client.wait()
        eq((done.code, done.json["status"], done.json["stdout"]), (128 + number, "cancelled", f"got {name}\n"), name)
        client = s.start("--", "sh", "-c", f"trap '' {name}; echo ready; while :; do sleep 0.02; done")
        client.process.stdout.readline()
        client.kill(number)
        eq(client.wait().code, 128 + number, f"with {name} ignored")


@test("a signal that the caller ignores does not end it (nohup)")
def ignored(k):
    s = k.session()
    argv = ["sh", "-c", "trap '' HUP INT QUIT; exec \"$@\"", "sh", k.program, "exec", s.id, "--",
            "sh", "-c", "echo ready >g; sleep 0.7; echo over"]
    client = kit.Running(k, argv)
    k.running.append(client)
    check(until(lambda: os.path.exists(f"{s.up}/workspace/g")), "the control: it does not run")
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        client.kill(number)
    done = client.wait()
    eq((done.code, done.out), (0, "over\n"))


@test("a terminal that goes away hangs up what runs on it")
def hang_up(k):
    s = k.session()
    for number in (signal.SIGKILL, signal.SIGHUP):
        with program(k, s, "trap 'echo hung up >h; exit' HUP; echo ready; while :; do sleep 0.02; done") as t:
            t.see("ready")
            t.kill(number)
            t.process.wait(5 * kit.SCALE)
            check(until(lambda: s.exec("--", "cat", "h").out == "hung up\n"), f"no HUP after {number}")
        s.exec("--", "rm", "h")
        check(until(lambda: not any("sleep" in p for p in s.processes().values())), "it still runs")


@test("shell takes commands from a pipe without a terminal, as ssh does")
def shell_pipe(k):
    s = k.session()
    done = s.sbx("shell", input=b"echo hi; tty; pwd; exit 3\n")
    eq((done.code, done.out), (3, "hi\nnot a tty\n/workspace\n"))
    done = s.sbx("shell", "-w", "/tmp", "-e", "A=b", "--", "sh", "-c", "pwd; echo $A; cat", input=b"typed")
    eq((done.code, done.out), (0, "/tmp\nb\ntyped"))


if __name__ == "__main__":
    raise SystemExit(kit.main())

"""A person at a terminal, in tmux: what works over ssh works in a session."""
import contextlib
import os
import re
import shutil

import kit
from kit import check, eq, test, until

INNER, OUTER = "sandbox:/workspace$", "outer>"
EDITORS = ("vim.tiny", "vim", "vim.basic", "vi")


class Tmux:
    """A window in a server of its own, with a shell of the caller's in it."""

    def __init__(self, k, columns=90, rows=28):
        if not shutil.which("tmux"):
            raise kit.Skip("tmux is not installed")
        self.k = k
        self.environment = {**k.environment(), "TMUX_TMPDIR": k.scratch}
        # Escape is a key here, not the begin of one.
        self.tmux("-f", "/dev/null", "start-server", ";", "set", "-s", "escape-time", "0", ";", "new-session", "-d",
                  "-x", str(columns), "-y", str(rows), "bash --norc --noprofile")
        self.server = int(self.tmux("display-message", "-p", "#{pid}"))
        self.line(f"PS1='{OUTER} '; clear")
        self.last(OUTER)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(kit.Wrong):
            self.tmux("kill-server")
        until(lambda: not os.path.exists(f"/proc/{self.server}"))

    def tmux(self, *words):
        done = self.k.command(["tmux", "-L", "sbx", *words], env=self.environment)
        check(done.code == 0, "tmux:", done)
        return done.out

    def keys(self, *names):
        self.tmux("send-keys", *names)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def line(self, text):
        self.type(text)
        self.keys("Enter")

    def screen(self):
        return self.tmux("capture-pane", "-p").rstrip("\n")

    def see(self, pattern, seconds=10):
        """Waits until the screen has it."""
        found = until(lambda: re.search(pattern, self.screen(), re.MULTILINE), seconds)
        check(found, f"'{pattern}' is not on the screen:", self.screen())
        return found

    def line_until(self, text, pattern, seconds=10):
        """Types the line again until it is answered so: tmux passes on a size when it likes."""
        def answered():
            self.line(text)
            return until(lambda: re.search(pattern, self.screen(), re.MULTILINE), 1)
        check(until(answered, seconds), f"'{pattern}' is not on the screen:", self.screen())

    def last(self, text, seconds=10):
        """Waits until the last line is this: whoever wrote it waits for keys."""
        check(until(lambda: self.screen().split("\n")[-1].rstrip() == text, seconds), f"the last line is not '{text}':",
              self.screen())

    def enter(self, s):
        self.line(f"clear; {self.k.program} shell {s.id}")
        self.last(INNER)

    def size(self, columns, rows):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))


def editor():
    found = next((e for e in EDITORS if os.path.exists(f"/usr/bin/{e}")), None)
    if not found:
        raise kit.Skip("no vi is installed")
    return f"{found} -u NONE -N"


def pager():
    if not os.path.exists("/usr/bin/less"):
        raise kit.Skip("less is not installed")
    return "less"


@test("an editor has the whole screen, and gives it back")
def edit(k):
    s = k.session()
    with Tmux(k) as t:
        t.enter(s)
        t.line(f"{editor()} text")
        # It fills the window: lines that do not exist yet are shown so.
        check(until(lambda: t.screen().count("\n~") > 20), "no editor:", t.screen())
        t.type("ifirst line")
        t.keys("Enter")
        t.type("zweite \u00e4\u2192 line")
        t.keys("Escape")
        t.type("ggdwP")
        t.line(":wq")
        t.last(INNER)
        check("~" not in t.screen(), "the screen is not what it was:", t.screen())
        t.line("exit")
        t.last(OUTER)
    eq(s.exec("--", "cat", "text").out, "first line\nzweite \u00e4\u2192 line\n", "the file")


@test("an editor is stopped by Ctrl-Z, and comes back by fg as it was")
def edit_stopped(k):
    s = k.session()
    with Tmux(k) as t:
        t.enter(s)
        t.line(f"{editor()} text")
        check(until(lambda: t.screen().count("\n~") > 20), "no editor:", t.screen())
        t.type("ihalf")
        t.keys("Escape", "C-z")
        t.see(r"Stopped")
        t.last(INNER)
        t.line("clear; jobs | wc -l; cat text")
        t.see(r"^1$")
        t.see("No such file")
        t.line("fg")
        t.see(r"^half$")
        t.type("a done")
        t.keys("Escape")
        t.line(":wq")
        t.last(INNER)
        t.line("clear; cat text")
        t.see(r"^half done$")


@test("a pager pages, searches, and ends")
def page(k):
    s = k.session()
    with Tmux(k) as t:
        t.enter(s)
        t.line(f"seq -f 'row %g' 1000 | {pager()}")
        t.see(r"^row 1$")
        t.last(":")
        t.keys("Space")
        t.see(r"^row 28$")
        t.line("/row 500")
        t.see(r"^row 500$")
        t.type("G")
        t.see(r"^row 1000$")
        t.type("q")
        t.last(INNER)


@test("Ctrl-C ends what is in front; the exit codes arrive at the caller's shell")
def codes(k):
    s = k.session()
    with Tmux(k) as t:
        t.enter(s)
        # It says itself when it is in front: a key before that would be the shell's.
        t.line("sh -c 'echo be\"\"gin; exec sleep 300'")
        t.see(r"^begin$")
        t.keys("C-c")
        t.last(INNER)
        t.line("echo code $?")
        t.see(r"^code 130$")
        t.line("exit 9")
        t.last(OUTER)
        for words, code in (("true", 0), ("sh -c 'kill -TERM $$'", 143), ("/nonexistent", 127)):
            t.line(f"clear; {k.program} exec -t {s.id} -- {words}; echo \"code $?\"")
            t.see(rf"^code {code}$")
            t.last(OUTER)
        # A key that was meant for what had just ended is the next command's.
        t.line(f"clear; {k.program} shell {s.id}; echo \"code $?\"")
        t.last(INNER)
        t.line("exit 9")
        t.see(r"^code 9$")
        t.line("clear; stty -a | grep -cw -- '-icanon\\|-echo\\|-isig\\|-opost'")
        t.see(r"^0$")


@test("a window of another size is one inside, for the shell and for what is in front")
def resize(k):
    s = k.session()
    with Tmux(k) as t:
        t.enter(s)
        t.line("clear; stty size; tput cols")
        t.see(r"^28 90$")
        t.see(r"^90$")
        t.size(120, 40)
        t.line_until("clear; stty size; tput cols", r"^40 120\n120$")
        t.line(f"{editor()} text")
        check(until(lambda: t.screen().count("\n~") > 35), "no editor:", t.screen())
        t.size(70, 16)
        t.line_until(":set lines? columns?", r"lines=16\n.*columns=70")
        t.keys("Enter")
        t.line(":q")
        t.last(INNER)
        t.line_until("clear; stty size", r"^16 70$")


@test("Ctrl-C while the client waits without a terminal cancels it")
def cancel(k):
    s = k.session()
    with Tmux(k) as t:
        t.line(f"clear; {k.program} exec {s.id} -- sh -c 'echo be\"\"gin; sleep 300'; echo \"code $?\"")
        t.see(r"^begin$")
        t.keys("C-c")
        t.see(r"^code 130$")
        t.line(f"clear; {k.program} exec {s.id} -- sh -c 'echo be\"\"gin; sleep 1; echo over'")
        t.see(r"^begin$")
        t.keys("C-z")
        t.see("Stopped")
        t.last(OUTER)
        t.line("clear; fg; echo \"code $?\"")
        t.see(r"^over$")
        t.see(r"^code 0$")


@test("a window that is closed ends what ran in it")
def closed(k):
    s = k.session()
    with Tmux(k) as t:
        t.enter(s)
        t.line("clear; echo be''gin; sleep 300")
        t.see(r"^begin$")
        check(until(lambda: any("sleep" in p for p in s.processes().values())), "the control: it does not run")
        t.tmux("kill-session")
        check(until(lambda: not any("sleep" in p for p in s.processes().values())), "it still runs")
    s.alive()


if __name__ == "__main__":
    raise SystemExit(kit.main())

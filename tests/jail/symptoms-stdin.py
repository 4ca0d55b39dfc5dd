"""Standard input, pipes and descriptors: what other systems were reported to get wrong."""
import hashlib
import os
import subprocess
import time

import kit
from kit import MIB, check, eq, test, within

# In every language: where descriptors lead, and what a child of the cell reads.
SHOW_DESCRIPTORS = "ls -l /proc/self/fd | sed -n 's/.* \\([0-9]*\\) -> \\([a-z/]*\\).*/\\1 \\2/p'"
CHILD = {
    "python": "import subprocess; print(subprocess.run(['sh', '-c', {!r}], capture_output=True, text=True).stdout)",
    "node": "console.log(require('child_process').execFileSync('sh', ['-c', {!r}], {{stdio: ['inherit', 'pipe', 'inherit']}}).toString())",
    "shell": "{}",
}


def cell_with_child(s, language, script):
    form = CHILD[language]
    return s.cell(form.format(script), "--lang", language)


@test("an open stdin that never ends does not block exec [microsandbox#1549]")
def open_stdin(k):
    s = k.session()
    client = s.start("--", "echo", "hi", stdin=subprocess.PIPE)
    done = client.process.wait(5 * kit.SCALE)
    eq((done, client.process.stdout.read()), (0, b"hi\n"))


@test("the time limit fires while stdin is open and silent [microsandbox#1549]")
def limit_with_stdin(k):
    s = k.session()
    for words in (["-i"], []):
        client = s.start(*words, "--timeout", "0.3", "--", "sh", "-c", "cat; sleep 300", stdin=subprocess.PIPE)
        began = time.monotonic()
        eq(client.process.wait(5 * kit.SCALE), 124, f"with {words}")
        within(time.monotonic() - began, 2)


@test("stdin is empty unless it is asked for [OpenShell#828]")
def closed_by_default(k):
    s = k.session()
    eq(s.exec("--", "cat", input=b"not for you").out, "", "what cat read")
    eq(s.exec("-i", "--", "cat", input=b"for you").out, "for you", "what cat read with -i")


@test("binary input arrives whole, and so does its end [E2B#1127]")
def binary(k):
    s = k.session()
    eq(s.exec("-i", "--", "wc", "-c", input=b"\x00\x01\x02\xff").out.strip(), "4", "bytes counted inside")
    eq(s.exec("-i", "--", "wc", "-c", input=b"").out.strip(), "0", "bytes counted inside")


@test("100 MB through cat come back byte for byte [E2B#1127]")
def large(k):
    s = k.session("--output-keep", "1Mi")
    data = os.urandom(MIB) * 100
    done = s.exec("-i", "--timeout", "55", "--", "cat", input=data, seconds=60)
    eq((done.code, len(done.raw)), (0, len(data)))
    eq(hashlib.sha256(done.raw).digest(), hashlib.sha256(data).digest(), "digest")


@test("a program that does not read its input does not block the client")
def unread(k):
    s = k.session()
    done = s.exec("-i", "--", "echo", "hi", input=b"x" * (4 * MIB))
    eq((done.code, done.out), (0, "hi\n"))
    within(done.seconds, 5)


@test("input for code in an interpreter is refused by the name of the option [langsmith-sdk#3453]")
def input_for_code(k):
    k.plain().exec("-i", "-c", "1", input=b"x").refused(2, "-i")


@test("one line a write reaches a running program (a dialogue) [railway-ts-sdk#40]")
def dialogue(k):
    s = k.session()
    client = s.start("-i", "--", "sh", "-c", "while read line; do echo \"got $line\"; done",
                     stdin=subprocess.PIPE)
    for word in (b"one", b"two"):
        client.process.stdin.write(word + b"\n")
        client.process.stdin.flush()
        eq(client.process.stdout.readline(), b"got " + word + b"\n")
    client.process.stdin.close()
    eq(client.process.wait(5 * kit.SCALE), 0, "exit code after the end of input")


@test("a command has three descriptors and no more [node-llama-cpp#596]")
def descriptors_of_command(k):
    s = k.session()
    # ls has one more, for the directory that it reads.
    eq(s.exec("--", "sh", "-c", SHOW_DESCRIPTORS).out.splitlines(),
       ["0 /dev/null", "1 pipe", "2 pipe", "3 /proc/"], "descriptors")


@test("children of a cell do not get the descriptors of its protocol [jumpstarter#383]")
def descriptors_of_child(k):
    for language in CHILD:
        result = cell_with_child(k.plain(), language, SHOW_DESCRIPTORS)
        seen = result["stdout"].split("\n")
        numbers = [line.split()[0] for line in seen if line]
        eq(numbers, ["0", "1", "2", "3"], f"{language}: {seen}")
        eq(seen[0], "0 /dev/null", language)


@test("what a child of a cell reads and writes does not disturb the next cell [rhwp#3700]")
def child_reads(k):
    for language in CHILD:
        s = k.plain()
        result = cell_with_child(s, language, "cat; echo done 0 ok 0; echo result text/plain 3; head -c 1000 <&4; true")
        check("done 0 ok 0" in result["stdout"], f"{language}:", result)
        eq(result["status"], "success", language)
        check("result" not in result or "text/plain 3" not in str(result["result"]), f"{language}:", result)
        after = cell_with_child(s, language, "echo next")
        eq(after["stdout"].strip(), "next", language)


@test("commands of a shell cell do not eat the rest of the code [sandbox-sdk#141]")
def cell_stdin(k):
    result = k.plain().cell("cat\nwhile read x; do echo read $x; done\necho end", "--lang", "shell")
    eq((result["status"], result["stdout"]), ("success", "end\n"))


@test("the stdin of a request body reaches the command")
def request_stdin(k):
    s = k.session()
    body = k.write("request.json", '{"command": ["cat"], "stdin": "from the body"}')
    eq(s.exec("--json", "--request", body).json["stdout"], "from the body")


@test("the last byte before exit is never lost, through a pipe")
def last_byte_pipe(k):
    last_bytes(k, ["-i"], b"")


@test("the last byte before exit is never lost, through a terminal")
def last_byte_tty(k):
    last_bytes(k, ["-t"], b"")


def last_bytes(k, options, end):
    s = k.session()
    times = kit.rounds(100 if k.has_sanitizer() else 500)
    for i in range(times):
        size = i * 37 % 5000
        done = s.exec(*options, "--", "sh", "-c", f"head -c {size} /dev/zero | tr '\\0' a; printf %s \"<{i}>\"")
        eq(done.raw.decode(), "a" * size + f"<{i}>" + end.decode(), f"output of turn {i}")


if __name__ == "__main__":
    raise SystemExit(kit.main())

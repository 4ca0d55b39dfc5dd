"""Wrong input, wrong hosts: one clear line with cause and fix, the exit code of its kind, nothing left."""
import os

import kit
from kit import Lacks, check, eq, test, until

CREATE = ("create", "-q", "--runtime", "shell")


def left_nothing(k):
    check(until(lambda: not k.stored(), 3), "left behind:", k.stored())


@test("an unknown runtime is refused with those that are there")
def runtime(k):
    for name in ("python:2.1", "node:9999", "perl"):
        k.sbx("create", "--runtime", name).refused(3, name, "there is")
    for name in ("python:", "../python", "python:3.11/x", ""):
        k.sbx("create", "--runtime", name).refused(2, "runtime")
    left_nothing(k)


MALFORMED = {
    "json": ('{"runtime": "shell",\n  "timeout": }', 2),
    "json-end": ('{"runtime": "shell"', 1),
    "json-twice": ('{"runtime": "shell",\n "runtime": "shell"}', 2),
    "yaml": ("runtime: shell\nresources:\n\tcpu: 2\n", 3),
    "yaml-list": ("runtime: shell\ntools: [a\n", 3),
    "yaml-alias": ("a: &x 1\nruntime: *x\n", None),
    "list": ("- a\n- b\n", 1),
    "text": ("just words", 1),
}


@test("malformed JSON and YAML are refused with line and column")
def malformed(k):
    for name, (content, line) in MALFORMED.items():
        path = k.write(name, content)
        done = k.sbx("create", "-f", path).refused(7, path)
        place = done.err.split(path + ":", 1)[1].split(":")
        check(place[0].isdigit() and place[1].isdigit(), f"{name}: no place:", done)
        if line:
            eq(int(place[0]), line, f"line of {name}: {done!r}")
    for content in (b"", b"\0\1\2", b"\xff\xfe", b"runtime: \xff", b"[" * 100000, b"a: " * 10000):
        done = k.sbx("create", "-f", k.write("bytes", content))
        check(done.code in (6, 7) and done.err.count("\n") == 1, f"{content[:20]!r}:", done)
    left_nothing(k)


@test("an unknown key is refused with its place and the nearest that exists")
def unknown_keys(k):
    for content, words in (("runtime: shell\ntimout: 5\n", ("2:1", "timout", "timeout")),
                           ('{"resources": {"memroy": "1Gi"}}', ("memroy", "memory")),
                           ("runtime: shell\ntools: [file_raeder]\n", ("file_raeder", "file_reader"))):
        done = k.sbx("create", "-f", k.write("keys.yaml", content))
        check(done.code in (2, 7), "exit code:", done)
        done.refused(done.code, *words)
    s = k.session()
    body = k.write("body.json", '{"comand": ["true"]}')
    done = s.exec("--request", body)
    check(done.code in (7, 125) and "command" in done.err and done.err.count("\n") == 1, "request:", done)


@test("numbers out of range are refused with the range, and names of options are not guessed")
def numbers(k):
    for words in (["--memory", "1"], ["--memory", "2Zi"], ["--memory", "-1"], ["--cpu", "0"], ["--cpu", "1e3"],
                  ["--pids", "0"], ["--pids", "1.5"], ["--lifetime", "5 parsecs"], ["--lifetime", "-1"],
                  ["--disk", "99999999Ti"], ["--output-keep", "1"], ["--memory", "0x10000000"],
                  ["--nofile", "99999999999999999999999"], ["--exec-timeout", ""], ["--memory", " 1Gi"]):
        k.sbx(*CREATE, *words).refused(2, words[0])
    for key, value in (("memory", '"1"'), ("cpu", "-1"), ("disk", "1e99"), ("memory", "true"), ("cpu", "[1]")):
        path = k.write("numbers.json", f'{{"runtime": "shell", "resources": {{"{key}": {value}}}}}')
        k.sbx("create", "-f", path).refused(7, path + ":1:", key)
    k.sbx(*CREATE, "--memroy", "1Gi").refused(2, "--memory")
    k.sbx(*CREATE, "--mem", "1Gi").refused(2, "--mem")
    left_nothing(k)


@test("what excludes each other, and what is missing, is named")
def combinations(k):
    s = k.plain()
    for words in (["-c", "1", "--", "true"], [], ["-c", "1", "-f", "x"], ["--json", "--stream", "--", "true"],
                  ["--fresh", "--", "true"], ["-t", "-c", "1"]):
        done = s.exec(*words)
        check(done.code in (2, 125) and done.err.count("\n") == 1 and not done.out, f"{words}:", done)
    k.sbx("exec").refused(2, "SESSION")
    done = s.exec("-f", f"{k.scratch}/no-such-file")
    check(done.code in (3, 125) and "no-such-file" in done.err, "a file that is not there:", done)
    done = s.exec("-w", "/nowhere", "--", "true")
    check(done.code in (125, 126, 127) and done.err.count("\n") == 1, "a directory that is not there:", done)
    s.alive()


@test("a language and a workdir that are not there are typed set-up failures")
def set_up(k):
    s = k.plain()
    done = s.exec("--lang", "perl", "-c", "1")
    check(done.code in (2, 125) and "perl" in done.err + done.out or "language" in done.err, "perl:", done)
    result = s.run("true", options=["-w", "/nowhere"])
    eq((result["status"], result["reason"]["kind"], result["reason"]["errno"]), ("setup_failed", "setup", "ENOENT"))


@test("the host side of cp is checked: missing source, missing directory, no permission")
def copies(k):
    s = k.plain()
    k.sbx("cp", f"{k.scratch}/missing", f"{s.id}:/workspace/").refused(3, "missing")
    k.sbx("cp", f"{s.id}:/workspace/missing", k.scratch).refused(3, "missing")
    k.sbx("cp", f"{s.id}:/etc/hostname", f"{k.scratch}/no/such/dir").refused(3, "no/such")
    k.sbx("cp", "a", "b").refused(2, "SESSION:PATH")
    done = k.sbx("cp", k.write("f", "x"), f"{s.id}:/usr/bin/f")
    check(done.code != 0 and done.err.count("\n") == 1, "into a read-only place:", done)


@test("without user namespaces every command says cause and fix [codex#15057, #17337]")
def no_namespaces(k):
    # In a user namespace of its own, as an ordinary user of it: nothing of the host is changed.
    script = ("echo 0 >/proc/sys/user/max_user_namespaces && "
              "exec setpriv --inh-caps -all --ambient-caps -all --bounding-set -all \"$@\"")
    lock = ["unshare", "-U", "--map-user=4242", "--map-group=4242", "--keep-caps", "sh", "-c", script, "sh"]
    environment = {**k.environment(), "SBX_HOME": f"{k.scratch}/locked"}
    if k.command([*lock, "true"]).code:
        raise Lacks("a user namespace cannot be made to try it in")
    for words in (["run", "--", "true"], ["create", "--runtime", "shell"]):
        done = k.command([*lock, k.program, *words], env=environment)
        check(done.code in (5, 125), "exit code:", done)
        done.refused(done.code, "user namespace", "max_user_namespaces")
        check(until(lambda: not os.listdir(f"{k.scratch}/locked/sessions"), 2), "a session is left")
    done = k.command([*lock, k.program, "doctor", "--json"], env=environment)
    check(done.code == 5 and done.json["usable"] is False and "namespace" in done.json["problem"], "doctor:", done)


@test("root of a user namespace with one id is told what to do")
def one_id(k):
    done = k.command(["unshare", "-Ur", k.program, "run", "--", "true"],
                     env={**k.environment(), "SBX_HOME": f"{k.scratch}/one-id"})
    if "unshare" in done.err:
        raise Lacks("a user namespace cannot be made to try it in")
    done.refused(125, "block of ids", "ordinary user")


@test("a home directory that cannot be used is refused with its path")
def home(k):
    for path, text in ((k.write("a-file", "x"), "a-file"), ("/proc/no/such", "/proc/no")):
        done = k.sbx(*CREATE, env={**k.environment(), "SBX_HOME": path})
        check(done.code not in (0, 70) and done.err.count("\n") == 1 and text in done.err, f"{path}:", done)


@test("a home directory that others may write is not trusted", modes=("root",))
def open_home(k):
    path = f"{k.dir}/other"
    os.mkdir(path, 0o700)
    os.chown(path, kit.USER, kit.USER)
    done = k.sbx(*CREATE, env={**k.environment(), "SBX_HOME": path})
    check(done.code != 0 and done.err.count("\n") == 1, "it was taken:", done)


@test("a full disk is refused with its cause, and leaves nothing", modes=("root",))
def full(k):
    place = f"{k.dir}/full"
    os.mkdir(place)
    script = """mount -t tmpfs -o size=2m,mode=700 tmpfs "$1" || exit 77
    export SBX_HOME="$1"
    S=$("$0" create -q --runtime shell) && "$0" rm "$S" || exit 9
    cat /dev/zero >"$1/fill" 2>/dev/null
    "$0" create -q --runtime shell; echo "create $?"
    "$0" run -- true; echo "run $?"
    ls -A "$1/sessions" "$1/trash" | grep -v : | grep . && echo left
    rm "$1/fill"; S=$("$0" create -q --runtime shell) && "$0" exec "$S" -- echo well; "$0" rm -f "$S"
    umount -l "$1\""""
    done = k.command(["unshare", "-m", "sh", "-c", script, k.program, place])
    os.rmdir(place)
    check("No space left on device" in done.err, "the cause is not said:", done)
    for word in ("create 0", "run 0", "left"):
        check(word not in done.out, f"{word}:", done)
    check(done.out.endswith("well\n"), "it does not work again:", done)


if __name__ == "__main__":
    raise SystemExit(kit.main())

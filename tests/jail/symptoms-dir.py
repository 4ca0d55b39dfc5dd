"""Sessions on a root file system that lies in a directory of the host."""
import glob
import hashlib
import os
import re
import shutil
import stat
import subprocess

import kit
from kit import IS_ROOT, USER, Lacks, check, eq, read, test

BUSYBOX = shutil.which("busybox") or "/bin/busybox"
WORDS = ("sh", "cat", "ls", "rm", "mkdir", "mv", "ln", "id", "touch", "stat", "mktemp", "env", "chmod", "grep")
# Would be run by a host that looks for interpreters in the directory, or follows its links.
CANARY = """#!/bin/sh
echo "$0 $*" >>/workspace/ran
echo ran >>@HOST@
exit 7
"""


def put(root, path, content, mode=0o755):
    where = f"{root}/{path}"
    os.makedirs(os.path.dirname(where), exist_ok=True)
    with open(where, "wb") as f:
        f.write(content if isinstance(content, bytes) else content.encode())
    os.chmod(where, mode)


def give_all(k, root):
    if k.who():
        for top, dirs, files in os.walk(root):
            for name in [".", *dirs, *files]:
                os.lchown(f"{top}/{name}", USER, USER)


def make_root(k, name="image"):
    """A small root file system of the caller's; its path."""
    if not os.path.exists(BUSYBOX):
        raise Lacks("no static busybox")
    root = f"{k.scratch}/{name}"
    shutil.rmtree(root, ignore_errors=True)
    for folder in ("bin", "etc", "usr/bin", "workspace/old", "tmp"):
        os.makedirs(f"{root}/{folder}")
    shutil.copyfile(BUSYBOX, f"{root}/bin/busybox")
    os.chmod(f"{root}/bin/busybox", 0o755)
    for word in WORDS:
        os.symlink("busybox", f"{root}/bin/{word}")
    put(root, "etc/issue", "an image\n", 0o644)
    put(root, "workspace/old/a", "a of the image\n", 0o666)
    put(root, "workspace/old/b", "b of the image\n", 0o666)
    os.chmod(f"{root}/workspace/old", 0o777)
    give_all(k, root)
    return root


def libraries(program):
    out = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+) \(0x", out)


def install(root, program):
    """A program of the host, with the libraries that it needs."""
    for path in [program, *libraries(program)]:
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        shutil.copyfile(path, root + path)
        os.chmod(root + path, 0o755)


def digest(root):
    """Names, modes, owners, times and content of a tree."""
    sums = hashlib.sha256()
    for top, dirs, files in os.walk(root):
        dirs.sort()
        for name in sorted([".", *dirs, *files]):
            st = os.lstat(f"{top}/{name}")
            sums.update(repr((top, name, st.st_mode, st.st_uid, st.st_gid, st.st_mtime_ns, st.st_size)).encode())
            if stat.S_ISREG(st.st_mode):
                with open(f"{top}/{name}", "rb") as f:
                    sums.update(f.read())
    return sums.hexdigest()


def changes(result):
    return {(c["path"], c["change"]) for c in result["files"]}


@test("a session on a directory sees its files and none of the host's")
def own_root(k):
    root = make_root(k)
    before = digest(root)
    s = k.session(runtime="dir:image")
    eq(s.show()["runtime"], f"dir:{root}", "the runtime")
    eq(s.exec("--", "cat", "/etc/issue").out, "an image\n", "a file of the directory")
    out = s.exec("--", "sh", "-c", "id; ls /usr/bin /lib; ls /workspace").out
    check("uid=1000(sandbox) gid=1000(sandbox)" in out, "who:", out)
    check("python3" not in out and "old" in out, "what is there:", out)
    check(not os.path.exists("/usr/bin/env") or s.exec("--", "/usr/bin/env").code == 127, "the host's env is there")
    eq(s.exec("--", "sh", "-c", "echo new >/workspace/f; rm /workspace/old/b; echo x >>/workspace/old/a; "
              "echo y >/etc/issue; echo z >/bin/z").code, 1, "writing where it may not")
    eq(digest(root), before, "the directory")
    s.sbx("stop")
    s.sbx("start")
    eq(s.exec("--", "cat", "/workspace/f").out, "new\n", "after a stop")


@test("what an execution changes in files of the directory is told as it is")
def told(k):
    s = k.session(runtime=f"dir:{make_root(k)}")
    result = s.sh("cd old; echo more >>a; rm b; echo c >c; chmod 600 /workspace/old/c")
    eq(changes(result), {("/workspace/old/a", "modified"), ("/workspace/old/b", "deleted"),
                         ("/workspace/old/c", "added")}, "files")
    result = s.sh("rm -r old && mkdir -m 777 old && echo b >old/b")
    eq(changes(result) - {("/workspace/old", "metadata")}, {("/workspace/old/a", "deleted"), ("/workspace/old/c", "deleted"),
                         ("/workspace/old/b", "added")}, "files after a replaced directory")


@test("owners of files in the directory are as inside, and those without an id are said")
def owners(k):
    root = make_root(k)
    if not IS_ROOT:
        raise Lacks("to give files away one must be root")
    # 70000 is in no block of ids, 0 is nobody's for an ordinary user.
    quiet = k.sbx("create", "--json", "--runtime", f"dir:{root}")
    eq(quiet.json["warnings"], [], "warnings without a foreign file")
    k.sbx("rm", quiet.json["id"])
    os.chown(f"{root}/workspace/old/a", 1000, 1000)
    os.chown(f"{root}/workspace/old/b", 70000, 70000)
    os.chmod(f"{root}/workspace/old/a", 0o644)
    said = k.sbx("create", "--name", "foreign", "--runtime", f"dir:{root}")
    k.ids.add(said.out.strip())
    lines = [line for line in said.err.splitlines() if "cannot be enforced" not in line]
    check(said.code == 0 and len(lines) == 1 and "cannot be changed" in lines[0], "not said:", said)
    s = said.out.strip()
    out = k.sbx("exec", s, "--", "stat", "-c", "%u", "old/a", "old/b", "/bin/busybox").out.split()
    eq(out, ["1000", "65534", "0"] if k.is_root else ["65534", "65534", "1000"], "owners inside")
    wrote = k.sbx("exec", s, "--", "sh", "-c", "echo x >>old/a")
    eq(wrote.code == 0, k.is_root, "writing to a file of id 1000")
    wrote = k.sbx("exec", s, "--", "sh", "-c", "echo x >>old/b")
    check(wrote.code != 0 and ("too large" in wrote.err or "denied" in wrote.err), "writing to one of an id that is not there:", wrote)
    eq([w["kind"] for w in k.sbx("show", "--json", s).json["warnings"]], ["foreign_ids"], "show")
    k.sbx("rm", "-f", s)


@test("no program of the directory is run outside of the session")
def canary(k):
    root = make_root(k)
    mark = k.write("mark", "")
    for name in ("python3", "python", "node", "bash", "nodejs", "python3.11"):
        put(root, f"usr/bin/{name}", CANARY.replace("@HOST@", mark))
    give_all(k, root)
    s = k.session(runtime=f"dir:{root}")
    for language, program in (("python", "python3"), ("node", "node"), ("shell", "bash")):
        got = s.exec("--lang", language, "-c", "1")
        check(got.code == 125 and "exit code 7" in got.err, f"{language} did not run inside:", got)
        check(f"/usr/bin/{program} /run/sbx/" in s.exec("--", "cat", "/workspace/ran").out, language)
    eq(read(mark), "", "what ran outside")


@test("an interpreter of the directory keeps its variables")
def interpreter(k):
    root = make_root(k)
    real = os.path.realpath(kit.PYTHON)
    version = os.path.basename(real)
    library = f"/usr/lib/{version}"
    if not os.path.isdir(library):
        raise Lacks(f"no {library} to copy")
    install(root, real)
    os.symlink(version, f"{root}/usr/bin/python3")
    skip = shutil.ignore_patterns("test", "config-*", "ensurepip", "idlelib", "lib2to3", "tkinter",
                                  "pydoc_data", "__pycache__", "dist-packages")
    shutil.copytree(library, root + library, ignore=skip, ignore_dangling_symlinks=True)
    for module in glob.glob(f"{library}/lib-dynload/*.so"):
        for path in libraries(module):
            if not os.path.exists(root + path):
                install(root, path)
    install(root, os.path.realpath("/bin/bash"))
    give_all(k, root)
    s = k.session(runtime=f"dir:{root}")
    eq(s.exec("--lang", "python", "-c", "kept = 41").code, 0, "the first cell")
    eq(s.exec("--lang", "python", "-c", "kept + 1").out, "42\n", "the second cell")
    eq(s.exec("-c", "kept=here; cd /tmp").code, 0, "a cell of the shell")
    eq(s.exec("-c", "echo $kept $PWD $SHELL").out, "here /tmp /bin/sh\n", "the second cell of the shell")


@test("an interpreter that the directory has not is a failure that says so")
def no_interpreter(k):
    s = k.session(runtime=f"dir:{make_root(k)}")
    got = s.cell("1", "--lang", "python")
    eq((got["status"], got["reason"]["kind"]), ("setup_failed", "setup"), "result")
    check("has no such interpreter" in got["warnings"][0]["message"], "words:", got)
    eq(s.exec("--", "no-such-program").code, 127, "a program that is not there")


@test("what is no directory for a session is refused with the cause")
def refused(k):
    root = make_root(k)
    k.write("file", "x")
    for path, code, word in (("/", 3, "host's own root"), ("none", 4, "no such directory"),
                             ("file", 4, "no such directory"), (k.home, 3, "home directory"),
                             (k.scratch + "/../home", 3, "home directory"),
                             (os.path.dirname(k.home), 3, "home directory"), ("", 4, "no such directory")):
        done = k.sbx("create", "--runtime", f"dir:{path}")
        check(done.code != 0 and not done.out and done.err.count("\n") == 1 and word in done.err,
              f"dir:{path}:", done)
    eq(k.sbx("create", "--dry-run", "--runtime", f"dir:{root}").json["schema"], "sbx.plan/1", "the control")


@test("something mounted in the directory is refused by its name")
def mounted(k):
    root = make_root(k)
    if not IS_ROOT:
        raise Lacks("mounting needs root")
    os.mkdir(f"{root}/tmp/a b")
    who = [] if k.is_root else ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    create = [*who, k.program, "create", "-q", "--runtime", f"dir:{root}"]
    control = k.command(["unshare", "-m", *create], user=0, group=0)
    eq(control.code, 0, f"the control: {control!r}")
    k.sbx("rm", "-f", control.out.strip())
    done = k.command(["unshare", "-m", "sh", "-c", 'mount -t tmpfs none "$0" && shift 0 && exec "$@"',
                      f"{root}/tmp/a b", *create], user=0, group=0)
    done.refused(done.code or 1, "mounted in it", "tmp/a b")


@test("a directory that is gone, or was replaced by a link, is not run on")
def replaced(k):
    root = make_root(k)
    s = k.session(runtime=f"dir:{root}")
    s.sbx("stop")
    os.rename(root, f"{root}.away")
    gone = s.sbx("start")
    check(gone.code != 0 and root in gone.err and "no such directory" in gone.err, "gone:", gone)
    os.symlink("/", root)
    link = s.sbx("start")
    check(link.code != 0 and "link" in link.err, "a link:", link)
    os.unlink(root)
    os.rename(f"{root}.away", root)
    eq(s.sbx("start").code, 0, "with it back")
    s.exec("--", "cat", "/etc/issue")
    eq(s.exec("--", "cat", "/etc/issue").out, "an image\n", "its file")


kit.main()

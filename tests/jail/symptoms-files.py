"""Files, links, owners and packages: what other systems were reported to get wrong."""
import io
import os
import shutil
import signal
import subprocess
import tarfile
import zipfile

import kit
from kit import MIB, Lacks, check, eq, read, test, until

SECRET = "a file of the host"


@test("a link planted inside is not followed by a copy out [deer-flow#2623]")
def link_out(k):
    s = k.session()
    secret = k.write("secret", SECRET)
    s.sh(f"ln -s {secret} up.txt; ln -s {k.scratch} dir; ln -s /etc/shadow shadow")
    for path in ("up.txt", "shadow"):
        k.sbx("cp", f"{s.id}:/workspace/{path}", f"{k.scratch}/out")
        check(os.path.islink(f"{k.scratch}/out"), f"{path} did not come as the link that it is")
        os.unlink(f"{k.scratch}/out")
        done = k.sbx("cp", "-L", f"{s.id}:/workspace/{path}", f"{k.scratch}/out")
        check(done.code != 0, "followed out of the session:", done)
    done = k.sbx("cp", f"{s.id}:/workspace/dir/secret", f"{k.scratch}/out")
    check(done.code != 0 and not os.path.exists(f"{k.scratch}/out"), "through a directory:", done)
    eq(read(secret), SECRET, "the file of the host")


@test("a link planted inside is not followed by a copy in [filesystem-mcp-server#21, hermes-workspace#553]")
def link_in(k):
    s = k.session()
    victim, new = k.write("victim", SECRET), k.write("new", "new")
    s.sh(f"ln -s {victim} f; ln -s {k.scratch} dir; ln -s ../../../../../..{k.scratch} up")
    for path in ("f", "dir/victim", "up/victim", f"../../../../../../..{victim}"):
        k.sbx("cp", new, f"{s.id}:/workspace/{path}")
        eq(read(victim), SECRET, f"the file of the host after {path}")
    s.alive()


@test("links in a copied directory stay links, whatever they point to [fullsend#5253]")
def links_in_directory(k):
    s = k.session()
    links = {"abs": "/etc/passwd", "up": "../../../../etc/shadow", "dangling": "nowhere", "loop": "loop",
             "dir": "sub", "sub/back": ".."}
    os.makedirs(f"{k.scratch}/tree/sub")
    for name, target in links.items():
        os.symlink(target, f"{k.scratch}/tree/{name}")
    for path, _, _ in os.walk(f"{k.scratch}/tree"):
        k.give(path)
    eq(k.sbx("cp", f"{k.scratch}/tree", f"{s.id}:/workspace").code, 0, "in")
    for name, target in links.items():
        eq(s.run("readlink", f"/workspace/tree/{name}")["stdout"], target + "\n", name)
    eq(k.sbx("cp", f"{s.id}:/workspace/tree", f"{k.scratch}/out").code, 0, "out")
    for name, target in links.items():
        eq(os.readlink(f"{k.scratch}/out/{name}"), target, name)


@test("names in a tar do not leave the place it is unpacked to")
def tar_names(k):
    s = k.session()
    victim = k.write("victim", SECRET)
    for name in ("../../../../../../../.." + victim, victim, "a/../../../../../.." + victim):
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w") as tar:
            entry = tarfile.TarInfo(name)
            entry.size = 3
            tar.addfile(entry, io.BytesIO(b"new"))
        k.sbx("cp", "-", f"{s.id}:/workspace", input=data.getvalue())
        eq(read(victim), SECRET, f"the file of the host after {name}")
    s.alive()


@test("files go in and out byte for byte, with their modes [OpenShell#1176]")
def round_trip(k):
    s = k.session()
    data = os.urandom(300000)
    k.write("tree/a/exe", data, 0o755)
    k.write("tree/private", "p", 0o600)
    os.symlink("a/exe", f"{k.scratch}/tree/link")
    eq(k.sbx("cp", f"{k.scratch}/tree", f"{s.id}:/workspace/").code, 0, "cp in")
    eq(s.exec("--", "sh", "-c", "cat tree/a/exe | wc -c; stat -c '%a %u' tree/a/exe tree/private; readlink tree/link; "
              "echo more >>tree/private").out.split("\n")[:4], ["300000", "755 1000", "600 1000", "a/exe"])
    eq(k.sbx("cp", f"{s.id}:/workspace/tree", f"{k.scratch}/back").code, 0, "cp out")
    with open(f"{k.scratch}/back/a/exe", "rb") as f:
        eq(f.read() == data, True, "content")
    eq(os.stat(f"{k.scratch}/back/a/exe").st_mode & 0o7777, 0o755, "mode")
    eq(os.readlink(f"{k.scratch}/back/link"), "a/exe", "link")


@test("many copies go into one directory at the same time")
def parallel(k):
    s = k.session()
    paths = [k.write(f"many/{i}", bytes([i]) * 3 * MIB) for i in range(8)]
    copies = [k.start("cp", path, f"{s.id}:/workspace/") for path in paths]
    eq([(c.code, c.err) for c in [c.wait() for c in copies]], [(0, "")] * 8, "cp")
    eq(s.sh("ls -A; cat * | wc -c")["stdout"], "".join(f"{i}\n" for i in range(8)) + f"{24 * MIB}\n", "inside")


@test("a copy in that is stopped leaves nothing, and the next one works")
def stopped_in(k):
    s = k.session()
    head = tarfile.TarInfo("big")
    head.size = 64 * MIB
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        copy = k.start("cp", "-", f"{s.id}:/workspace", stdin=subprocess.PIPE)
        copy.process.stdin.write(head.tobuf() + bytes(MIB))
        copy.process.stdin.flush()
        check(until(lambda: parts(f"{s.up}/workspace")), "nothing is half written while it runs")
        copy.kill(number)
        eq(copy.process.wait(10), -number, "exit of cp")
        check(until(lambda: not os.listdir(f"{s.up}/workspace")), "left:", os.listdir(f"{s.up}/workspace"))
    eq(k.sbx("cp", k.write("next", "x"), f"{s.id}:/workspace").code, 0, "the next copy")
    eq(s.sh("ls -A")["stdout"], "next\n", "inside")


@test("a file that the limit has no room for leaves nothing and is said")
def too_big(k):
    s = k.session("--disk", "8M")
    k.sbx("cp", k.write("big", bytes(9 * MIB)), f"{s.id}:/workspace").refused(6, "write '/workspace/big'")
    eq(os.listdir(f"{s.up}/workspace"), [], "left")
    s.alive()


@test("a copy out that is stopped leaves nothing")
def stopped_out(k):
    s = k.session()
    s.sh("truncate -s 2G big")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        before = sorted(os.listdir(k.scratch))
        copy = k.start("cp", f"{s.id}:/workspace/big", "big")
        check(until(lambda: parts(k.scratch), pause=0.001), "nothing is half written while it runs")
        copy.kill(number)
        eq(copy.process.wait(10), -number, "exit of cp")
        eq(sorted(os.listdir(k.scratch)), before, "files of the caller")
    s.alive()


def parts(directory):
    return [n for n in os.listdir(directory) if n.startswith(".sbx-")]


@test("a copy that is not allowed names the path and is denied")
def denied(k):
    s = k.session()
    path = k.write("x", "x")
    s.sh("echo 1 >o")
    for target, shown in (("/etc/", "/etc/x"), ("/etc/y", "/etc/y"), ("/usr/x", "/usr/x"), ("relative", "/relative")):
        k.sbx("cp", path, f"{s.id}:{target}").refused(5, f"create '{shown}'")
    k.sbx("cp", path, f"{s.id}:no/x").refused(3, "'/no'")
    os.mkdir(f"{k.scratch}/o")
    k.give(f"{k.scratch}/o")
    os.mkdir(f"{k.scratch}/o/o")
    k.sbx("cp", f"{s.id}:/workspace/o", f"{k.scratch}/o").refused(5, f"write '{k.scratch}/o/o'")
    if k.is_root:
        return
    k.sbx("cp", f"{s.id}:/workspace/o", "/etc/").refused(5, "write '/etc/o'")
    closed = k.write("closed", "x", 0)
    k.sbx("cp", closed, f"{s.id}:/workspace").refused(5, f"read '{closed}'")


@test("names are bytes: no UTF-8, line breaks, other alphabets [shipyard-neo#31]")
def names(k):
    s = k.session()
    result = s.sh("touch -- \"$(printf 'a\\377b')\" \"$(printf 'line\\nbreak')\" \u00e9t\u00e9 \u65e5\u672c '-rf' ' '")
    found = {f["path"]: f for f in result["files"]}
    eq(result["files_total"], 6, "files_total")
    check(any("path_base64" in f for f in result["files"]), "the name that is no UTF-8 has no path_base64:", found)
    check("/workspace/\u00e9t\u00e9" in found and "/workspace/line\nbreak" in found, "paths:", list(found))
    eq(s.sh("rm -- *")["files_total"], 6, "files_total of the removal")


@test("an id of .. is refused, and so is every other path [piclaw#505]")
def ids(k):
    k.write("home-guard", SECRET)
    for word in ("..", ".", "../x", "a/b", "/etc", "", "-x/", "A", "a" * 65, "sess_\n", ".hidden"):
        for command in (["rm", "-f", "--"], ["show", "--"], ["stop", "--"]):
            done = k.sbx(*command, word)
            check(done.code in (2, 3) and "Traceback" not in done.err, f"{command} {word!r}:", done)
        done = k.sbx("create", "--runtime", "shell", "--name", word)
        eq(done.code, 2, f"create --name {word!r}")
    check(os.path.isdir(f"{k.home}/sessions") and read(f"{k.scratch}/home-guard") == SECRET, "something is gone")
    eq(k.stored(), [], "what is left")


@test("a tree of mode 000 can be removed, whoever made it [soleur#1546, ray#65823]")
def mode_000(k):
    s = k.session()
    done = s.sh("mkdir -p a/b/c && touch a/b/c/f && chmod 000 a/b/c a/b a; mkdir /tmp/t && touch /tmp/t/f && chmod 0 /tmp/t; "
                "mkfifo p; ln s l; ln -s / root")
    eq(done["status"], "success")
    eq(s.remove().code, 0, "rm")
    eq(k.stored(), [], "what is left")


@test("a deep tree can be removed")
def deep(k):
    s = k.session(runtime="python")
    result = s.cell("import os\nfor i in range(3000):\n    os.mkdir('d'); os.chdir('d')", "--timeout", "60")
    eq(result["status"], "success")
    eq(s.remove().code, 0, "rm")
    eq(k.stored(), [], "what is left")


@test("the host has the same files before and after [claude-code#17727, pi-sandbox#52]")
def host_tree(k):
    k.write("project/file", "x")
    before = tree(k.scratch)
    environment = {**k.environment(), "PWD": f"{k.scratch}/project"}
    k.sbx("run", "--", "sh", "-c", "touch new /tmp/new ~/new", cwd=f"{k.scratch}/project", env=environment)
    s = k.session()
    s.sh("touch new; ln -s x y")
    eq(s.remove().code, 0)
    eq(tree(k.scratch), before, "files of the host")


def tree(top):
    return sorted(os.path.join(d, n) for d, dirs, files in os.walk(top) for n in dirs + files)


@test("sandboxes that are used from one directory do not disturb each other, nor it [claude-code#94008]")
def one_directory(k):
    before = tree(k.scratch)
    s = k.session()
    running = [k.start("run", "--runtime", "shell", "--", "sh", "-c", "echo $0 >f; sleep 0.3; cat f", str(i))
               for i in range(4)]
    for i, client in enumerate(running):
        done = client.wait()
        eq((done.code, done.out), (0, f"{i}\n"), f"run {i}")
    s.alive()
    eq(s.remove().code, 0, "rm")
    eq(tree(k.scratch), before, "the directory")


@test("what this kernel has no file of to mask keeps no command from running [sandbox-runtime#185, codex#17079]")
def mask_missing(k):
    plan = k.sbx("create", "--dry-run", "--runtime", "shell").json
    masks = [o["path"] for o in plan["operations"] if o["operation"] == "mask"]
    missing = [m for m in masks if not os.path.exists(f"/proc/{m}")]
    check(missing, "the control: this kernel has all of them:", masks)
    k.session().alive()


@test("what changed is listed: added, modified, deleted")
def changes(k):
    s = k.session()
    s.sh("echo 1 >kept; echo 1 >gone")
    result = s.sh("echo 22 >kept; rm gone; echo 3 >new; mkdir d")
    seen = {f["path"].removeprefix("/workspace/"): f["change"] for f in result["files"]}
    eq(seen, {"kept": "modified", "gone": "deleted", "new": "added", "d": "added"})
    eq(s.sh("cat kept")["files"], [], "of a command that only reads")


# --- packages ---------------------------------------------------------------------------------

def wheel(k):
    """A wheel of one module, as PEP 427 wants it."""
    info = "hello_sbx-1.0.dist-info"
    files = {"hello_sbx.py": "def greet():\n    return 'hello from the wheel'\n",
             f"{info}/METADATA": "Metadata-Version: 2.1\nName: hello-sbx\nVersion: 1.0\n",
             f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as z:
        for name, content in {**files, f"{info}/RECORD": record}.items():
            z.writestr(name, content)
    return k.write("hello_sbx-1.0-py3-none-any.whl", data.getvalue())


def sleep_and_wake(s):
    """Through dormancy: every process goes, the files stay."""
    for context in s.show()["contexts"]:
        done = s.kit.sbx("context", "rm", s.id, context["name"], "--lang", context["language"])
        eq(done.code, 0, f"context rm: {done!r}")
    s.asleep(10)


@test("pip installs a local wheel, which stays over executions and dormancy")
def pip(k):
    if k.command([kit.PYTHON, "-m", "pip", "--version"]).code:
        raise Lacks(f"{kit.PYTHON} has no pip")
    s = k.session("--dormant-after", "0.5", runtime="python")
    eq(k.sbx("cp", wheel(k), f"{s.id}:/workspace/").code, 0, "cp")
    done = s.exec("--timeout", "60", "--", "sh", "-c",
                  "python3 -m pip install --user --no-index --break-system-packages ./*.whl || "
                  "python3 -m pip install --user --no-index ./*.whl", seconds=70)
    eq(done.code, 0, f"pip install: {done!r}")
    greet = "import hello_sbx; print(hello_sbx.greet())"
    eq(s.cell(greet)["stdout"], "hello from the wheel\n", "in a cell")
    sleep_and_wake(s)
    eq(s.exec("--", "python3", "-c", greet).out, "hello from the wheel\n", "after dormancy")


@test("npm installs a local package, which stays over executions and dormancy")
def npm(k):
    if not shutil.which("npm", path="/usr/bin:/bin"):
        raise Lacks("no npm here")
    s = k.session("--dormant-after", "0.5", "--pids", "256", runtime="node")
    k.write("pkg/package.json", '{"name": "hello-sbx", "version": "1.0.0", "main": "index.js"}')
    k.write("pkg/index.js", "module.exports = () => 'hello from the package';")
    eq(k.sbx("cp", f"{k.scratch}/pkg", f"{s.id}:/workspace/").code, 0, "cp")
    done = s.exec("--timeout", "60", "--", "sh", "-c", "npm pack --silent ./pkg && npm install --offline --no-audit "
                  "--no-fund ./hello-sbx-1.0.0.tgz", seconds=70)
    eq(done.code, 0, f"npm install: {done!r}")
    greet = "console.log(require('hello-sbx')())"
    eq(s.cell(greet)["stdout"], "hello from the package\n", "in a cell")
    sleep_and_wake(s)
    eq(s.exec("--", "node", "-e", greet).out, "hello from the package\n", "after dormancy")


@test("a figure of matplotlib becomes a PNG artifact [OpenSandbox#1206]")
def figure(k):
    if k.command([kit.PYTHON, "-c", "import matplotlib"]).code:
        raise Lacks(f"{kit.PYTHON} has no matplotlib")
    s = k.session("--exec-timeout", "60", runtime="python")
    result = s.cell("import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.show()", seconds=70)
    eq(result["status"], "success", result)
    [artifact] = result["artifacts"]
    eq(artifact["mime"], "image/png", "mime")
    eq(k.sbx("cp", f"{s.id}:{artifact['path']}", f"{k.scratch}/figure.png").code, 0, "cp")
    with open(f"{k.scratch}/figure.png", "rb") as f:
        content = f.read()
    check(content.startswith(b"\x89PNG\r\n") and len(content) == artifact["bytes"], "no PNG of that size:", artifact)


if __name__ == "__main__":
    raise SystemExit(kit.main())

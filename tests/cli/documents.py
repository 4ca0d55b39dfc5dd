"""JSON of the commands that need no jail: it parses, has its schema, and keeps its form.

    documents.py SBX

TAP on stdout. Everything happens in a home directory of its own, as whoever runs it.
"""
import json
import os
import subprocess
import sys
import tempfile

SBX = os.path.abspath(sys.argv[1])
number = failed = 0


def check(good, text, *seen):
    global number, failed
    number += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {number} - {text}", flush=True)
    if not good:
        for line in repr(seen).split("\n"):
            print("# " + line[:2000], flush=True)


def sbx(*words, **more):
    return subprocess.run([SBX, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60, check=False, **more)


def parsed(text):
    """The object on the one line that there must be, or None."""
    try:
        return json.loads(text) if text.count("\n") == 1 else None
    except ValueError:
        return None


def version():
    done = sbx("--version", "--json")
    got = parsed(done.stdout) or {}
    check(done.returncode == 0 and got.get("schema") == "sbx.version/1" and got.get("name") == "sbx",
          "--version --json", done)
    return got.get("features", [])


def commands(features):
    got = parsed(sbx("__gen", "json").stdout) or {"commands": []}
    check(got.get("schema") == "sbx.commands/1", "the description of the commands has its schema", got)
    check([c["name"] for c in got["commands"]] == features, "its commands are the features of the version", features)
    return got["commands"]


# What each command with --json is given so that it fails before it needs a jail.
FAILING = {
    "create": ["--runtime", "python:2.1"],
    "run": ["--runtime", "python:2.1", "--", "true"],
    "exec": ["nosuch", "--", "true"],
    "list": ["--columns", "idd"],
    "show": ["nosuch"],
    "context": ["list", "nosuch"],
    "clean": ["nosuch"],
}
# Those that cannot fail so.
WORKING = {"doctor"}


def errors(table):
    with_json = {c["name"] for c in table if any(o["name"] == "json" for o in c["options"])}
    check(with_json == set(FAILING) | WORKING, "every command with --json is known here", with_json)
    for name, words in FAILING.items():
        done = sbx(name, "--json", *words)
        got = parsed(done.stdout) or {}
        check(list(got) == ["schema", "kind", "errno", "text"] and got["schema"] == "sbx.error/1" and done.stderr == ""
              and done.returncode != 0, f"a failure of {name} is one object, and nothing else", done)
        plain = sbx(name, *words)
        check(plain.stderr == f"sbx {name}: {got.get('text')}\n" and plain.returncode == done.returncode,
              f"and says the same as the line of {name}", plain)


ROW = ["schema", "id", "name", "status", "class", "runtime", "age_ms", "memory_limit_bytes", "disk_limit_bytes",
       "created_at", "last_used_at", "expires_at", "cpu_limit", "pids_limit", "isolation"]


def lists(home):
    done = sbx("list", "--json")
    check((done.returncode, done.stdout, done.stderr) == (0, "", ""), "an empty list has no line", done)
    check(sbx("list", "-q").stdout == "", "and no id")
    os.mkdir(f"{home}/sessions/half-made")
    row = parsed(sbx("list", "--json").stdout) or {}
    check(list(row) == ROW and (row["id"], row["status"]) == ("half-made", "damaged"), "a damaged session is a row", row)
    check(list(parsed(sbx("list", "--json", "--columns", "status,id").stdout) or {}) == ["schema", "status", "id"],
          "--columns chooses, in its order")
    check(sbx("list", "--columns", "id,status").stdout.split() == ["ID", "STATUS", "half-made", "damaged"], "as text")
    done = sbx("list", "--status", "damaged", "-q")
    check(done.stdout == "half-made\n", "--status filters", done)
    check(sbx("list", "--status", "live", "-q").stdout == "", "and leaves out")
    check(sbx("rm", "half-made").returncode == 0 and not os.listdir(f"{home}/sessions"), "it can be removed")


# What each of these does rests on the one before it.
ORDER = ["hostname", "overlay", "bind", "pivot", "proc", "mask", "lock"]


def plans(home):
    words = ["create", "--dry-run", "--runtime", "shell"]
    first, second = sbx(*words), sbx(*words)
    plan = parsed(first.stdout) or {"operations": []}
    check(plan.get("schema") == "sbx.plan/1" and first.stdout == second.stdout, "two plans of one session are the same",
          first, second)
    names = [o["operation"] for o in plan["operations"]]
    places = [names.index(o) for o in ORDER if o in names]
    check(len(places) == len(ORDER) and places == sorted(places), "its operations are in order", names)
    usr = [o for o in plan["operations"] if o.get("path") == "usr"]
    check(len(usr) == 1 and usr[0].get("attributes") == ["ro", "nosuid", "nodev"], "/usr is read-only", usr)
    check({"user", "pid", "mnt", "net", "ipc", "uts"} <= set(plan.get("namespaces", [])), "its namespaces", plan)
    check(os.listdir(f"{home}/sessions") == [], "no session was made")


def main():
    print("TAP version 13", flush=True)
    with tempfile.TemporaryDirectory(prefix="sbx-cli.") as top:
        home = os.environ["SBX_HOME"] = f"{top}/home"
        os.environ.pop("SBX_TRACE", None)
        table = commands(version())
        errors(table)
        lists(home)
        plans(home)
    print(f"1..{number}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())

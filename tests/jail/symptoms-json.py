"""JSON of every command that needs a session: it parses, has its schema, and nothing stands beside it."""
import json

import kit
from kit import check, eq, test, until

RESULT = ["schema", "session_id", "execution_id", "status", "exit_code", "signal", "reason", "stdout", "stdout_bytes",
          "stdout_kept", "stdout_truncated", "stderr", "stderr_bytes", "stderr_kept", "stderr_truncated", "files",
          "files_total", "files_truncated", "files_shared_with", "artifacts", "usage", "state", "isolation", "warnings",
          "leftovers_killed", "logs", "started_at", "duration_ms", "hint"]


def one(done, schema):
    check(done.out.count("\n") == 1 and not done.err, "not one line:", done)
    eq(done.json["schema"], schema, "schema")
    return done.json


@test("create, show and list describe a session alike")
def sessions(k):
    made = one(k.sbx("create", "--json", "--runtime", "shell", "--name", "one"), "sbx.session/1")
    try:
        shown = one(k.sbx("show", "--json", "one"), "sbx.session/1")
        row = one(k.sbx("list", "--json"), "sbx.session/1")
        eq({k: v for k, v in made.items() if k != "last_used_at"},
           {k: v for k, v in shown.items() if k != "last_used_at"}, "create and show")
        for key in ("id", "name", "status", "class", "runtime", "created_at", "expires_at"):
            eq(row[key], shown[key], f"{key} in list")
        eq(sorted(shown["limits"]), ["cpu", "disk", "memory", "nofile", "pids"], "limits")
        check(all(limit["enforced_by"] for limit in shown["limits"].values()), "enforced_by:", shown["limits"])
        check(shown["id"] in shown["instructions"], "the instructions do not name the session")
        eq(k.sbx("show", "--instructions", "one").out.rstrip("\n"), shown["instructions"], "--instructions")
    finally:
        k.sbx("rm", "-f", "one")


@test("a result has every field of its schema, in order, in success and failure")
def results(k):
    s = k.plain()
    for options, words in (([], ["true"]), ([], ["sh", "-c", "echo x; exit 3"]), ([], ["/nonexistent"]),
                           (["--timeout", "0.1"], ["sleep", "300"])):
        done = s.exec("--json", *options, "--", *words)
        eq(list(one(done, "sbx.result/1")), RESULT, f"fields of {words}")
        eq(done.code, done.json["exit_code"], "exit code")
    cell = one(s.exec("--json", "-c", "1"), "sbx.result/1")
    eq([f for f in cell if f not in RESULT], ["result"], "more in a cell with a value")
    cell = one(s.exec("--json", "-c", "1/0"), "sbx.result/1")
    eq([f for f in cell if f not in RESULT], ["error"], "more in a cell that fails")
    eq((cell["error"]["name"], cell["status"], cell["exit_code"]), ("ZeroDivisionError", "error", 1))
    one(k.sbx("run", "--json", "--", "true"), "sbx.result/1")


@test("--stream writes events as they happen, and then the result")
def stream(k):
    s = k.plain()
    done = s.exec("--stream", "--", "sh", "-c", "echo one; sleep 0.2; echo two >&2")
    lines = [json.loads(line) for line in done.out.splitlines()]
    eq(lines[-1]["schema"], "sbx.result/1", "the last line")
    kinds = [(e["type"], e.get("status")) for e in lines[:-1]]
    for want in ("running", "output", "success"):
        check(("execution_update", want) in kinds, f"no '{want}':", kinds)
    eq("".join(e.get("text", "") for e in lines if e.get("stream") == "stdout"), "one\n")
    eq({e["execution_id"] for e in lines}, {lines[-1]["execution_id"]}, "execution")


@test("events are numbered without gaps, in all three formats")
def events(k):
    s = k.session()
    s.sh("echo x; touch f")
    lines = s.sbx("events", "--format", "json").out.splitlines()
    eq(json.loads(lines[0]), {"schema": "sbx.events/1"}, "the first line")
    seen = [json.loads(line) for line in lines[1:]]
    eq([e["seq"] for e in seen], list(range(1, len(seen) + 1)), "numbers")
    eq([e["type"] for e in seen[:2]], ["session_created", "session_ready"], "the first two")
    eq([e["seq"] for e in s.events("file_changed")], [e["seq"] for e in seen if e["type"] == "file_changed"], "--types")
    later = s.sbx("events", "--format", "json", "--since", "2").out.splitlines()
    eq(later[1:], lines[3:], "--since")
    blocks = s.sbx("events", "--format", "sse").out.strip().split("\n\n")
    eq([b.split("\n")[0] for b in blocks], [f"id: {e['seq']}" for e in seen], "SSE ids")
    eq([json.loads(b.split("data: ", 1)[1]) for b in blocks], seen, "SSE data")
    s.sbx("events", "--types", "file_chnged").refused(2, "file_chnged", "did you mean file_changed?")


@test("a follower sees the end of the session, and then ends")
def follow(k):
    s = k.session()
    follower = k.start("events", s.id, "--follow", "--format", "json")
    s.sh("echo x")
    eq(s.sbx("rm").code, 0)
    done = follower.wait(10)
    eq(done.code, 0, f"exit code: {done!r}")
    check('"success"' in done.out, "it has not seen the execution:", done)


@test("contexts are listed, removed, and missed with an error")
def contexts(k):
    s = k.session(runtime="python")
    s.cell("1", "--context", "c")
    row = one(k.sbx("context", "list", s.id, "--json"), "sbx.context/1")
    eq((row["context"], row["language"], row["epoch"], row["alive"]), ("c", "python", 1, True))
    eq(k.sbx("context", "rm", s.id, "c").code, 0, "rm")
    check(until(lambda: '"alive":true' not in k.sbx("context", "list", s.id, "--json").out), "it is alive")
    done = k.sbx("context", "rm", s.id, "never", "--json")
    eq((done.code, done.json["schema"], done.json["kind"]), (3, "sbx.error/1", "not-found"))


@test("doctor tells what holds, and leaves nothing")
def doctor(k):
    before = k.stored()
    found = one(k.sbx("doctor", "--json"), "sbx.doctor/1")
    eq((found["usable"], found["problem"]), (True, None))
    eq([name for name, wall in found["walls"].items() if isinstance(wall, dict) and not wall["held"]], [], "walls")
    eq(k.sbx("doctor").code, 0, "as text")
    check(until(lambda: k.stored() == before), "stored:", k.stored())


@test("the record of an execution says what its result said")
def record(k):
    s = k.session()
    result = s.sh("echo x", options=["-e", "A=1", "-e", "KEY=hidden", "--secret-env", "KEY"])
    kept = s.record(result["execution_id"])
    eq(kept["schema"], "sbx.record/1")
    eq(kept["result"], result, "result")
    eq(kept["request"]["command"], ["sh", "-c", "echo x", "sh"], "command")
    check("hidden" not in json.dumps(kept), "a secret is in the record:", kept["request"])


if __name__ == "__main__":
    raise SystemExit(kit.main())

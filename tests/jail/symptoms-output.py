"""Output of every size and kind: what other systems were reported to get wrong."""
import base64
import json
import os
import re
import threading

import kit
from kit import MIB, Lacks, check, eq, read, test, within

CAP = 64 * 1024  # [bytes] of a stream's text in a result
KEEP = 4096      # [bytes] the smallest --output-keep; half of it for each stream
EMOJI = "\N{GRINNING FACE}"


def write_bytes(n, mark="E"):
    """A script that writes n bytes: x, and a mark at the end."""
    return f"head -c {n - 1} /dev/zero | tr '\\0' x; printf {mark}"


def announced_gap(text):
    found = re.search(r"\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n", text)
    return (int(found[1]), text[:found.start()], text[found.end():]) if found else (0, text, "")


@test("one byte less than the cap, the cap, and one more are told apart [inspect_ai#4778]")
def around_cap(k):
    s = k.session()
    for n in (CAP - 1, CAP, CAP + 1):
        result = s.sh(write_bytes(n))
        gap, head, tail = announced_gap(result["stdout"])
        eq((result["stdout_bytes"], result["stdout_kept"]), (n, n), "bytes and kept")
        eq(result["stdout_truncated"], n > CAP, f"truncated at {n}")
        eq(len(head) + len(tail) + gap, n, "head, gap and tail")
        eq((tail or head)[-1], "E", "the last byte")
        eq(bool(gap), n > CAP, f"a gap at {n}")


@test("what --output-keep cuts is told, and the end is there [inspect_ai#4778, #4506]")
def around_keep(k):
    s = k.session()
    for n in (KEEP // 2 - 1, KEEP // 2, KEEP // 2 + 1, KEEP, CAP + 1, MIB):
        result = s.sh(write_bytes(n), options=["--output-keep", str(KEEP)])
        gap, head, tail = announced_gap(result["stdout"])
        eq((result["stdout_bytes"], result["stdout_kept"]), (n, min(n, KEEP // 2)), "bytes and kept")
        eq(result["stdout_truncated"], n > KEEP // 2, f"truncated at {n}")
        eq(len(head) + len(tail) + gap, n, f"head, gap and tail of {n}")
        eq((tail or head)[-1], "E", f"the last byte of {n}")


@test("both forms of a result say the same of a cut")
def status_form(k):
    s = k.session()
    for n in (KEEP // 2, KEEP // 2 + 1, CAP + 1):
        into, out = os.pipe()
        os.set_inheritable(out, True)
        s.exec("--output-keep", str(KEEP), "--status-fd", str(out), "--", "sh", "-c", write_bytes(n),
               pass_fds=[out])
        os.close(out)
        with os.fdopen(into) as f:
            status = json.load(f)
        eq(status["stdout_truncated"], n > KEEP // 2, f"truncated at {n}")
        check("stdout" not in status, "it has the output")


@test("a character that the cut splits is left out whole")
def cut_character(k):
    for shift in range(4):
        result = k.plain().sh(f"printf %{shift}s ''; yes {EMOJI} | head -c {3 * CAP} | tr -d '\\n'")
        check("\ufffd" not in result["stdout"].rstrip("\ufffd"), "half a character at the cut, shift", shift)


@test("one emoji byte a write is one character, in result and events [openai-agents-js#1751]")
def split_characters(k):
    code = f"""import os, time
for i in range(6):
    for b in {EMOJI!r}.encode():
        os.write(1, bytes([b])); time.sleep(0.03)"""
    s = k.session(runtime="python")
    result = s.cell(code)
    eq(result["stdout"], EMOJI * 6, "the cell's text")
    check("stdout_base64" not in result, "it is UTF-8, and has base64 beside")
    events_are_whole(s, EMOJI * 6)
    s = k.session(runtime="python")
    eq(s.run("python3", "-c", code)["stdout"], EMOJI * 6, "the command's text")
    events_are_whole(s, EMOJI * 6)


def events_are_whole(s, want):
    texts = [e for e in s.events("execution_update") if e["status"] == "output"]
    check(len(texts) > 2, "there was no stream of events:", texts)
    eq("".join(e["text"] for e in texts), want, "text of the events")
    eq(sum(e["bytes"] for e in texts), len(want.encode()), "bytes of the events")


@test("bytes that are no text are given as they are, beside the text [smol#93, inspect_k8s_sandbox#209]")
def binary(k):
    s = k.session()
    data = bytes(range(256)) * 8
    result = s.exec("-i", "--json", "--", "cat", input=data).json
    eq(base64.b64decode(result["stdout_base64"]), data, "stdout_base64")
    check("\ufffd" in result["stdout"], "the text does not show that it is no text")
    eq(s.exec("-i", "--", "cat", input=data).raw, data, "in human form")
    lone = s.exec("-i", "--json", "--", "cat", input=b"ok \xff\n").json
    eq(base64.b64decode(lone["stdout_base64"]), b"ok \xff\n", "stdout_base64")


@test("no program is killed for writing much [piston#301]")
def much(k):
    s = k.session()
    result = s.sh(f"head -c {8 * MIB} /dev/zero; head -c {8 * MIB} /dev/zero >&2; exit 7")
    eq((result["status"], result["exit_code"]), ("error", 7))
    eq((result["stdout_bytes"], result["stderr_bytes"]), (8 * MIB, 8 * MIB))


@test("output before the time limit is returned, without flushing by hand [piston#180]")
def partial(k):
    s = k.session(runtime="python")
    code = "print('before'); import time; time.sleep(300)"
    eq(s.cell(code, "--timeout", "0.5")["stdout"], "before\n", "of a cell")
    eq(s.run("python3", "-c", code, options=["--timeout", "0.5"])["stdout"], "before\n", "of a command")


@test("2 GB of output leave every sbx process under 16 MiB private [haiku.rag#623]")
def two_gigabytes(k):
    if k.has_sanitizer():
        raise Lacks("a sanitizer's memory is not sbx's")
    s = k.session("--output-keep", "16Mi")
    size = 2 * 1024 * MIB
    client = s.start("--json", "--timeout", "250", "--", "head", "-c", str(size), "/dev/zero")
    most, samples, over = {}, 0, threading.Event()

    def sample():
        nonlocal samples
        while not over.wait(0.05):
            for pid, title in [*s.processes().items(), (client.pid, "client")]:
                if title == "client" or title.startswith("sbx"):
                    most[title] = max(most.get(title, 0), private_bytes(pid))
                    samples += 1

    # Beside the reading: a client that nobody reads waits.
    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        done = client.wait(260)
    finally:
        over.set()
        sampler.join()
    eq((done.json["status"], done.json["stdout_bytes"]), ("success", size))
    check(samples > 20 and len(most) >= 3, "too few samples:", samples, most)
    for title, n in most.items():
        check(n < 16 * MIB, f"{title} has {n} bytes of its own")
    kept = os.path.getsize(f"{s.path}/exec/{done.json['execution_id']}/stdout")
    check(kept <= 8 * MIB, "the spool has more than it may:", kept)


def private_bytes(pid):
    try:
        lines = read(f"/proc/{pid}/smaps_rollup").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_"))


@test("a reader that does not read slows the program down and ends nothing [lean-ctx#949]")
def slow_reader(k):
    s = k.session()
    client = s.start("--", "head", "-c", str(4 * MIB), "/dev/zero")
    other = s.exec("--", "echo", "meanwhile")
    eq(other.out, "meanwhile\n", "another execution while the first is blocked")
    done = client.wait()
    eq((done.code, len(done.raw)), (0, 4 * MIB))


@test("with --json a client that does not read slows nothing down [lean-ctx#949]")
def deaf_client(k):
    s = k.session()
    client = s.start("--json", "--", "sh", "-c", f"head -c {64 * MIB} /dev/zero; touch /workspace/over")
    check(kit.until(lambda: os.path.exists(f"{s.up}/workspace/over"), 10), "it did not get on")
    eq(client.wait().json["stdout_bytes"], 64 * MIB)


@test("a reader that has enough ends the execution, as in a pipe of a shell")
def closed_reader(k):
    s = k.session()
    client = s.start("--timeout", "60", "--", "yes")
    client.process.stdout.read(100)
    client.process.stdout.close()
    eq(client.process.wait(5 * kit.SCALE), 141, "exit code")
    check(kit.until(lambda: s.records()), "no record")
    eq(s.records()[0]["result"]["status"], "cancelled", "status in the record")


@test("a stream of events has the whole of a long output in bounds, and nothing captures it [huggingface_hub#4839]")
def long_stream(k):
    s = k.session()
    done = s.exec("--stream", "--", "sh", "-c", "head -c 80000000 /dev/zero | tr '\\0' x; echo end", seconds=60)
    lines = [json.loads(line) for line in done.out.splitlines()]
    check(len(done.raw) < 4 << 20, "the stream has", len(done.raw))
    result = lines[-1]
    eq((result["status"], result["stdout_bytes"]), ("success", 80000004))
    check(result["stdout"].endswith("end\n"), "the end is not there:", result["stdout"][-100:])
    with open(f"{s.path}/exec/{result['execution_id']}/stdout", "rb") as f:
        eq(len(f.read()), 80000004, "spooled")


@test("human form is byte for byte what the program wrote, and stderr apart")
def exact(k):
    s = k.session()
    done = s.exec("--", "sh", "-c", "printf 'no newline'; printf 'err\\033[31m' >&2")
    eq((done.raw, done.err), (b"no newline", "err\x1b[31m"))
    data = os.urandom(10 * MIB)
    eq(s.exec("-i", "--", "cat", input=data).raw == data, True, "10 MiB of anything")


@test("what a thread of an earlier cell prints is not the next cell's output")
def background_output(k):
    s = k.session(runtime="python")
    s.cell("import threading, time\ndef late():\n    time.sleep(0.3); print('late')\n"
           "t = threading.Thread(target=late); t.start()")
    check(kit.until(lambda: "".join(e["message"] for e in s.events("log")) == "late\n"),
          "it is not in the journal:", s.events("log"))
    eq(s.cell("t.join(); print('next')")["stdout"], "next\n", "the next cell's output")


if __name__ == "__main__":
    raise SystemExit(kit.main())

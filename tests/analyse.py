"""Reads the program with clang-tidy, cppcheck and gcc -fanalyzer.

    analyse.py SOURCE-DIRECTORY BUILD-DIRECTORY

Findings that are known are in tests/lint/debts, one "analyse FILE RULE" a line; a debt that was
paid must be taken out. What was clean is not read again before it, or what it includes, or the
rules change: the digests of that are in BUILD-DIRECTORY/analysed.
"""
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys

# [s] For one file; the longest takes some 10.
LIMIT_S = 300
FINDING = re.compile(r"^(\S+?):(\d+):\d+: (?:warning|error): (.*) \[([^\]]+)\]$")
# What another compiler's command line has and these do not know, and what costs time only.
LEFT_OUT = re.compile(r"^-(Werror|O\d|fdiagnostics-color=.*)$")
# Enough for all findings so far, in a tenth of the time of the longest files. Source: 148 files at
# 225,000, the default, and at this.
NODES = ["-Xclang", "-analyzer-config", "-Xclang", "max-nodes=40000"]
CPPCHECK = ["cppcheck", "--std=c11", "--enable=warning,performance,portability", "--quiet",
            "--suppressions-list=tests/lint/cppcheck", "--inline-suppr", "--error-exitcode=0",
            "--template={file}:{line}:1: warning: {message} [cppcheck-{id}]"]


def run(command, cwd, file="tests/analyse.py"):
    """All that a program says. One that could not do its work, which is no finding of its, says
    so in a line like those."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=LIMIT_S)
    text = done.stdout + done.stderr
    if done.returncode:
        text += f"\n{file}:1:1: error: {command[0]}: {text[-300:]!r} [failed]\n"
    return text


class Unit:
    """One file and the command that compiles it."""

    def __init__(self, entry):
        self.cwd = entry["directory"]
        self.file = entry["file"]
        words = shlex.split(entry["command"])
        self.flags = [w for w in words[1:words.index("-MD")] if not LEFT_OUT.match(w)]

    def digest(self, rules):
        text = subprocess.run(["gcc", *self.flags, "-E", self.file], cwd=self.cwd, check=True,
                              capture_output=True, timeout=LIMIT_S).stdout
        return hashlib.sha256(text + rules).hexdigest()

    def analyse(self, source):
        config = "--config-file=" + os.path.join(source, ".clang-tidy")
        # One file a process: the analyser confuses variable arguments of a second one.
        return (run(["clang-tidy", "--quiet", config, self.file, "--", *self.flags, *NODES],
                    self.cwd, self.file) +
                run(["gcc", *self.flags, "-O0", "-fanalyzer", "-fdiagnostics-path-format=none",
                     "-fdiagnostics-color=never", "-c", "-o", "/dev/null", self.file],
                    self.cwd, self.file))


def findings(text, cwd, source):
    """(FILE, LINE, WHAT, RULE) of all lines that say one."""
    for line in text.splitlines():
        match = FINDING.match(line)
        # Warnings of gcc are the build's affair, with its own level of optimization.
        if match and (not match[4].startswith("-W") or match[4].startswith("-Wanalyzer")):
            file, number, what, rule = match.groups()
            path = os.path.relpath(os.path.join(cwd, file), source)
            yield path, int(number), what, rule


def units(source, build):
    with open(os.path.join(build, "compile_commands.json")) as file:
        for entry in json.load(file):
            path = os.path.relpath(os.path.join(entry["directory"], entry["file"]), source)
            if path.endswith(".c") and path.startswith(("lib/", "cmd/")):
                yield Unit(entry)


def rules_of(source):
    text = b""
    for name in (".clang-tidy", "tests/analyse.py"):
        with open(os.path.join(source, name), "rb") as file:
            text += file.read()
    for program in ("clang-tidy", "gcc"):
        text += subprocess.run([program, "--version"], capture_output=True, check=True).stdout
    return text


def read_debts(source):
    with open(os.path.join(source, "tests/lint/debts")) as file:
        return {tuple(line.split()[1:3]) for line in file if line.startswith("analyse ")}


def main(source, build):
    seen = os.path.join(build, "analysed")
    os.makedirs(seen, exist_ok=True)
    rules, found, debts, paid = rules_of(source), set(), read_debts(source), set()

    def look_at(unit):
        mark = os.path.join(seen, unit.digest(rules))
        if os.path.exists(mark):
            return set()
        new = set(findings(unit.analyse(source), unit.cwd, source))
        if not new:
            open(mark, "w").close()
        return new

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        all_units = list(units(source, build))
        text = pool.submit(run, CPPCHECK + ["-D_GNU_SOURCE", "-Ilib", "-Icmd", "lib", "cmd"], source)
        for new in pool.map(look_at, all_units):
            found |= new
        found |= set(findings(text.result(), source, source))
    for path, number, what, rule in sorted(found):
        if (path, rule) in debts:
            paid.add((path, rule))
        else:
            print(f"{path}:{number}: {what} [{rule}]")
    unpaid = sorted(debts - paid)
    for path, rule in unpaid:
        print(f"tests/lint/debts: paid, take it out: analyse {path} {rule}")
    new = [f for f in found if (f[0], f[3]) not in debts]
    print(f"{len(all_units)} files read, {len(new)} findings, {len(paid)} known")
    return 1 if new or unpaid or not all_units else 0


sys.exit(main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])))

"""What is run in the machine of `make check-vm`, and where.

Places are control groups (guest.py): "top" the root of the hierarchy, "login" root's session below
systemd's slices, "scope" a scope that is delegated to the ordinary user, "bare" his session where
nothing is, "service" and "sub" delegated services, "tight" a scope with a memory limit, "box" a
container's root.

Left out, because `make check` has it on the kernel of its machine and nothing in it depends on control
groups or on what 6.1 lacks, while emulation is 10 to 30 times slower:
  symptoms of JSON, input, stdin, output, state   formats, pipes, interpreters
  symptoms of time and life                       their sleeps are shorter than a start is here
  symptoms of files                               pip, npm, matplotlib
  symptoms and abuse of disk space, floods        limits by looking, the same on each kernel
  abuse of proc, binary, network as root          nothing in them is another id's there
  abuse of paths and lifecycle                    copies and kills: cycles has the kills
  test-jail, test-files, test-refusals            their waits are not scaled
  the sanitizer build                             four times slower again
  the unit, cli and lint suites                   but for test-cgroup, which makes real groups
Pure repetition is cut to a fiftieth by SBX_TEST_ROUNDS.
"""
import json

USER = 4242  # as in tests/jail/kit.py
# [factor] of time bounds. An emulated processor, on a machine that does other things.
SCALE = "8"
ROUNDS = "0.02"

V2 = "cgroup-v2"
SCOPE = "user.slice/user-4242.slice/user@4242.service/app.slice"


def place(mode, where, found, by=(V2, V2, V2), words=(), **more):
    spec = {"cpu": by[0], "memory": by[1], "pids": by[2], "where": found, **more}
    return {"name": f"places-{mode} {'alone in' if 'alone' in more else 'in'} {where}",
            "place": "bare" if "alone" in more else where,
            "argv": ["python3", "-B", "vm/places.py", mode, "sbx", json.dumps(spec), *words]}


def jail(mode, where, group, *words):
    return {"name": f"symptoms-{group}-{mode} in {where}", "place": where,
            "argv": ["python3", "-B", f"jail/symptoms-{group}.py", mode, "sbx", *words]}


def abuse(mode, where, group, *numbers):
    return {"name": f"abuse-{group}-{mode} in {where}", "place": where,
            "argv": ["python3", "-B", f"abuse/{group}.py", mode, "sbx", "inside", "/tmp/results", *numbers]}


def program(mode, where, name):
    return {"name": f"{name}-{mode} in {where}", "place": where, "argv": [f"./{name}"],
            "user": USER if mode == "user" else 0}


def cycles(mode, where):
    return {"name": f"cycles-{mode} in {where}", "place": where,
            "argv": ["python3", "-B", "jail/run-as.py", mode, "sbx", "jail/cycles.py", "20", "8"]}


NOTHING = ("none", "rlimit", "rlimit")
GROUPS = ("memory", "fork bomb")
# Forks, memory, what cannot be enforced, daemons, zombies, processors, cores, priorities.
HELD = ("62", "63", "64", "72", "74", "76", "78", "80")
BRIEF = ("each limit", "all that runs", "doctor says")
FULL = (*BRIEF, "cpu:", "memory:", "pids:", "a killed supervisor", "nothing is left of many")

STEPS = [
    place("root", "top", "", words=FULL),
    place("root", "login", "user.slice", words=BRIEF),
    place("root", "box", None, NOTHING, ("each limit", "all that runs", "line that doctor"), fix=["main"]),
    place("user", "scope", SCOPE, words=(*FULL, "subordinate")),
    place("user", "bare", None, NOTHING, (*BRIEF, "memory:", "pids:", "a killed supervisor"), fix=["as root"]),
    place("user", "sub", "system.slice/sub.service", words=BRIEF),
    place("user", "service", "system.slice/plain.service", words=FULL, alone="system.slice/plain.service"),
    place("user", "service", None, NOTHING, BRIEF, fix=["main"]),
    place("user", "tight", None, NOTHING, BRIEF, fix=["main"]),
    program("root", "login", "test-cgroup"),
    program("user", "scope", "test-cgroup"),
    jail("root", "login", "resources", *GROUPS),
    jail("user", "scope", "resources", *GROUPS),
    jail("user", "bare", "resources", "--require", "line that doctor", "without a control group"),
    abuse("root", "login", "resources", *HELD),
    abuse("user", "scope", "resources", *HELD),
    abuse("user", "bare", "resources", "64"),
    cycles("root", "login"),
    cycles("user", "scope"),
]
STEPS += [abuse("root", "login", group) for group in ("namespaces", "devices")]
STEPS += [abuse("user", "scope", group) for group in ("namespaces", "devices", "proc", "binary", "network")]

"""Weak places: containers, old kernels, odd file systems. Each is made for real by place.c; sbx
works there, or says in one line why not and what to do, leaves nothing, and doctor knew it."""
import os
import shutil

import kit
from kit import check, eq, test

PLACE = os.environ["SBX_TEST_PLACE"]
DENIED = 5

SCRIPT = """
s=$("$0" create -q --runtime shell) || exit
"$0" exec $s -- sh -c 'echo kept >f; mkdir d; mv d e; rm -r e; cat f'
"$0" exec $s -t -- tty | tr -d '\\r'
"$0" exec $s -c 'x=1; echo cell'
"$0" exec $s --timeout 0.3 -- sh -c 'trap "" TERM; setsid sleep 300 & sleep 300' 2>/dev/null; echo timeout $?
"$0" show --json $s | grep -o '"fallbacks":"[^"]*"'
"$0" rm -f $s
"""
WORKS = "kept\n/dev/pts/0\ncell\ntimeout 124\n"


class Place:
    """A place, in which commands are run."""

    def __init__(self, k, *options):
        self.k = k
        program = f"{k.dir}/place"
        if not os.path.exists(program):
            shutil.copyfile(PLACE, program)
            os.chmod(program, 0o755)
        self.start = [program, *(o.replace("@", k.home) for o in options), "--"]

    def sbx(self, *words, **how):
        done = self.k.command([*self.start, self.k.program, *words], **how)
        check(done.code != 99, "the place cannot be made:", done)
        return done

    def refuses(self, *words, code=DENIED, key=None):
        """create says these words and leaves nothing; doctor says so before."""
        seen = self.sbx("doctor", "--json")
        eq((seen.code, seen.json["usable"]), (code, False), "doctor's answer")
        self.sbx("create", "--runtime", "shell").refused(code, *words)
        eq(self.k.stored("sessions", "names"), [], "what is left")
        for word in words:
            check(word in seen.json["problem"], f"doctor does not say '{word}':", seen.json["problem"])
        if key:
            place = seen.json["places"][key]
            eq((place["held"], place["needed"]), (False, True), f"doctor's {key}")
            check(place["fix"], "doctor knows no fix:", place)
            text = self.sbx("doctor").out
            check(f"fix: {place['fix']}" in text, "doctor does not print the fix:", text)

    def works(self, fallbacks="", walls_down=()):
        done = self.k.command([*self.start, "sh", "-c", SCRIPT, self.k.program], seconds=60)
        note = f'"fallbacks":"{fallbacks}"'
        check((done.code, done.err) == (0, "") and done.out.startswith(WORKS) and note in done.out,
              f"not as it should be, with {note}:", done)
        seen = self.sbx("doctor", "--json", seconds=60)
        down = [k for k, v in seen.json["walls"].items() if not v["held"]]
        eq(down, list(walls_down), "walls that doctor sees down")
        eq((seen.code, seen.json["usable"]), (DENIED if down else 0, True), "doctor's answer")
        bad = [k for k, v in seen.json["places"].items() if v["needed"] and not v["held"]]
        eq(bad, [], "what doctor calls missing, and is not")
        return seen.json


FILTER = "seccomp=unconfined"


@test("user namespaces that are switched off are named with the sysctl [codex#15057]")
def namespaces_off(k):
    Place(k, "max-userns=0").refuses("sysctl user.max_user_namespaces=15000", key="user_namespaces")
    if not k.is_root:
        Place(k, "kernel=unprivileged_userns_clone:0", "deny=clone:EPERM,unshare:EPERM").refuses(
            "sysctl kernel.unprivileged_userns_clone=1", key="user_namespaces")


@test("AppArmor's restriction is named with the profile [codex#17337, #17525, #29908]",
      modes=("user",))
def apparmor(k):
    restricted = "kernel=apparmor_restrict_unprivileged_userns:1"
    for call in ("unshare:EPERM", "unshare:EACCES"):
        Place(k, restricted, f"deny={call}").refuses("AppArmor", "apparmor_parser -r",
                                                     key="user_namespaces")
    Place(k, restricted, "deny=mount:EACCES").refuses("AppArmor", "apparmor_parser -r", key="mounts")


@test("in a container with the usual filter the filter is named")
def containers(k):
    Place(k, "docker").refuses(FILTER, key="user_namespaces")
    Place(k, "masked-proc", "read-only=/sys", "overlay=@", "caps", "docker").refuses(
        FILTER, key="user_namespaces")


@test("root of a container without CAP_SYS_ADMIN is told so", modes=("root",))
def few_capabilities(k):
    Place(k, "caps", "docker").refuses(FILTER, key="user_namespaces")
    Place(k, "caps").refuses("CAP_SYS_ADMIN", key="home_id_map")


@test("a call that a filter forbids or hides is refused with cause and fix, never passed over")
def forbidden_calls(k):
    calls = {"clone": None, "mount": "mounts", "umount2": "pivot_root", "pivot_root": "pivot_root",
             "fsopen": "proc", "open_tree": "mounts", "move_mount": "mounts",
             "mount_setattr": "mounts", "openat2": "system_calls", "close_range": "system_calls",
             "execveat": "system_calls", "seccomp": "seccomp"}
    for number, (call, key) in enumerate(calls.items()):
        error = ("EPERM", "ENOSYS")[number % 2]
        Place(k, f"deny={call}:{error}").refuses(FILTER, key=key)
    Place(k, "deny=unshare:ENOSYS").refuses(FILTER, key="user_namespaces")
    Place(k, "deny=signalfd4:EPERM").refuses(FILTER, key="system_calls")


@test("init's own reason is told, not the broken pipe of who speaks to it")
def own_reason(k):
    for _ in range(8):
        Place(k, "deny=unshare:EPERM").sbx("create", "--runtime", "shell").refused(
            DENIED, "new namespaces", FILTER)


@test("what can be done without is done without, and is said")
def without(k):
    for error in ("EPERM", "ENOSYS"):
        Place(k, f"deny=clone3:{error}").works()
        Place(k, f"deny=pidfd_send_signal:{error},pidfd_open:{error}").works()
    seen = Place(k, "deny=keyctl:EPERM,memfd_create:EPERM").works(
        "private keyring: Operation not permitted\\\\ninit: memfd refused, runs from a file\\\\n".
        replace("\\\\n", "\\n"))
    check(seen["places"]["keyring"]["fix"], "no fix for the keyring:", seen["places"])


@test("no Landlock is said, with what hides it")
def no_landlock(k):
    for error, words in (("EPERM", "a system call filter forbids it"),
                         ("ENOSYS", "a system call filter hides it, or this kernel has none")):
        place = Place(k, f"deny=landlock_create_ruleset:{error}")
        # A single id owns the whole skeleton; its mount keeps it from writing there then.
        seen = place.works("root: read-only by its mount, as Landlock before Linux 6.2 lets files be cut "
                           f"off\\nLandlock: {words}\\n")
        eq((seen["jail"]["landlock_abi"], seen["places"]["landlock"]["held"]), (0, False))
        check(words in place.sbx("doctor").out, "doctor's text does not say it")


@test("a masked /proc is named with the option that unmasks it")
def masked_proc(k):
    Place(k, "masked-proc").refuses("/proc are masked", "systempaths=unconfined", "procMount",
                                    key="proc")


@test("a chroot is named", modes=("root",))
def in_chroot(k):
    place = f"{k.dir}/chroot"
    os.mkdir(place)
    Place(k, f"chroot={place}").refuses("chroot", key="user_namespaces")


@test("control groups that cannot be written are passed over, and no limit is claimed [judge0#543]")
def no_control_groups(k):
    for option in ("read-only=/sys/fs/cgroup", "tmpfs=/sys/fs/cgroup"):
        limits = Place(k, option).works()["limits"]
        eq({n: limits[n]["enforced_by"] for n in ("cpu", "memory", "pids")},
           {"cpu": "none", "memory": "rlimit", "pids": "rlimit"}, option)
        Place(k, option).sbx("create", "--runtime", "shell", "--require", "cpu").refused(
            DENIED, "the cpu limit cannot be enforced here")


@test("a home directory on tmpfs or without exec works")
def other_homes(k):
    for option in ("tmpfs=@", "noexec=@"):
        Place(k, option).works()


@test("a home directory on an overlay is named, with where to put it")
def overlay_home(k):
    Place(k, "overlay=@").refuses("overlayfs", "SBX_HOME", key="home_overlay")


@test("a home directory without extended attributes works, or its file system is named")
def home_without_xattr(k):
    if k.is_root:
        Place(k, "ramfs=@").refuses("ramfs", "SBX_HOME", key="home_id_map")
    else:
        Place(k, "ramfs=@").works()


@test("a home directory that is read-only or full is named")
def useless_homes(k):
    Place(k, "read-only=@").sbx("create", "--runtime", "shell").refused(DENIED, k.home, "SBX_HOME")
    Place(k, "full=@").sbx("create", "--runtime", "shell").refused(6, "No space left")
    eq(k.stored("sessions", "names"), [], "what is left")


@test("a small /dev without terminals works, one without /dev/zero is named")
def small_dev(k):
    few = "null,zero,urandom"
    Place(k, f"dev={few},full,random,tty").works()
    Place(k, f"dev={few}").works("/dev/full: there is none here\\n/dev/random: there is none here\\n"
                                 "/dev/tty: there is none here\\n")
    Place(k, "dev=null").refuses("/dev is not whole here", key="devices")
    done = Place(k, "dev=").sbx("list")
    check(done.code == 1 and "/dev/null" in done.err, "not said:", done)


@test("inside a session it is said that there is no session in a session")
def in_session(k):
    if k.has_sanitizer():
        raise kit.Lacks("AddressSanitizer sets a core limit at its start, and that is refused inside")
    s = k.session()
    with open(k.program, "rb") as f:
        program = f.read()
    s.exec("-i", "--", "sh", "-c", "cat >sbx; chmod 755 sbx", input=program)
    done = s.exec("--", "./sbx", "create", "--runtime", "shell")
    done.refused(DENIED, "this is a session of sbx")
    left = s.sh("ls ~/.local/state/sbx/sessions ~/.local/state/sbx/names")["stdout"]
    check(not any(line and not line.startswith("/") for line in left.splitlines()), "left:", left)


@test("inside bubblewrap and unshare it works as strong as outside, or says why not")
def in_others(k):
    places = {"unshare": ["unshare", "--user", "--map-current-user", "--"],
              "bwrap": ["bwrap", "--dev-bind", "/", "/", "--unshare-user", "--unshare-pid", "--proc",
                        "/proc", "--dev", "/dev", "--"]}
    if not k.is_root:
        places["bwrap without /proc"] = places["bwrap"][:5] + ["--dev", "/dev", "--"]
    for name, words in places.items():
        if not shutil.which(words[0]):
            kit.say(f"{words[0]} is not installed")
            continue
        home = f"{k.scratch}/{name.replace(' ', '-').replace('/', '')}"
        os.mkdir(home, 0o700)
        k.give(home)
        start = ["env", f"SBX_HOME={home}", *words]
        done = k.command([*start, "sh", "-c", SCRIPT, k.program], seconds=60)
        if k.is_root:
            done.refused(DENIED, "root")
        else:
            check(done.out.startswith(WORKS) and '"fallbacks":""' in done.out, f"in {name}:", done)
            held = k.command([*start, k.program, "doctor", "--json"]).json
            bad = [w for w, v in held["walls"].items() if not v["held"]]
            eq((held["usable"], bad), (True, []), f"in {name}")
        eq(os.listdir(f"{home}/sessions"), [], "what is left")


@test("a program of place.c that fails to make its place is not taken for a refusal")
def place_itself(k):
    done = k.command([*Place(k, "deny=nothing:EPERM").start, "true"])
    eq(done.code, 99, "exit code")


if __name__ == "__main__":
    raise SystemExit(kit.main())

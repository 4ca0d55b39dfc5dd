"""What the abuse tests share: sessions, probes with their control, TAP.

A group is a file of functions marked with @test(number, key, title); the last line is
rig.main(globals). It is run once as root and once as an ordinary user:

    group.py root|user SBX INSIDE RESULTS

Every refusal is tried a second time where nothing guards against it (the control): outside as
the same user, outside as id 0 of a user namespace of its own, or outside as root. A refusal
that is refused there too proves nothing and fails.

SBX_TEST_SCALE   multiplies every time bound (default 1)
SBX_TEST_REQUIRE a test that is skipped fails, but where the machine cannot have it:
                 - controls and plants that need root, when the tests are not run as root
                 - the root half, when the tests are not run as root
                 - calls of other machines than x86-64
"""
import collections
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from frame import IS_ROOT, SCALE, USER, Lacks, Skip, report, run_one, say  # noqa: E402
from frame import Wrong as Refused  # noqa: E402

INSIDE = '/workspace/inside'

Result = collections.namedtuple('Result', 'code out err seconds')


def check(holds, text):
    if not holds:
        raise Refused(text)


def parse(out):
    """{attempt: (result, detail)}; of several lines of one attempt the last."""
    found = {}
    for line in out.decode(errors='replace').splitlines():
        words = line.split(' ', 3)
        if len(words) >= 3:
            found[words[1]] = (words[2], words[3].strip() if len(words) > 3 else '')
    return found


def until(condition, seconds, pause=0.02):
    """Waits for a condition; its last value."""
    end = time.monotonic() + seconds * SCALE
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(pause)


class Session:
    def __init__(self, rig, *options, **how):
        self.rig = rig
        self.id = rig.sbx('create', '-q', '--runtime', 'shell', *options, **how).out.decode().strip()
        check(self.id.startswith('sess_'), 'create printed %r' % self.id)
        rig.sessions.append(self)
        self.path = os.path.join(rig.home, 'sessions', self.id)
        self.upper = os.path.join(self.path, 'fs', 'up')
        self.put(INSIDE, rig.helper)

    def put(self, path, source):
        with open(source, 'rb') as f:
            self.exec('sh', '-c', 'cat > "$0" && chmod 755 "$0"', path, options=['-i'],
                      input=f.read())

    def exec(self, *command, options=(), ok=True, **how):
        r = self.rig.sbx('exec', self.id, *options, '--', *command, ok=ok, **how)
        return r

    def sh(self, script, *words, **how):
        return self.exec('sh', '-c', script, 'sh', *words, **how)

    def json(self, *command, options=(), **how):
        """The result of an exec as sbx tells it."""
        r = self.exec(*command, options=['--json', *options], ok=False, **how)
        try:
            return json.loads(r.out)
        except ValueError:
            raise Refused('no result: %r %r' % (r.out[:300], r.err[:300]))

    def probe(self, *words, ok=True, **how):
        return parse(self.exec(INSIDE, *words, ok=ok, **how).out)

    def alive(self, what='after it'):
        r = self.sh('echo alive', ok=False)
        check(r.code == 0 and r.out == b'alive\n', 'the session does not answer ' + what +
              ': %r %r' % (r.out[:200], r.err[:200]))

    def remove(self):
        self.rig.sbx('rm', '-f', self.id, ok=False, seconds=60)


class Rig:
    def __init__(self, mode, sbx, helper):
        self.mode = mode
        self.is_root = mode == 'root'
        for path in (sbx, helper):
            os.stat(path)
        self.dir = tempfile.mkdtemp(prefix='sbx-abuse.')
        os.chmod(self.dir, 0o755)
        self.bin = os.path.join(self.dir, 'sbx')
        self.helper = os.path.join(self.dir, 'inside')
        # Where the program is static, what needs a library is in the one beside it.
        for source, copy in ((sbx, self.bin), (sbx + '-full', self.bin + '-full'), (helper, self.helper)):
            if source != sbx + '-full' or os.path.exists(source):
                shutil.copyfile(source, copy)
                os.chmod(copy, 0o755)
        self.home = os.path.join(self.dir, 'home')
        self.scratch = os.path.join(self.dir, 'scratch')
        for path in (self.home, self.scratch):
            os.mkdir(path, 0o700)
            if IS_ROOT and not self.is_root:
                os.chown(path, USER, USER)
        self.sessions = []
        self.children = []
        self._plain = None
        self.off = ''  # of sbx-walls-off: see walls.py

    def who(self):
        if IS_ROOT and not self.is_root:
            return {'user': USER, 'group': USER, 'extra_groups': []}
        return {}

    def environment(self, **more):
        env = {'PATH': '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', 'HOME': self.scratch,
               'LC_ALL': 'C.UTF-8', 'SBX_HOME': self.home, 'TMPDIR': self.scratch}
        for name in ('ASAN_OPTIONS', 'UBSAN_OPTIONS', 'LSAN_OPTIONS'):
            if name in os.environ:
                env[name] = os.environ[name]
        if self.off:
            env['SBX_TEST_WALLS_OFF'] = self.off
        env.update(more)
        return env

    def run(self, argv, input=None, seconds=30, env=None, as_root=False, **more):
        who = {} if as_root else self.who()
        feed = {'stdin': subprocess.DEVNULL} if input is None and 'stdin' not in more else {}
        began = time.monotonic()
        try:
            r = subprocess.run(argv, input=input, stdout=more.pop('stdout', subprocess.PIPE),
                               stderr=subprocess.PIPE,
                               timeout=seconds * SCALE, env=env or self.environment(),
                               cwd=more.pop('cwd', self.scratch), **feed, **who, **more)
        except subprocess.TimeoutExpired as e:
            raise Refused('it hung: %s (%r)' % (' '.join(map(str, argv))[:300], e.stderr))
        return Result(r.returncode, r.stdout, r.stderr, time.monotonic() - began)

    def start(self, argv, **more):
        """A process of ours, ended at the latest with the test."""
        p = subprocess.Popen(argv, env=more.pop('env', self.environment()),
                             cwd=self.scratch, **self.who(), **more)
        self.children.append(p)
        return p

    def sbx(self, *words, ok=True, **how):
        r = self.run([self.bin, *words], **how)
        if ok and r.code:
            raise Refused('sbx %s: exit %d: %r %r' % (' '.join(words)[:200], r.code, r.out[-300:],
                                                      r.err[-300:]))
        return r

    def session(self, *options, **how):
        return Session(self, *options, **how)

    def plain(self):
        """A session that several tests share; they leave it as it was."""
        if not self._plain:
            self._plain = self.session()
        return self._plain

    def outside(self, where, *words, **how):
        """The same probe without a jail: as user, userns or root."""
        if where == 'root' and not IS_ROOT:
            raise Lacks('the control needs root')
        argv = [self.helper] + (['userns'] if where == 'userns' else []) + list(words)
        r = self.run(argv, as_root=where == 'root', **how)
        if r.code == 3:
            raise Refused('the control could not be set up: %r' % r.err)
        return parse(r.out)

    def forget(self):
        """After each test: what it made goes."""
        for p in self.children:
            if p.poll() is None:
                p.kill()
            p.wait()
        self.children = []
        for s in self.sessions:
            if s is not self._plain:
                s.remove()
        self.sessions = [s for s in self.sessions if s is self._plain]

    def left(self):
        return list(processes_of(self.dir))

    def close(self):
        self._plain = None
        self.forget()
        folder = os.path.join(self.home, 'sessions')
        sessions = os.listdir(folder) if os.path.isdir(folder) else []
        left = until(lambda: not self.left(), 3) or self.left()
        if left is True:
            left = []
        for pid, _ in left:
            with contextlib.suppress(OSError):
                os.kill(pid, 9)
        shutil.rmtree(self.dir, ignore_errors=True)
        return left, sessions


def processes_of(*paths):
    """(pid, words) of the processes that were started from, or hold open, a path of ours."""
    for pid in os.listdir('/proc'):
        if not pid.isdigit() or int(pid) == os.getpid():
            continue
        try:
            with open('/proc/%s/cmdline' % pid, 'rb') as f:
                words = f.read().rstrip(b'\0')
            exe = os.readlink('/proc/%s/exe' % pid)
        except OSError:
            continue
        if any(exe.startswith(p) or p.encode() in words for p in paths):
            yield int(pid), words


# --- refusals and their control -----------------------------------------------------------------

Try = collections.namedtuple('Try', 'name call refused where')


def refusals(rig, session, tries, because=''):
    """Each (name, call, refused, where): inside the result is one of `refused`; at the control
    `where` it is not. where '' says that there is no control, which the caller explains."""
    lines = ['%s %s' % (t.name, t.call) for t in tries]
    inside = session.probe('calls', *lines, seconds=60)
    wrong, vacuous, unknown = [], [], []
    for where in sorted({t.where for t in tries}):
        some = [t for t in tries if t.where == where]
        control = {}
        if where:
            try:
                control = rig.outside(where, 'calls', *['%s %s' % (t.name, t.call) for t in some],
                                      seconds=60)
            except Lacks as e:
                say('%s: %s' % (e, ' '.join(t.name for t in some)))
        for t in some:
            got = inside.get(t.name, ('NOTHING', ''))
            if got[0] == 'ABSENT':
                continue
            if got[0] not in t.refused:
                wrong.append('%s: %s %s' % (t.name, *got))
            if t.name not in control:
                continue
            free = control[t.name][0]
            if free in ('ENOSYS', 'ABSENT') or (free == 'EAFNOSUPPORT' and free in t.refused):
                unknown.append(t.name)
            elif free in t.refused:
                vacuous.append('%s: %s as %s too' % (t.name, free, where))
    if unknown:
        say('this kernel does not have: ' + ' '.join(unknown))
    check(not wrong, 'not refused: ' + '; '.join(wrong))
    check(not vacuous, 'refused without a jail: ' + '; '.join(vacuous))


# --- the frame ----------------------------------------------------------------------------------

_tests = []


def test(number, keys, title, modes=('root', 'user')):
    def add(function):
        _tests.append((number, keys.split(), title, modes, function))
        return function
    return add


def digest(path):
    with open(path, 'rb') as f:
        return hashlib.sha256(f.read()).hexdigest()


def main():
    # A group that uses a function of another one has its tests too, but does not run them.
    _tests[:] = [t for t in _tests if t[4].__module__ == '__main__']
    mode, sbx, helper, results = sys.argv[1:5]
    only = set(sys.argv[5:])
    letter = 'R' if mode == 'root' else 'L'
    tests = [t for t in _tests if mode in t[3] and (not only or str(t[0]) in only)]
    if mode == 'root' and not IS_ROOT:
        print('1..0 # SKIP not run as root')
        return 0
    print('1..%d' % (len(tests) + 1))
    rig = Rig(mode, sbx, helper)
    proven = {}
    failed = 0
    try:
        for n, (number, keys, title, _, function) in enumerate(tests, 1):
            state, reason = run_one(rig, function)
            failed += state == 'not ok'
            report(n, state, '%s %s %s [%s]' % (letter, number, title, ' '.join(keys)), reason)
            for key in keys:
                proven.setdefault(key, []).append([str(number), state])
    finally:
        left, sessions = rig.close()
    clean = not left and not sessions
    if not clean:
        say('left: %r %r' % (left, sessions))
    print('%s %d - %s nothing is left of these tests' % ('ok' if clean else 'not ok',
                                                         len(tests) + 1, letter))
    group = os.path.basename(sys.argv[0]).removesuffix('.py')
    if not only:
        os.makedirs(results, exist_ok=True)
        with open(os.path.join(results, '%s-%s.json' % (mode, group)), 'w') as f:
            json.dump({'sbx': digest(sbx), 'keys': proven}, f)
    return 1 if failed or not clean else 0

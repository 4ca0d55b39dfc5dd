"""Killing, racing and squatting around sessions (tests 93 to 97).

Left to a later stage: save (93), sbx inside of docker (97). Of 97 this tries sbx inside of sbx
and inside of a user namespace.
"""
import json
import os
import random
import signal
import stat
import subprocess
import time

import rig
from rig import INSIDE, USER, Lacks, check, test


def groups_of(name):
    """Control groups of a session, in every hierarchy."""
    found = []
    for top, folders, _ in os.walk('/sys/fs/cgroup'):
        found += [os.path.join(top, d) for d in folders if name in d]
    return found


def listed(r):
    return r.sbx('list', '-q').out.decode().split()


def mounts():
    with open('/proc/self/mountinfo') as f:
        return len(f.readlines())


@test(93, '-', 'a command that is killed at any moment leaves nothing that the next does not mend')
def kill_client(r):
    before, random_ms = mounts(), random.Random(93)
    kept = r.plain()
    killed = 0
    for i in range(50):
        words = [['create', '-q', '--runtime', 'shell'], ['run', '--runtime', 'shell', '--', 'sleep', '0.05'],
                 ['exec', kept.id, '--', 'sleep', '0.05']][i % 3]
        p = r.start([r.bin, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(random_ms.random() * 0.03)
        killed += p.poll() is None
        p.kill()
        p.wait()
    check(killed > 10, 'the control: only %d were killed in time' % killed)
    kept.alive('after clients were killed')
    for name in listed(r):
        if name != kept.id:
            got = r.sbx('exec', name, '--', 'true', ok=False)
            check(got.code in (0, 125) or got.code < 20, 'half a session: %r' % got.err)
            r.sbx('rm', '-f', name)
    victims = [r.sbx('create', '-q', '--runtime', 'shell').out.decode().strip() for _ in range(4)]
    for name in victims:
        p = r.start([r.bin, 'rm', name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(random_ms.random() * 0.02)
        p.kill()
        p.wait()
        r.sbx('rm', '-f', name, ok=False)

    def left():
        # What was never locked is left alone for 2 s: it may still be being made.
        r.sbx('rm', '-f', 'none')
        return [n for n in os.listdir(os.path.join(r.home, 'sessions')) if n != kept.id]
    check(rig.until(lambda: not left(), 6, pause=0.3), 'left: %r' % left())
    check(not os.listdir(os.path.join(r.home, 'trash')), 'left in the trash')
    check(mounts() == before, 'mounts are left')

    def running():
        return [w for _, w in rig.processes_of('sbx: sess_') if kept.id.encode() not in w and
                any(v.encode() in w for v in victims)]
    check(rig.until(lambda: not running(), 5), 'processes are left: %r' % running())
    for name in victims:
        check(not groups_of(name), 'control groups are left: %r' % groups_of(name))


def supervisor(s):
    return [pid for pid, words in rig.processes_of(s.id) if b'supervisor' in words]


@test(94, '-', 'a supervisor that is killed takes everything along, and its session wakes again')
def kill_supervisor(r):
    s = r.session()
    s.sh('echo kept > file')
    r.start([r.bin, 'exec', s.id, '--', 'sleep', '3613'], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
    def sleeping():
        return [pid for pid, words in rig.processes_of('sleep\0003613') if words == b'sleep\0003613']
    check(rig.until(sleeping, 5), 'it did not start')
    old = supervisor(s)
    check(len(old) == 1, 'supervisors: %r' % old)
    os.kill(old[0], signal.SIGKILL)
    check(rig.until(lambda: not sleeping(), 5), 'the execution lives on')
    got = s.exec('cat', 'file')
    check(got.out == b'kept\n', 'the file: %r' % got.out)
    check(rig.until(lambda: len(supervisor(s)) == 1, 3) and supervisor(s) != old, 'no new one')
    # A record of another process's id is not taken for the session.
    status = os.path.join(s.path, 'status.json')
    if os.path.exists(status):
        r.sbx('stop', s.id)
        with open(status) as f:
            text = json.load(f)
        for key in ('pid', 'supervisor_pid'):
            if key in text:
                text[key] = 1 if r.is_root else os.getpid()
        with open(status, 'w') as f:
            json.dump(text, f)
        r.sbx('start', s.id, ok=False)
        check(s.exec('cat', 'file', ok=False).out == b'kept\n', 'a stale id is believed')
    # Killed twice, then removed.
    for pid in supervisor(s):
        os.kill(pid, signal.SIGKILL)
    r.sbx('rm', s.id)
    check(not os.path.exists(s.path) and not groups_of(s.id), 'something is left')


@test(95, '-', 'of two that want the same, one wins and the other is told')
def races(r):
    for i in range(8):
        two = [r.start([r.bin, 'create', '-q', '--runtime', 'shell', '--name', 'same%d' % i],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
        outs = [p.communicate(timeout=30 * rig.SCALE) for p in two]
        codes = sorted(p.returncode for p in two)
        check(codes[0] == 0 and codes[1] > 0, 'create: %r %r' % (codes, outs))
        check(all(o[0] or b'same%d' % i in o[1] for o in outs), 'the loser is not told: %r' % outs)
    check(len([n for n in listed(r)]) >= 8, 'sessions: %r' % listed(r))
    # Executions side by side, then removals side by side with an execution.
    for i in range(8):
        some = [r.start([r.bin, 'exec', 'same%d' % i, '--', 'echo', str(k)], stdout=subprocess.PIPE)
                for k in range(4)]
        outs = [p.communicate(timeout=30 * rig.SCALE)[0] for p in some]
        check(outs == [b'0\n', b'1\n', b'2\n', b'3\n'], 'executions: %r' % outs)
        two = [r.start([r.bin, 'rm', 'same%d' % i], stderr=subprocess.PIPE) for _ in range(2)]
        two.append(r.start([r.bin, 'exec', 'same%d' % i, '--', 'true'], stderr=subprocess.PIPE))
        for p in two:
            err = p.communicate(timeout=30 * rig.SCALE)[1]
            check(p.returncode in (0, 3, 4, 125, 130) and (not p.returncode or err),
                  'rm, rm, exec: %d %r' % (p.returncode, err))
        check(r.sbx('show', 'same%d' % i, ok=False).code, 'it is still there')
    # Wake-ups side by side.
    s = r.session()
    for pid in supervisor(s):
        os.kill(pid, signal.SIGKILL)
    some = [r.start([r.bin, 'exec', s.id, '--', 'echo', str(k)], stdout=subprocess.PIPE) for k in range(4)]
    outs = [p.communicate(timeout=30 * rig.SCALE)[0] for p in some]
    check(outs == [b'0\n', b'1\n', b'2\n', b'3\n'], 'wake-ups: %r' % outs)
    check(len(supervisor(s)) == 1, 'supervisors: %r' % supervisor(s))


@test(96, '-', 'another user of the machine neither reads nor talks to a session')
def other_user(r):
    s = r.plain()
    for path in (r.home, s.path):
        mode = stat.S_IMODE(os.stat(path).st_mode)
        check(mode & 0o077 == 0, '%s has mode %o' % (path, mode))
    if not rig.IS_ROOT:
        raise Lacks('only root can be another user')
    other = {'user': USER + 1, 'group': USER + 1, 'extra_groups': []}
    ctl = os.path.join(s.path, 'ctl')
    check(os.path.exists(ctl), 'there is no socket')
    for words in (['ls', s.path], ['cat', os.path.join(s.path, 'spec.json')],
                  ['ln', os.path.join(s.path, 'lock'), os.path.join('/tmp', 'abuse-%d' % os.getpid())],
                  [r.helper, 'meet', ctl]):
        out = r.run(words, as_root=True, cwd='/', **other)
        check(b' OK ' not in out.out and (out.code or words[0] == r.helper), '%r: %r' % (words, out))
    # The home of somebody else is not used, nor one that everybody can write to.
    for mode in (0o700, 0o777):
        bad = os.path.join(r.dir, 'bad%o' % mode)
        os.mkdir(bad)
        os.chmod(bad, mode)
        os.chown(bad, USER + 1, USER + 1)
        got = r.sbx('create', '-q', '--runtime', 'shell', ok=False, env=r.environment(SBX_HOME=bad))
        check(got.code and got.err, 'the home of another user (%o) was used: %r' % (mode, got.out))
    link = os.path.join(r.dir, 'planted-home')
    target = os.path.join(r.dir, 'target')
    os.mkdir(target)
    os.chown(target, USER + 1, USER + 1)
    os.symlink(target, link)
    r.sbx('create', '-q', '--runtime', 'shell', ok=False, env=r.environment(SBX_HOME=link))
    check(os.listdir(target) == [], 'a link planted for the home was followed: %r' % os.listdir(target))
    # Control: the owner gets there.
    check(r.run(['ls', s.path]).code == 0, 'the control: the owner is refused')


@test(97, '-', 'sbx inside of sbx, and below a user namespace, works or says why not')
def nested(r):
    s = r.session()
    s.put('/workspace/sbx', r.bin)
    got = s.sh('SBX_HOME=/workspace/home ./sbx run --runtime shell -- id', ok=False)
    check(got.code and b'uid=' not in got.out, 'it ran: %r' % got.out)
    rig.say('in a jail: ' + got.err.decode(errors='replace').strip()[:300])
    if b'error while loading' not in got.err and b'ERROR' not in got.err:
        check(b'sbx run: ' in got.err, 'no word: %r' % got.err)
    below = r.run(['unshare', '-Ur', 'sh', '-c', '"$0" run --runtime shell -- cat /proc/self/status', r.bin],
                  env=r.environment(SBX_HOME=os.path.join(r.scratch, 'below')))
    if below.code == 0:
        words = below.out.decode()
        check('CapEff:\t0000000000000000' in words and 'Seccomp:\t2' in words and 'NoNewPrivs:\t1' in words,
              'weaker: %r' % words)
    else:
        check(b'sbx run: ' in below.err, 'no word: %r' % below.err)
    rig.say('below a user namespace: exit %d %s' % (below.code, below.err.decode(errors='replace')[:300]))
    check(r.sbx('run', '--runtime', 'shell', '--', 'true').code == 0, 'the control')


if __name__ == '__main__':
    raise SystemExit(rig.main())

"""Random system calls inside, and everything of the host as it was.

SBX_TEST_FUZZ_SECONDS  for how long (default 2, in each of two runs)
SBX_TEST_FUZZ_SEED     the seed, else a new one each time; a failure prints it

As root the tests run in mount, network, IPC and UTS namespaces of their own: that is the host
here, and nobody else changes it meanwhile.
"""
import ctypes
import json
import os
import random
import re
import subprocess
import time

import rig
from rig import INSIDE, check, test

SECONDS = float(os.environ.get('SBX_TEST_FUZZ_SECONDS', '2'))
SEED = int(os.environ.get('SBX_TEST_FUZZ_SEED', '0'), 0) or random.SystemRandom().getrandbits(32)
# What the kernel counts or tunes by itself.
RESTLESS = ('random/', 'file-nr', 'inode-nr', 'inode-state', 'dentry-state', 'ns_last_pid', 'pty/nr',
            'aio-nr', 'perf_event_max_sample_rate', 'perf_cpu_time', 'sched_domain', 'newidle',
            'nf_conntrack_count', 'usermodehelper', 'max_newidle_lb_cost', 'epoll/',
            'nlm_', 'threads-max', 'binfmt_misc', 'quota/')
STATES = {'success', 'error', 'timeout', 'oom', 'limit', 'killed', 'cancelled', 'lost'}


def read(path):
    try:
        with open(path, 'rb') as f:
            return f.read(65536)
    except OSError as e:
        return e.errno


def sysctls():
    found = {}
    for top, _, names in os.walk('/proc/sys'):
        for name in names:
            path = os.path.join(top, name)
            if not any(r in path for r in RESTLESS):
                found[path] = read(path)
    return found


def groups():
    """Control groups, but for those of sessions."""
    return sorted(os.path.join(top, d) for top, folders, _ in os.walk('/sys/fs/cgroup')
                  for d in folders if 'sbx-' not in os.path.join(top, d))


def loops(r):
    found = {}
    for name in os.listdir('/sys/block') if os.path.isdir('/sys/block') else ():
        backing = read('/sys/block/%s/loop/backing_file' % name)
        # Disks of other sessions are no matter of these tests.
        if isinstance(backing, bytes) and b'/sessions/' not in backing:
            found[name] = backing
    return found


def tree(path):
    """All that a file system tells of what is below, but for times of access."""
    found = {}
    for top, folders, names in os.walk(path):
        for name in ['.'] + folders + names:
            p = os.path.join(top, name)
            st = os.lstat(p)
            found[p] = (st.st_mode, st.st_uid, st.st_gid, st.st_size, st.st_mtime_ns, st.st_nlink,
                        tuple((k, os.getxattr(p, k, follow_symlinks=False))
                              for k in os.listxattr(p, follow_symlinks=False)),
                        read(p) if os.path.isfile(p) else None)
    return found


def process(pid):
    """What others could do to a process; its clock of use apart."""
    stat = read('/proc/%d/stat' % pid)
    fields = stat.rsplit(b') ', 1)[1].split()
    return {'state': fields[0] in b'SR', 'nice': fields[16], 'start': fields[19], 'policy': fields[38],
            'limits': read('/proc/%d/limits' % pid), 'oom': read('/proc/%d/oom_score_adj' % pid),
            'autogroup': read('/proc/%d/autogroup' % pid), 'affinity': sorted(os.sched_getaffinity(pid)),
            'ns': [os.readlink('/proc/%d/ns/%s' % (pid, n)) for n in ('mnt', 'net', 'uts', 'ipc')]}


def sockets():
    found = []
    for name in ('tcp', 'tcp6', 'udp', 'udp6', 'raw', 'raw6', 'packet', 'netlink'):
        lines = (read('/proc/net/' + name) or b'')
        found.append((name, len(lines.splitlines()) if isinstance(lines, bytes) else lines))
    return found


def shared_memory():
    return [read('/proc/sysvipc/' + kind) for kind in ('shm', 'msg', 'sem')]


class Host:
    def __init__(self, r, canaries, pids):
        self.clock = time.clock_gettime(time.CLOCK_REALTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
        self.parts = {
            'mounts': read('/proc/self/mountinfo'), 'names': os.uname(), 'sysctls': sysctls(),
            'swaps': read('/proc/swaps'), 'modules': sorted(
                x.split()[0] for x in (read('/proc/modules') or b'').splitlines())
            if isinstance(read('/proc/modules'), bytes) else None,
            'groups': groups(), 'loop devices': loops(r), 'files': tree(canaries),
            'processes': [process(p) for p in pids], 'shared memory': shared_memory(),
            'keys': [x for x in (read('/proc/keys') or b'').splitlines() if b'fuzz' in x]}
        if rig.IS_ROOT:
            self.parts['sockets'] = sockets()

    def differs(self, other):
        found = []
        for name, mine in self.parts.items():
            its = other.parts[name]
            if mine == its:
                continue
            if isinstance(mine, dict):
                found += ['%s: %s: %.200r, now %.200r' % (name, k, mine.get(k), its.get(k))
                          for k in sorted(set(mine) | set(its)) if mine.get(k) != its.get(k)]
            else:
                found.append('%s: %.400r, now %.400r' % (name, mine, its))
        if abs(self.clock - other.clock) > 1:
            found.append('the clock of the host was set by %.1f s' % (other.clock - self.clock))
        return found


def canary(r):
    """Files that everybody might write to, if he got there."""
    folder = os.path.join(r.dir, 'canary')
    os.makedirs(os.path.join(folder, 'deep'))
    for name in ('fuzz', 'deep/a', 'passwd'):
        path = os.path.join(folder, name)
        with open(path, 'w') as f:
            f.write('of the host\n')
        os.chmod(path, 0o666)
    os.symlink('passwd', os.path.join(folder, 'link'))
    for path in (folder, folder + '/deep'):
        os.chmod(path, 0o777)
    return folder


def check_living(r, s, seed):
    """What the payload owns it can close to itself: /workspace, with a single id its root, too.
    Then each execution fails with a word about it, and rm still works."""
    got = s.sh('echo alive', ok=False)
    if got.code == 0:
        return check(got.out == b'alive\n', 'after seed %d: %r' % (seed, got.out))
    check(got.code in (125, 126) and got.err.startswith(b'sbx exec: '), 'after seed %d: %r' % (seed, got))
    rig.say('after seed %d the session is dead: %s' % (seed, got.err.decode().strip()))
    r.sbx('rm', s.id)
    check(not os.path.exists(s.path), 'it cannot be removed')


@test('fuzz', '-', 'random calls change nothing of the host, and the session lives or says that it is dead')
def random_calls(r):
    folder = canary(r)
    sleeper = r.start(['sleep', '3614'])
    host = Host(r, folder, [sleeper.pid])
    for number, options in enumerate(([], ['-t'])):
        s = r.session('--pids', '64', '--memory', '256Mi', '--disk', '256Mi')
        seed = SEED + number
        rig.say('seed %d: SBX_TEST_FUZZ_SEED=%d' % (seed, SEED))
        got = s.json(INSIDE, 'fuzz', str(seed), '%d' % (SECONDS * 1000), seconds=60 + SECONDS,
                     options=['--timeout', '%d' % (SECONDS + 30 * rig.SCALE), *options])
        check(got['status'] in STATES, 'status %r' % got['status'])
        # On a terminal, which the rounds write to as well.
        ended = re.search(r'(\d+) by themselves, (\d+) by a signal, (\d+) late', got['stdout'])
        rounds = sum(map(int, ended.groups())) if ended else 0
        rig.say('%s, %d rounds: %s' % (got['status'], rounds, ended and ended.group()))
        if got['status'] == 'success':
            # Control: it got somewhere.
            check(rounds > 3, 'only %d rounds: %r' % (rounds, got['stdout'][-300:]))
        else:
            check(got['reason']['kind'], 'it ended without a reason: %r' % got['reason'])
        check_living(r, s, seed)
        changed = host.differs(Host(r, folder, [sleeper.pid]))
        check(not changed, 'seed %d: %s' % (seed, '; '.join(changed)))
    check(sleeper.poll() is None, 'a process of the user has ended')


@test('fuzz', '-', 'the checks of the host see what changes')
def control(r):
    """In a session nothing changes, so each kind is changed outside once."""
    folder = canary(r) if not os.path.isdir(os.path.join(r.dir, 'canary')) else os.path.join(r.dir, 'canary')
    sleeper = r.start(['sleep', '3615'])
    host = Host(r, folder, [sleeper.pid])
    check(not host.differs(Host(r, folder, [sleeper.pid])), 'it changes by itself: %s' % '; '.join(
        host.differs(Host(r, folder, [sleeper.pid]))))
    os.setxattr(folder + '/fuzz', 'user.fuzz', b'x')
    with open('/proc/%d/oom_score_adj' % sleeper.pid, 'w') as f:
        f.write('7')
    seen = ' '.join(host.differs(Host(r, folder, [sleeper.pid])))
    check('files: ' in seen and 'processes: ' in seen, 'not seen: %r' % seen)
    os.removexattr(folder + '/fuzz', 'user.fuzz')
    if not rig.IS_ROOT:
        return
    libc = ctypes.CDLL(None)
    subprocess.run(['mount', '-t', 'tmpfs', 'none', folder + '/deep'], check=True)
    before = os.uname().nodename.encode()
    libc.sethostname(b'fuzzed', 6)
    seen = ' '.join(host.differs(Host(r, folder, [sleeper.pid])))
    libc.sethostname(before, len(before))
    subprocess.run(['umount', folder + '/deep'], check=True)
    for kind in ('mounts: ', 'names: ', 'sysctls: /proc/sys/kernel/hostname'):
        check(kind in seen, '%s not seen: %r' % (kind, seen))


def private_host():
    """As root: namespaces in which nobody else changes anything."""
    if rig.IS_ROOT:
        # NEWNS, NEWUTS, NEWIPC, NEWNET
        check(not ctypes.CDLL(None).unshare(0x20000 | 0x4000000 | 0x8000000 | 0x40000000), 'unshare')
        subprocess.run(['mount', '--make-rprivate', '/'], check=True)


if __name__ == '__main__':
    private_host()
    raise SystemExit(rig.main())

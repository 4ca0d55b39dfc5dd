"""Taking more than one's share of processes, memory, disk, output and time (tests 62 to 80).

Left to a later stage, because they need minutes or gigabytes: a million inodes and directories
10000 deep (66; 20000 files and 1000 deep are tried here), gigabytes of output to a stalled reader (69), 10000 executions for their last
byte (70), a core handler of the host (78; the limit that stops it is tried here).
"""
import os
import resource
import subprocess
import time

import rig
from rig import INSIDE, Lacks, Skip, Try, check, test

MIB = 1 << 20


def enforced(r):
    """{limit: what enforces it here}"""
    if not hasattr(r, '_limits'):
        import json
        r._limits = {k: v['enforced_by'] for k, v in
                     json.loads(r.sbx('doctor', '--json').out)['limits'].items()}
    return r._limits


def fork_seconds():
    began = time.monotonic()
    subprocess.run(['/bin/true'])
    return time.monotonic() - began


def count(s):
    """Processes that run for a session, seen from the host: by its control group or namespace."""
    marks = set()
    for pid in os.listdir('/proc'):
        if pid.isdigit():
            try:
                with open('/proc/%s/cmdline' % pid, 'rb') as f:
                    if s.id.encode() in f.read():
                        marks.add(pid)
            except OSError:
                pass
    return len(marks)


@test(62, 'limits.pids', 'a fork bomb is held and the session lives')
def fork_bomb(r):
    s = r.session('--pids', '32')
    calm = max(fork_seconds() for _ in range(5))
    bomb = r.start([r.bin, 'exec', '--json', s.id, '--timeout', '%d' % (2 * rig.SCALE), '--', INSIDE,
                    'bomb', '60'], stdout=subprocess.PIPE)
    time.sleep(0.7)
    busy = sorted(fork_seconds() for _ in range(5))[2]
    out = bomb.communicate(timeout=30 * rig.SCALE)[0]
    check(b'"status":"timeout"' in out or b'"status":"limit"' in out, 'result: %r' % out[:600])
    if enforced(r)['pids'] == 'none':
        rig.say('nothing enforces the number of processes here')
    check(busy < calm * 10 + 0.2 * rig.SCALE, 'fork on the host took %.3f s, else %.3f' % (busy, calm))
    s.alive('after a fork bomb')
    # Control: fewer than the limit is no trouble; more is.
    few = s.sh('for i in 1 2 3 4 5; do sleep 0.2 & done; wait; echo done', ok=False)
    check(few.out == b'done\n' and not few.err, 'five processes: %r' % few.err)
    many = s.sh('for i in $(seq 100); do sleep 1 & done 2>&1; wait', ok=False)
    check(b'fork' in many.out + many.err, 'a hundred were let through: %r' % many.err[:200])


@test(63, 'limits.memory', 'taking too much memory ends that execution and nothing else')
def memory_bomb(r):
    by = enforced(r)['memory']
    s = r.session('--memory', '96Mi')
    for kind in ('malloc', 'shared', 'memfd', 'shm'):
        got = s.json(INSIDE, 'eat', kind, '400', seconds=60)
        if kind == 'memfd' and not by.startswith('cgroup'):
            # What is in no process's map is not seen by looking.
            rig.say('%s: %s, memory by %s' % (kind, got['status'], by))
        else:
            check(got['status'] in ('oom', 'limit', 'error'), '%s: %s %r (memory by %s)' % (
                kind, got['status'], got['reason'], by))
            check(got['status'] != 'error' or 'ENOSPC' in got['stdout'] or 'ENOMEM' in got['stdout'],
                  '%s: %r' % (kind, got['stdout']))
        s.alive('after ' + kind)
        s.sh('rm -f /dev/shm/eat')
    # Not behind many others either.
    crowd = s.json('sh', '-c', 'for i in $(seq 80); do sleep 3 & done; %s eat shared 400; '
                   'sleep 1' % INSIDE, seconds=60)
    check(crowd['status'] in ('oom', 'error') or 'warnings' in crowd and any(
        w['kind'] == 'oom_child' for w in crowd['warnings']), 'in a crowd: %s' % crowd['status'])
    got = s.json(INSIDE, 'eat', 'malloc', '24')
    check(got['status'] == 'success', 'the control: 24 MiB: %s' % got['status'])


@test(63, 'limits.memory', 'a kept interpreter outlives a command that takes too much')
def interpreter_outlives(r):
    if not enforced(r)['memory'].startswith('cgroup'):
        raise Lacks('no control group to limit memory with')
    s = r.session('--memory', '160Mi')
    r.sbx('exec', s.id, '--lang', 'shell', '-c', 'kept=here')
    s.json(INSIDE, 'eat', 'malloc', '800', seconds=60)
    out = r.sbx('exec', s.id, '--lang', 'shell', '-c', 'echo $kept').out
    check(out == b'here\n', 'its variable is %r' % out)


@test(64, 'limits.memory limits.pids', 'what cannot be enforced is said', modes=('user',))
def honest(r):
    import json
    s = r.session()
    shown = json.loads(r.sbx('show', '--json', s.id).out)
    text = json.dumps(shown)
    by = enforced(r)
    if by['memory'].startswith('cgroup'):
        raise Lacks('control groups are delegated to this user')
    check('enforced_by' in text, 'show does not tell')
    if by['memory'] == 'none':
        refused = r.sbx('create', '--require', 'memory', ok=False)
        check(refused.code != 0 and b'memory' in refused.err, 'not refused: %r' % refused.err)
    # What is left: each process has its own limit.
    limits = s.exec('cat', '/proc/self/limits').out.decode()
    for name in ('Max data size', 'Max processes'):
        line = [x for x in limits.splitlines() if x.startswith(name)][0]
        check(not line[len(name):].split()[0].startswith('unlimited'), line)


@test(66, 'limits.disk', 'a flood of files is held or removed soon')
def many_files(r):
    s = r.session('--disk', '64Mi')
    script = '''import os
for i in range(20000):
    open("f%d" % i, "w").close()
open("x" * 255, "w").close()
for i in range(1000):
    os.mkdir("d")
    os.chdir("d")'''
    if not os.path.exists('/usr/bin/python3'):
        raise Lacks('no python3 to make them with')
    got = s.json('python3', '-c', script, seconds=120)
    check(got['status'] in ('success', 'limit', 'error'), 'status %s %r' % (got['status'], got['reason']))
    made = len(os.listdir(os.path.join(s.upper, 'workspace')))
    rig.say('%s, %d entries in the top directory' % (got['status'], made))
    check(made > 1000, 'the control: only %d were made' % made)
    time.sleep(0.3)
    more = 'for i in $(seq 2000); do : >more$i; done; sleep 5'
    held = s.json('sh', '-c', more)
    check(held['status'] == 'limit' or made < 19000, 'more files than allowed: %s' % held['status'])
    # Over its limit it may not grow, but it can be emptied.
    emptied = s.json('find', '.', '-name', '[fm]*', '-delete', seconds=60)
    check(emptied['status'] == 'success', 'it cannot be emptied: %s' % emptied['status'])
    s.alive('after many files')
    check(s.json('sleep', '0.3')['status'] == 'success', 'it does not recover')
    took = r.sbx('rm', s.id, seconds=60).seconds
    check(took < 2 * rig.SCALE, 'removed in %.1f s' % took)
    check(not os.listdir(os.path.join(r.home, 'trash')), 'left in the trash')


LONG_NAMES = '''import os
d = b"\\xff" * 250
for i in range(14):
    os.mkdir(d)
    os.chdir(d)
for i in range(1100):
    open(b"%04d" % i + b"\\xff" * 240, "w").close()'''


@test(66, '-', 'long names that are no text do not take the result away')
def long_names(r):
    if not os.path.exists('/usr/bin/python3'):
        raise Lacks('no python3 to make them with')
    s = r.session()
    got = s.json('python3', '-c', LONG_NAMES, options=['--request-id', 'long'], seconds=60)
    check(got['status'] == 'success' and got['files_total'] >= 1114, 'status %s, %r files' % (
        got['status'], got.get('files_total')))
    check(got['files'] and got['files_truncated'], 'the control: %d listed' % len(got['files']))


@test(67, 'limits.disk', 'a full disk is held and the session can be used and removed')
def disk_full(r):
    s = r.session('--disk', '16Mi')
    free = os.statvfs(r.home)
    before = free.f_bavail * free.f_frsize
    # Slowly enough that it is a fair test of a limit that is kept by looking.
    got = s.json('sh', '-c', 'for i in $(seq 200); do head -c 1048576 /dev/zero >f$i || exit 9; '
                 'sleep 0.02; done', seconds=60)
    check(got['status'] != 'success', '200 MiB were written: %s' % got['status'])
    free = os.statvfs(r.home)
    used = before - free.f_bavail * free.f_frsize
    check(used < 160 * MIB, '%d MiB were used' % (used // MIB))
    rig.say('status %s, reason %s, %d MiB used' % (got['status'], got['reason']['kind'], used // MIB))
    s.sh('rm -f /workspace/f*', ok=False)
    s.alive('after a full disk')
    shm = r.session('--memory', '64Mi').json('sh', '-c', 'head -c 2000000000 /dev/zero >/dev/shm/f')
    check(shm['status'] != 'success', '/dev/shm took 2 GB')
    small = s.json('sh', '-c', 'head -c 1048576 /dev/zero >ok && rm ok')
    check(small['status'] == 'success', 'the control: 1 MiB: %s' % small['status'])


def hard_kinds(r):
    """Disks that have a size of their own, of those that this user can have."""
    if r.is_root and os.path.exists('/dev/loop-control') and os.path.exists('/usr/sbin/mke2fs'):
        return ['tmpfs', 'loop']
    rig.say('no loop devices for this user')
    return ['tmpfs']


@test(66, 'limits.disk', 'a flood of files meets the end of a disk that has one')
def many_files_hard(r):
    flood = ('i=0; while [ $i -lt 40000 ]; do : >f$i || exit 9; i=$((i + 1)); done')
    for kind in hard_kinds(r):
        s = r.session('--disk', kind + ':16Mi')
        got = s.json('sh', '-c', flood, seconds=120)
        made = int(s.sh('ls | wc -l').out)
        check(got['status'] == 'error' and 'f%d' % (made - 1) in got['stderr'], '%s: %s %r' % (
            kind, got['status'], got['stderr'][-200:]))
        check(1000 < made < 30000, '%s: %d were made' % (kind, made))
        deep = s.json('sh', '-c', 'rm -f f*; while mkdir d 2>/dev/null; do cd d || exit 0; done', seconds=120,
                      options=['--timeout', '2'])
        rig.say('%s: %d files, then %s of deep directories' % (kind, made, deep['status']))
        s.alive('after many files')
        took = r.sbx('rm', s.id, seconds=60).seconds
        check(took < 5 * rig.SCALE, '%s: removed in %.1f s' % (kind, took))


# Each fills what there is in another way than by writing to a file that can be seen.
FILLERS = {
    'written': 'head -c 200000000 /dev/zero >f',
    'at once by two': '(head -c 200000000 /dev/zero >/tmp/f; exit 1) & head -c 200000000 /dev/zero >/workspace/f; '
                      'x=$?; wait $!; exit $x',
    'deleted but open': 'exec 3>f; rm f; head -c 200000000 /dev/zero >&3',
    'allocated': 'python3 -c \'import os; f = os.open("f", os.O_CREAT | os.O_RDWR); os.posix_fallocate(f, 0, 10**8)\'',
    'mapped': 'python3 -c \'import mmap, os; f = os.open("f", os.O_CREAT | os.O_RDWR); os.ftruncate(f, 10**8)\n'
              'm = mmap.mmap(f, 10**8)\nfor i in range(0, 10**8, 4096): m[i] = 1\'',
}


@test(67, 'limits.disk', 'no way to fill a disk that has a size goes over it')
def disk_full_hard(r):
    for kind in hard_kinds(r):
        s = r.session('--disk', kind + ':16Mi')
        v = os.statvfs(r.home)
        before = v.f_bavail * v.f_frsize
        for name, script in FILLERS.items():
            if 'python3' in script and not os.path.exists('/usr/bin/python3'):
                continue
            got = s.json('sh', '-c', script, seconds=60)
            check(got['status'] in ('error', 'killed'), '%s: %s: %s' % (kind, name, got['status']))
            check(got['usage']['disk_bytes'] <= 16 * MIB, '%s: %s: %d bytes' % (kind, name, got['usage']['disk_bytes']))
            if kind == 'loop':
                size = os.stat(os.path.join(s.path, 'disk.img')).st_blocks * 512
                check(size <= 17 * MIB, '%s: the image has %d MiB' % (name, size // MIB))
            again = s.json('sh', '-c', 'rm -f /workspace/f /tmp/f; head -c 4000000 /dev/zero >g && rm g')
            check(again['status'] == 'success', '%s: after %s: %r' % (kind, name, again['stderr']))
        v = os.statvfs(r.home)
        used = before - v.f_bavail * v.f_frsize
        rig.say('%s: the host has %d MiB less' % (kind, used // MIB))
        # Through cp, too, and it stays usable.
        source = os.path.join(r.scratch, 'large')
        with open(source, 'wb') as f:
            f.truncate(40 * MIB)
        os.chmod(source, 0o644)
        r.sbx('cp', source, s.id + ':/workspace/large', ok=False, seconds=60)
        s.sh('rm -f large', ok=False)
        s.alive('after a full disk')


@test(67, 'limits.disk', 'what a cell leaves running is held between cells')
def left_running(r):
    s = r.session('--disk', '32Mi')
    cell = lambda code: r.sbx('exec', s.id, '--lang', 'shell', '--json', '-c', code, seconds=60).out
    cell('(sleep 0.5; for i in $(seq 300); do head -c 1048576 /dev/zero >/workspace/f$i || exit; '
         'sleep 0.02; done) >/dev/null 2>&1 &')
    files = lambda: sum(n.startswith('f') for n in os.listdir(os.path.join(s.upper, 'workspace')))
    check(rig.until(lambda: files() > 20, 20), 'the control: it does not write')
    time.sleep(1)
    before = files()
    time.sleep(1)
    check(files() == before < 200, 'it goes on: %d, then %d MiB' % (before, files()))
    check(b'disk limit' in cell('echo'), 'the next cell is not told')
    s.sh('rm -f f*', ok=False)
    # Nor does it fill the journal, which no limit counts.
    cell('(sleep 0.3; while :; do echo background; done) &')
    time.sleep(2)
    events = os.path.join(s.path, 'events')
    size = sum(os.stat(os.path.join(events, n)).st_size for n in os.listdir(events))
    check(b'background=true' in r.sbx('events', s.id).out, 'the control: nothing is told')
    check(size < MIB, 'the journal has %d bytes' % size)


@test(68, 'limits.disk', 'a sparse file counts what it uses')
def sparse(r):
    s = r.session('--disk', '32Mi')
    got = s.json('sh', '-c', 'truncate -s 1T sparse; echo $?; ls -s sparse')
    check(got['status'] in ('success', 'error'), 'status %s' % got['status'])
    time.sleep(0.5)
    s.alive('with a sparse file')
    used = s.json('true')['usage']['disk_bytes']
    check(used < 16 * MIB, 'counted as %d bytes' % used)
    s.sh('head -c 4000000 /dev/urandom > full')
    rig.until(lambda: s.json('true')['usage']['disk_bytes'] > 3 * MIB, 10, pause=0.2)
    used = s.json('true')['usage']['disk_bytes']
    check(used > 3 * MIB, 'the control: 4 MB are counted as %d' % used)


@test(69, '-', 'a flood of output is taken without end, blocked or not')
def flood(r):
    s = r.session()
    got = s.json('sh', '-c', 'yes & a=$!; yes >&2 & sleep 1; kill $a $!', options=['--timeout', '2'],
                 seconds=60)
    check(got['status'] == 'success' and got['stdout_truncated'], 'status %s' % got['status'])
    check(len(got['stdout']) < 4 * MIB, 'kept %d' % len(got['stdout']))
    line = s.json('sh', '-c', 'head -c 50000000 /dev/zero | tr "\\0" x', seconds=60)
    check(line['status'] == 'success' and line['stdout_bytes'] == 50000000,
          'a line without end: %r' % line['stdout_bytes'])
    peak = max((int(x.split()[1]) for pid, words in rig.processes_of(s.id)
                for x in open('/proc/%d/status' % pid) if x.startswith('VmHWM') and b'supervisor' in words),
               default=0)
    check(0 < peak < 128 * 1024, 'the supervisor takes %d KiB' % peak)
    # A client that reads nothing: the time limit still holds.
    stalled = r.start([r.bin, 'exec', s.id, '--timeout', '1', '--', 'yes'], stdout=subprocess.PIPE)
    time.sleep(1.5 * rig.SCALE)
    s.alive('beside a stalled reader')
    stalled.stdout.read(MIB)
    stalled.stdout.close()
    rig.until(lambda: stalled.poll() is not None, 10)
    check(stalled.poll() is not None, 'a client hangs')


@test(70, '-', 'the last byte is never lost')
def last_byte(r):
    s = r.plain()
    for i in range(60):
        options = ['-t'] if i % 3 == 2 else []
        out = s.exec('printf', 'x%d' % i, options=options).out
        check(out == b'x%d' % i, 'round %d %r: %r' % (i, options, out))


@test(71, '-', 'a child that holds the output neither delays nor outlives the execution')
def holder(r):
    s = r.plain()
    began = time.monotonic()
    got = s.json('sh', '-c', 'sleep 3611 & sleep 3611 & echo leader', seconds=30)
    took = time.monotonic() - began
    check(got['status'] == 'success' and got['stdout'] == 'leader\n', 'status %s' % got['status'])
    check(took < 5 * rig.SCALE, 'it took %.1f s' % took)
    check(got['leftovers_killed'] == 2, 'killed %r' % got['leftovers_killed'])
    check(b'sleep\0003611' not in everybody(), 'it lives on')
    # Control: without a jail it does.
    child = r.start(['sleep', '3611'])
    rig.until(lambda: b'sleep\0003611' in everybody(), 5)
    check(b'sleep\0003611' in everybody(), 'the control is not seen')
    child.kill()


def everybody():
    words = []
    for pid in os.listdir('/proc'):
        if pid.isdigit():
            try:
                with open('/proc/%s/cmdline' % pid, 'rb') as f:
                    words.append(f.read())
            except OSError:
                pass
    return b'\n'.join(words)


@test(72, '-', 'daemons that are deaf to signals die with their execution')
def daemons(r):
    s = r.plain()
    for words, options in ((['sh', '-c', '%s daemon 41; sleep 0.2' % INSIDE], []),
                           (['sh', '-c', '%s daemon 41; sleep 3612' % INSIDE], ['--timeout', '0.5'])):
        got = s.json(*words, options=options)
        check(got['leftovers_killed'] >= 1 or got['status'] == 'timeout', 'none was left: %r' % got)
        check(not rig.until(lambda: b'inside\0daemon' not in everybody(), 3) is False, 'it lives on')
        check(b'inside\0daemon' not in everybody(), 'a daemon lives on')
    free = r.start([r.helper, 'daemon', '2'])
    check(rig.until(lambda: b'inside\0daemon' in everybody(), 2), 'the control is not seen')
    free.wait()
    rig.until(lambda: b'inside\0daemon' not in everybody(), 6)


@test(73, '-', 'a stopped, blocked or deaf program ends at its limit')
def stopped(r):
    s = r.plain()
    for kind in ('self', 'group', 'vfork', 'deaf'):
        began = time.monotonic()
        got = s.json(INSIDE, 'stop', kind, options=['--timeout', '1'])
        took = time.monotonic() - began
        check(got['status'] == 'timeout', '%s: %s %r' % (kind, got['status'], got['reason']))
        check(1 <= took < 2 + 2 * rig.SCALE, '%s: ended after %.1f s' % (kind, took))
    check(b'inside\0stop' not in everybody(), 'one lives on')
    quick = s.json('true', options=['--timeout', '1'])
    check(quick['status'] == 'success', 'the control: %s' % quick['status'])


@test(74, '-', 'zombies and orphans are reaped')
def zombies(r):
    s = r.session('--pids', '256')
    for _ in range(3):
        got = s.json(INSIDE, 'zombies', '100', seconds=60)
        check('made OK' in got['stdout'], 'none was made: %r' % got['stdout'])
    left = s.sh('ls -d /proc/[0-9]* | wc -l').out.strip()
    check(int(left) < 8, 'left: %r' % left)
    # The count of the control group is back to what it was.
    many = s.sh('for i in $(seq 100); do sleep 0.3 & done; wait; echo all', ok=False)
    check(many.out == b'all\n', 'no room any more: %r' % many.err[:200])


@test(75, 'kill_init limits_of_init', 'signals to pid 1 and to everybody reach nobody else')
def kill_all(r):
    s = r.plain()
    other = r.start([r.bin, 'exec', s.id, '--', 'sh', '-c', 'sleep 2; echo survived'],
                    stdout=subprocess.PIPE)
    time.sleep(0.3)
    tries = [Try('one-%d' % n, 'kill 1 %d' % n, ('EPERM', 'OK'), '') for n in (9, 15, 19, 6)]
    # Nor are limits of others set, which would end them.
    tries += [Try('limits-%d' % pid, 'prlimit64 %d 0 q:1,1 null' % pid, ('EPERM', 'ESRCH'), '')
              for pid in (1, (1 << 32) | 1)]
    rig.refusals(r, s, tries)
    s.exec('sh', '-c', 'kill -9 -1; kill -STOP -1; kill -9 1; kill -9 0', ok=False)
    s.alive('after kill -1')
    out = other.communicate(timeout=20 * rig.SCALE)[0]
    check(out == b'survived\n', 'another execution died: %r' % out)
    gone = s.json('sh', '-c', 'kill -9 $$')
    check(gone['signal'] in (9, 'SIGKILL', 'KILL'), 'the control: one\'s own death: %r' % gone['signal'])


@test(76, 'limits.cpu', 'computing on all processors ends at the limit')
def spin(r):
    s = r.plain()
    began = time.monotonic()
    got = s.json(INSIDE, 'spin', '4', options=['--timeout', '1'])
    took = time.monotonic() - began
    check(got['status'] == 'timeout', 'status %s' % got['status'])
    check(took < 1 + 2 * rig.SCALE, 'ended after %.1f s' % took)
    check(b'inside\0spin' not in everybody(), 'one lives on')
    got = s.json(INSIDE, 'spin', '1', options=['--timeout', '20', '--cpu-time', '1'])
    check(got['status'] in ('timeout', 'limit') and got['duration_ms'] < 10000 * rig.SCALE,
          'CPU time: %s %r' % (got['status'], got['reason']))


# None of them lives for long; together they go on for as long as they are let.
RELAY = '''end=$(($(date +%s) + 20))
while [ $(date +%s) -lt $end ]; do timeout 0.3 sh -c "while :; do :; done"; done'''


@test(76, 'limits.cpu', 'the limit of CPU time counts what all children used')
def spin_in_turn(r):
    for script in (RELAY, '%s spin 4' % INSIDE):
        got = r.plain().json('sh', '-c', script, options=['--timeout', '60', '--cpu-time', '1'], seconds=90)
        check(got['status'] == 'timeout' and got['reason']['kind'] == 'timeout_cpu',
              '%s: %s %r after %d ms' % (script[:20], got['status'], got['reason'], got['duration_ms']))
        # It is looked at each 50 ms when it is near; a slow machine is late.
        check(got['usage']['cpu_ms'] < 1500 + 2000 * rig.SCALE, 'it had %d ms' % got['usage']['cpu_ms'])
    less = r.plain().json('sh', '-c', 'timeout 0.2 sh -c "while :; do :; done"; echo done',
                                 options=['--cpu-time', '1'])
    check(less['stdout'] == 'done\n', 'the control: %r' % less)


SHARED = '''import ctypes, os, sys, time
libc = ctypes.CDLL(None)
kept = []
while libc.inotify_init() >= 0 and len(kept) < 1000:
    kept.append(0)
print(len(kept), end=" ")
kept = []
try:
    while len(kept) < 1000:
        kept.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
except OSError:
    pass
print(len(kept), flush=True)
time.sleep(float(sys.argv[1]))'''


@test(65, '-', 'of what all users share there is a part only')
def shared(r):
    if not os.path.exists('/usr/bin/python3'):
        raise Lacks('no python3 to take them with')
    s = r.session('--nofile', '2048')
    p = r.start([r.bin, 'exec', s.id, '--', 'python3', '-c', SHARED, '2'], stdout=subprocess.PIPE)
    watches, terminals = map(int, p.stdout.readline().split())
    check(0 < watches <= 64, '%d instances of inotify' % watches)
    check(0 < terminals <= 256, '%d terminals' % terminals)
    # The control: outside the same program takes more.
    outside = subprocess.run(['python3', '-c', SHARED, '0'], stdout=subprocess.PIPE, preexec_fn=room,
                             **r.who())
    mine, terminals = map(int, outside.stdout.split())
    check(mine > watches or terminals > 256, 'the control: %d and %d' % (mine, terminals))
    p.wait()


def room():
    resource.setrlimit(resource.RLIMIT_NOFILE, (2048, 2048))


@test(77, '-', 'sleeping past the limit ends at the limit')
def sleep_past(r):
    s = r.plain()
    began = time.monotonic()
    got = s.json('sleep', '60', options=['--timeout', '0.5'])
    took = time.monotonic() - began
    check(got['status'] == 'timeout' and 0.5 <= took < 1 + 2 * rig.SCALE,
          '%s after %.1f s' % (got['status'], took))
    check(s.exec('sleep', '60', options=['--timeout', '0.3'], ok=False).code == 124, 'exit code')


@test(78, 'core_limit core_limit_set', 'no core is written, and the limit that says so stays')
def core(r):
    s = r.plain()
    out = s.sh('ulimit -c; ulimit -Hc; cd /workspace; (ulimit -c unlimited) 2>&1; '
               'sh -c "kill -ABRT \\$\\$"; ls', ok=False).out
    check(b'core' not in out.split(b'\n')[-2:], 'a core: %r' % out)
    limits = s.exec('cat', '/proc/self/limits').out.decode()
    line = [x for x in limits.splitlines() if x.startswith('Max core')][0].split()
    check(line[4:6] == ['1', '1'], 'the limit of cores: %r' % line)
    rig.refusals(r, s, [Try('raise', 'prlimit64 0 4 q:9,9 null', ('EPERM',), ''),
                        Try('lower', 'prlimit64 0 4 q:0,0 null', ('EPERM',), 'user'),
                        Try('old', 'setrlimit 4 q:0,0', ('EPERM',), 'user')])


@test(80, 'realtime nice', 'no priority over others, and no memory that cannot be taken back')
def priorities(r):
    rig.refusals(r, r.plain(), [
        Try('fifo', 'sched_setscheduler 0 1 d:1', ('EPERM',), 'root'),
        Try('rr', 'sched_setscheduler 0 2 d:1', ('EPERM',), 'root'),
        Try('nice', 'setpriority 0 0 -20', ('EPERM', 'EACCES'), 'root'),
        Try('ioprio', 'ioprio_set 1 0 0x2000', ('EPERM',), 'root'),
        Try('memlock', 'prlimit64 0 8 q:0x7fffffff0000,0x7fffffff0000 null', ('EPERM',), '')])
    s = r.plain()
    locked = s.probe('calls', 'huge mmap null 0x200000 3 0x40022 -1 0')
    check(locked['huge'][0] != 'OK' or not int(open('/proc/sys/vm/nr_hugepages').read()),
          'huge pages of the host were taken: %r' % locked)
    limit = int(s.sh('ulimit -l').out.strip() or b'0')
    check(limit <= 64 * 1024, '%d KiB may be locked' % limit)


if __name__ == '__main__':
    raise SystemExit(rig.main())

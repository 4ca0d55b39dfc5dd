"""stress-ng of Debian, run inside, against each limit: what doctor says that enforces it does,
the result says so, and the session can be used afterwards."""
import json
import os
import shutil

import rig
from rig import Lacks, check, test

MIB = 1 << 20


def stress(s, *words, seconds=20):
    got = s.json('stress-ng', '--temp-path', '/workspace', *words, options=['--timeout', str(seconds)], seconds=90)
    rig.say('%s: %s %r %r' % (' '.join(words), got['status'], got['reason'], {
        k: v for k, v in got['usage'].items() if k != 'enforced_by'}))
    check('dispatching' in got['stderr'] or got['status'] in ('oom', 'limit', 'killed'),
          'stress-ng did not start: %r' % got['stderr'][-500:])
    return got


def session(r, *options):
    if not shutil.which('stress-ng'):
        raise rig.Skip('no stress-ng here')
    s = r.session(*options)
    return s, json.loads(r.sbx('doctor', '--json').out)['limits']


def warned(got, *kinds):
    return any(w['kind'] in kinds for w in got['warnings'])


def after(s):
    """As if nothing had been: it answers, and what is within the limits is done."""
    s.alive('after stress-ng')
    got = s.json('sh', '-c', 'head -c 1000000 /dev/zero >f && rm f && for i in 1 2 3; do sleep 0.1 & done; wait')
    check(got['status'] == 'success' and not got['stderr'], 'less than the limits: %s %r' % (
        got['status'], got['stderr']))
    check(got['leftovers_killed'] == 0, 'something was left running')


@test('stress', '-', 'memory')
def memory(r):
    s, by = session(r, '--memory', '96Mi')
    got = stress(s, '--vm', '2', '--vm-bytes', '400M', '--vm-keep', '-t', '2')
    kind = by['memory']['enforced_by']
    check(got['usage']['enforced_by']['memory'] == kind, 'the result says %r' % got['usage']['enforced_by'])
    named = got['status'] in ('oom', 'limit') or warned(got, 'oom_child', 'near_limit')
    if kind.startswith('cgroup'):
        check(named, 'not a word about memory: %r' % got['warnings'])
        check(got['usage']['memory_peak_bytes'] <= 96 * MIB, 'peak %d' % got['usage']['memory_peak_bytes'])
    else:
        # Each process by itself: those of stress-ng wait for memory that they are not given.
        check(named or got['usage']['memory_peak_bytes'] <= 96 * MIB,
              'by %s, and a peak of %d' % (kind, got['usage']['memory_peak_bytes']))
        one = s.json('sh', '-c', 'head -c 300000000 /dev/zero | tail -c 300000000 | wc -c')
        check('300000000' not in one['stdout'], 'one process had 300 MB by ' + kind)
    after(s)


@test('stress', '-', 'processes')
def pids(r):
    s, by = session(r, '--pids', '32')
    got = stress(s, '--fork', '4', '--fork-max', '64', '-t', '2')
    if by['pids']['enforced_by'].startswith('cgroup'):
        check(got['usage']['pids_peak'] <= 32, 'there were %d' % got['usage']['pids_peak'])
        check(warned(got, 'pids') or got['status'] == 'limit', 'not a word: %r' % got['warnings'])
    else:
        # Counted by uid: fewer can be had, never more.
        left = s.sh('for i in $(seq 64); do sleep 1 & done 2>&1; wait', ok=False)
        check(b'fork' in left.out + left.err, '64 processes by %r' % by['pids'])
    after(s)


@test('stress', '-', 'processors')
def cpu(r):
    s, by = session(r, '--cpu', '0.5')
    got = stress(s, '--cpu', '2', '-t', '2')
    if not by['cpu']['enforced_by'].startswith('cgroup'):
        check(got['usage']['enforced_by']['cpu'] == by['cpu']['enforced_by'], 'the result says otherwise')
        raise Lacks('nothing enforces it, and that is said: %r' % by['cpu'])
    share = got['usage']['cpu_ms'] / got['usage']['wall_ms']
    # Two workers would take two; the kernel deals out in periods of 100 ms.
    check(share < 0.8, 'it had %.2f processors' % share)
    after(s)


@test('stress', '-', 'disk')
def disk(r):
    s, by = session(r, '--disk', '32Mi')
    # 25 MiB for each of four, deleted while they are open.
    got = stress(s, '--hdd', '4', '--hdd-bytes', '100M', '--hdd-write-size', '64k', '-t', '6')
    check(got['status'] == 'limit' and got['reason']['kind'] == 'disk' or 'No space' in got['stderr'],
          'more than its disk, by %r: %s %r' % (by['disk'], got['status'], got['usage']))
    s.sh('rm -rf /workspace/tmp-stress-ng*', ok=False)
    one = stress(s, '--hdd', '1', '--hdd-bytes', '200M', '-t', '2')
    check('File too large' in one['stderr'] or 'No space' in one['stderr'] or one['status'] == 'limit',
          'a file of 200 MiB: %s %r' % (one['status'], one['stderr'][-300:]))
    s.sh('rm -rf /workspace/tmp-stress-ng*', ok=False)
    after(s)


@test('stress', '-', 'open files')
def files(r):
    s, _ = session(r, '--nofile', '64')
    got = stress(s, '--open', '1', '-t', '1')
    check('maximum of 64 file descriptors' in got['stderr'], 'it had more: %r' % got['stderr'][-300:])
    many = s.sh('for i in $(seq 3 70); do eval "exec $i</dev/null" || exit 9; done', ok=False)
    check(many.code, '68 files were opened')
    after(s)


if __name__ == '__main__':
    raise SystemExit(rig.main())

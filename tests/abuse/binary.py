"""The program itself and the descriptors that a payload starts with (tests 1 to 11)."""
import fcntl
import json
import os
import subprocess

import rig
from rig import INSIDE, Try, check, test

# What a path of another process gives when it is not one's own to look into.
CLOSED = ('EACCES', 'EPERM', 'ENOENT', 'ESRCH')


@test(1, 'init_exe', 'the program behind pid 1 cannot be opened')
def exe_of_init(r):
    s, before = r.plain(), rig.digest(r.bin)
    paths = ['/proc/1/exe:r', '/proc/1/exe:w', '/proc/1/exe:p']
    for path, (result, detail) in s.probe('open', *paths).items():
        check(result in CLOSED, '%s: %s %s' % (path, result, detail))
    parent = s.sh('%s open /proc/$PPID/exe:w /proc/$PPID/exe:r' % INSIDE).out
    for path, (result, _) in rig.parse(parent).items():
        check(result in CLOSED, 'parent: %s' % result)
    check(rig.digest(r.bin) == before, 'the program was changed')
    # Control: outside, that of a process of one's own can be read.
    own = r.outside('user', 'open', '/proc/self/exe:r')['/proc/self/exe:r']
    check(own[0] == 'OK', 'the control was refused: %s' % own[0])


F_GET_SEALS, ALL_SEALS = 1034, 0xf  # SEAL, SHRINK, GROW, WRITE: linux/fcntl.h


def seals(path):
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return fcntl.fcntl(fd, F_GET_SEALS)
    finally:
        os.close(fd)


def check_seals(r, s):
    """Whoever got hold of the program of init could do nothing with it."""
    report = json.loads(r.sbx('doctor', '--json').out)['jail']
    check(report['sealed'], 'init is not sealed: %r' % report)
    inits = [p for p, words in rig.processes_of(s.id) if words.startswith(b'sbx: ') and
             words.endswith((b' init', b' exec'))]
    check(inits, 'no init of the session is running')
    if not rig.IS_ROOT:
        return rig.say('only root looks at the program of another user\'s init')
    for pid in inits:
        path = '/proc/%d/exe' % pid
        check(seals(path) & ALL_SEALS == ALL_SEALS, '%s has the seals %#x' % (path, seals(path)))
    # Control: what is not sealed shows as such.
    free = os.memfd_create('sbx-abuse', os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    check(seals('/proc/self/fd/%d' % free) == 0, 'the control is sealed')
    os.close(free)


@test(2, 'own_exe_write', 'running /proc/self/exe never leads to the program of the caller')
def exe_again(r):
    s, before = r.plain(), rig.digest(r.bin)
    looper = r.start([r.bin, 'exec', s.id, '--', INSIDE, 'loop-exe', '1500'],
                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    s.sh('printf "#!/proc/self/exe\\n" > self; chmod 755 self')
    for _ in range(10):
        s.exec('/proc/self/exe', '--version', ok=False)
        s.exec('/workspace/self', ok=False)
        s.sh('exec /workspace/self', ok=False)
    found = rig.parse(looper.communicate(timeout=30 * rig.SCALE)[0])
    check(int(found['tried'][1]) > 10, 'the loop saw nothing')
    # Nothing but the helper's own file in /workspace may have been open to writing.
    check(found.get('opened', ('', INSIDE))[1].startswith('/workspace/'),
          'opened for writing: %s' % found.get('opened', ('', ''))[1])
    check(rig.digest(r.bin) == before, 'the program was changed')
    check_seals(r, s)
    version = r.sbx('--version').out
    for words in (['/proc/self/exe', '--version'], ['/workspace/self']):
        out = s.exec(*words, ok=False).out
        check(version not in out, '%s ran sbx' % words[0])
    # Control: outside the same script does reach the program that runs it.
    script = os.path.join(r.scratch, 'self')
    with open(script, 'w') as f:
        f.write('#!/bin/sh\nreadlink /proc/$$/exe\n')
    os.chmod(script, 0o755)
    check(b'/' in r.run([script]).out, 'the control found no program')


@test(3, 'descriptors', 'a payload starts with 0, 1 and 2 and nothing else')
def only_three(r):
    s = r.plain()
    found = s.probe('fds')
    check(sorted(found) == ['0', '1', '2'], 'descriptors: %r' % found)
    with open('/dev/null') as extra:
        control = r.run([r.helper, 'fds'], pass_fds=[extra.fileno()]).out
        check(str(extra.fileno()) in rig.parse(control), 'the control did not show one more')


@test(4, 'descriptors', 'descriptors of the caller do not come along')
def of_the_caller(r):
    s = r.plain()
    canary = os.path.join(r.dir, 'canary')
    with open(canary, 'w') as f:
        f.write('host\n')
    fds = [os.open(canary, os.O_RDONLY) for _ in range(48)]
    try:
        out = r.run([r.bin, 'exec', s.id, '--', INSIDE, 'fds'], pass_fds=fds).out
        check(sorted(rig.parse(out)) == ['0', '1', '2'], 'seen inside: %r' % out)
        # A session that is made by such a caller, and its first execution, do not either.
        out = r.run([r.bin, 'run', '--runtime', 'shell', '--', 'sh', '-c',
                     'ls -l /proc/self/fd /proc/$$/fd'], pass_fds=fds).out
        check(b'canary' not in out and out, 'seen inside: %r' % out)
        control = r.run([r.helper, 'fds'], pass_fds=fds).out
        check(len(rig.parse(control)) >= 48, 'the control did not get them')
    finally:
        for fd in fds:
            os.close(fd)


@test(5, '-', 'a working directory cannot lead out')
def working_directory(r):
    s = r.plain()
    for place in ('/proc/self/fd/7', '/proc/self/fd/../../..', '/proc/1/cwd', '/proc/1/root',
                  '/proc/self/cwd', '/proc/thread-self/root', '../../..', ''):
        got = s.exec('sh', '-c', 'pwd; /usr/bin/stat -c %d:%i / .', options=['-w', place], ok=False)
        if got.code:
            continue
        where, root, here = got.out.decode().split('\n')[:3]
        # Where the kernel followed it, it is a place inside with an absolute name.
        check(where.startswith('/') and not where.startswith('(unreachable)'),
              '%r: cwd %r' % (place, where))
        check(os.stat('/').st_dev != int(here.split(':')[0]) or r.dir in where,
              '%r: on the file system of the host' % place)
        check(b'/home' not in s.exec('ls', '-a', options=['-w', place], ok=False).out
              .replace(b'/home/sandbox', b''), 'the tree of the host')
    refused = s.exec('true', options=['-w', '/proc/1/cwd'], ok=False)
    check(refused.code != 0, '/proc/1/cwd was entered')
    check(s.exec('true', options=['-w', '/tmp']).code == 0, 'the control: /tmp was refused')


@test(7, '-', 'standard input is a pipe, never the file of the caller')
def stdin_is_a_pipe(r):
    s = r.plain()
    path = os.path.join(r.scratch, 'private')
    with open(path, 'w') as f:
        f.write('secret of the caller\n')
    os.chmod(path, 0o600)
    if r.who():
        os.chown(path, rig.USER, rig.USER)
    script = 'readlink /proc/self/fd/0; echo planted 1<>/proc/self/fd/0 >/proc/self/fd/0; cat'
    with open(path) as f:
        out = r.run([r.bin, 'exec', s.id, '-i', '--', 'sh', '-c', script], stdin=f).out
    check(out.startswith(b'pipe:'), 'stdin is %r' % out)
    with open(path) as f:
        check(f.read() == 'secret of the caller\n', 'the file of the caller was written')
        f.seek(0)
        # Control: without a jail it is the file.
        check(b'private' in r.run(['readlink', '/proc/self/fd/0'], stdin=f).out, 'the control')
    got = s.sh('readlink /proc/self/fd/0').out
    check(got == b'/dev/null\n', 'without -i stdin is %r' % got)


@test(8, 'init_environ init_mem init_maps init_exe init_root init_cwd init_fd init_auxv '
      'init_ns init_stack', 'nothing of pid 1 can be looked into')
def proc_of_init(r):
    s = r.plain()
    files = ['environ', 'mem', 'maps', 'auxv', 'stack', 'syscall', 'io', 'pagemap', 'map_files',
             'personality', 'smaps', 'numa_maps']
    links = ['root', 'cwd', 'exe', 'fd/0', 'fd/3'] + ['ns/' + n for n in (
        'cgroup', 'ipc', 'mnt', 'net', 'pid', 'time', 'user', 'uts')]
    bad = []
    for path, (result, detail) in s.probe('open', *['/proc/1/%s:r' % f for f in files]).items():
        if result not in CLOSED and detail != '(empty)':
            bad.append('%s %s %s' % (path, result, detail))
    for path, (result, detail) in s.probe('link', *['/proc/1/' + x for x in links]).items():
        if result not in CLOSED:
            bad.append('%s %s %s' % (path, result, detail))
    for path, (result, detail) in s.probe('open', '/proc/1/fd:d').items():
        if result not in CLOSED:
            bad.append('%s %s' % (path, result))
    check(not bad, '; '.join(bad))
    # Not dumpable: not even its owner would be let in, if it had no more rights than others.
    owners = s.sh('stat -c %u /proc/1/environ /proc/1/maps /proc/self/environ').out.split()
    check(owners[2] == b'1000' and b'1000' not in owners[:2], 'owners: %r' % owners)
    own = r.outside('user', 'link', '/proc/self/root', '/proc/self/ns/net')
    check(all(v[0] == 'OK' for v in own.values()), 'the control: %r' % own)


@test(9, 'ptrace_init vm_read_init pidfd_getfd kcmp', 'nobody is traced and no memory of others is read')
def tracing(r):
    rig.refusals(r, r.plain(), [
        Try('traceme', 'ptrace 0 0 0 0', ('EPERM',), 'user'),
        Try('attach-1', 'ptrace 16 1 0 0', ('EPERM',), ''),
        Try('seize-1', 'ptrace 0x4206 1 0 0', ('EPERM',), ''),
        # Of nobody: ESRCH where the call is reached.
        Try('attach-none', 'ptrace 16 0x3fffffff 0 0', ('EPERM',), 'user'),
        Try('seize-none', 'ptrace 0x4206 0x3fffffff 0 0', ('EPERM',), 'user'),
        Try('readv-1', 'process_vm_readv 1 q:0x400000,8 1 q:0x400000,8 1 0', ('EPERM',), ''),
        Try('readv-none', 'process_vm_readv 0x3fffffff q:0,0 1 q:0,0 1 0', ('EPERM',), 'user'),
        Try('writev-none', 'process_vm_writev 0x3fffffff q:0,0 1 q:0,0 1 0', ('EPERM',), 'user'),
        Try('kcmp', 'kcmp 0x3fffffff 0x3fffffff 0 0 0', ('EPERM',), 'user'),
        Try('getfd', 'pidfd_getfd -1 0 0', ('ENOSYS', 'EPERM'), 'user'),
        Try('madvise', 'process_madvise -1 null 0 0 0', ('ENOSYS', 'EPERM'), 'user'),
    ])


@test(10, 'mount_flags', 'no path of the host shows inside')
def no_host_path(r):
    s = r.plain()
    script = '''cat /proc/self/mountinfo /proc/self/mounts /proc/self/maps /proc/1/cmdline \
        /proc/*/cmdline /proc/self/environ /proc/self/cgroup; hostname; env; ls -l /proc/self/fd
        cat /proc/*/comm'''
    out = s.sh(script, ok=False).out
    check(b'overlay' in out, 'nothing could be read')
    for path in (r.dir, r.home, os.getcwd()):
        check(path.encode() not in out, '%s shows inside' % path)
    check(b'fs/up' not in out and b'/sessions/' not in out, 'the session directory shows inside')
    # Control: the words are found where they are.
    with open('/proc/self/environ', 'rb') as f:
        check(f.read(), 'the control')
    check(r.dir.encode() in r.run(['cat', '/proc/self/environ']).out, 'the control')


@test(11, '-', 'no variable of the caller comes along')
def environment(r):
    s = r.plain()
    env = r.environment(SECRET_X='of the caller', LD_PRELOAD_X='1', SSH_AUTH_SOCK='/tmp/agent',
                        AWS_SECRET_ACCESS_KEY='k')
    for words in (['exec', s.id], ['run', '--runtime', 'shell']):
        out = r.run([r.bin, *words, '--', 'env'], env=env).out
        check(b'PATH=' in out, 'no environment at all: %r' % out)
        for name in (b'SECRET_X', b'LD_PRELOAD_X', b'SSH_AUTH_SOCK', b'AWS_', b'SBX_HOME'):
            check(name not in out, '%s came along' % name.decode())
    # Nor through other processes of the session.
    out = s.sh('cat /proc/*/environ', env=env, ok=False).out
    check(b'SECRET_X' not in out, 'it is in the environment of another process')
    check(b'SECRET_X' in r.run(['env'], env=env).out, 'the control')


if __name__ == '__main__':
    raise SystemExit(rig.main())

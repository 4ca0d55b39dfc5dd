"""What /proc and the mounts show and allow (tests 12 to 19)."""
import os
import subprocess

import rig
from rig import Lacks, Try, check, test

NO_WRITE = ('EROFS', 'EACCES', 'EPERM', 'ENOENT')
KERNEL = ['/proc/sys/kernel/core_pattern', '/proc/sys/kernel/modprobe',
          '/proc/sys/kernel/hotplug', '/proc/sys/kernel/randomize_va_space',
          '/proc/sys/vm/overcommit_memory', '/proc/sys/fs/protected_symlinks',
          '/proc/sys/fs/binfmt_misc/register', '/proc/sys/user/max_user_namespaces']
SECRET = ['/proc/kcore', '/proc/kallsyms', '/proc/keys', '/proc/key-users', '/proc/timer_list',
          '/proc/sched_debug', '/proc/config.gz', '/proc/kmsg', '/proc/kpagecount',
          '/proc/kpageflags', '/proc/latency_stats']


LOCKED = ['/proc/sys', '/proc/bus', '/proc/fs', '/proc/irq']
COVERED = SECRET + ['/proc/acpi', '/proc/asound', '/proc/cmdline', '/proc/timer_stats', '/proc/scsi',
                    '/proc/sysrq-trigger', '/proc/kpagecgroup']


def flags_of(mounts, path):
    """Of the mount at this very path; [] when there is none."""
    lines = [line.split(' ') for line in mounts.decode().splitlines()]
    return next((line[3].split(',') for line in reversed(lines) if line[1] == path), [])


def values(paths):
    found = {}
    for path in paths:
        try:
            with open(path, 'rb') as f:
                found[path] = f.read()
        except OSError:
            found[path] = None
    return found


@test(12, 'core_pattern modprobe sysrq max_userns_write', 'no setting of the kernel can be written')
def settings(r):
    s, before = r.plain(), values(KERNEL)
    irq = ['/proc/irq/default_smp_affinity', '/proc/irq/0/smp_affinity', '/proc/irq/4/smp_affinity']
    found = s.probe('open', *[p + ':w' for p in KERNEL + irq])
    found.update(s.probe('put', '/proc/sysrq-trigger=h'))
    bad = ['%s: %s' % (p, v[0]) for p, v in found.items() if v[0] not in NO_WRITE]
    check(not bad, '; '.join(bad))
    check(values(KERNEL) == before, 'a value of the host has changed')
    # Each wall by itself: whoever could write finds a mount that is read only, or a cover.
    mounts = s.exec('cat', '/proc/self/mounts').out
    for path in LOCKED:
        flags = flags_of(mounts, path)
        check(not os.path.exists(path) or 'ro' in flags, '%s is mounted %r' % (path, flags))
    check(not os.path.exists('/proc/sysrq-trigger') or flags_of(mounts, '/proc/sysrq-trigger'),
          'sysrq-trigger is not covered')
    check(not flags_of(mounts, '/proc/loadavg'), 'the control: something else is covered')
    free = r.outside('userns', 'open', KERNEL[-1] + ':w')
    check(free[KERNEL[-1] + ':w'][0] == 'OK', 'refused without a jail: %r' % free)
    try:
        free = r.outside('root', 'open', KERNEL[0] + ':w')
    except Lacks as e:
        rig.say(e)
    else:
        check(all(v[0] == 'OK' for v in free.values()), 'refused without a jail: %r' % free)


@test(13, 'proc_masks', 'what the kernel tells about itself and others is covered')
def secrets(r):
    found = r.plain().probe('open', *[p + ':r' for p in SECRET])
    bad = ['%s: %s %s' % (p, *v) for p, v in found.items()
           if v[0] not in NO_WRITE and v[1] != '(empty)']
    check(not bad, '; '.join(bad))
    mounts = r.plain().exec('cat', '/proc/self/mounts').out
    bare = [p for p in COVERED if os.path.exists(p) and not flags_of(mounts, p)]
    check(not bare, 'not covered: ' + ' '.join(bare))
    free = r.outside('user', 'open', '/proc/kallsyms:r', '/proc/keys:r', '/proc/key-users:r')
    check(any(v[0] == 'OK' and v[1] != '(empty)' for v in free.values()),
          'refused without a jail: %r' % free)


@test(14, 'mount mount_bind mount_remount umount fsopen open_tree move_mount mount_setattr', 'nothing is mounted, remounted or taken away')
def mounting(r):
    no = ('EPERM', 'ENOSYS')
    old = [('umount-' + p.strip('/').replace('/', '-'), "umount2 '%s 2" % p) for p in (
        '/proc/keys', '/proc/sys', '/proc', '/usr', '/dev', '/dev/null', '/dev/shm', '/run/sbx', '/')]
    old += [('remount-proc-sys', "mount null '/proc/sys null 0x1020 null"),
            ('remount-usr', "mount null '/usr null 0x1020 null"),
            ('bind-over', "mount '/tmp '/tmp null 0x1000 null"),
            ('bind-mask', "mount '/dev/null '/proc/self/comm null 0x1000 null"),
            ('move', "mount '/tmp '/var/tmp null 0x2000 null"),
            ('private', "mount null '/ null 0x44000 null")]
    for kind in ('tmpfs', 'proc', 'sysfs', 'overlay', 'devpts', 'cgroup2', 'mqueue', 'ext4', 'fuse'):
        old.append(('old-' + kind, "mount '%s '/nowhere '%s 0 null" % (kind, kind)))
    new = [('new-' + kind, "fsopen '%s 0" % kind) for kind in (
        'tmpfs', 'proc', 'sysfs', 'overlay', 'devpts', 'cgroup2')]
    new += [('open_tree', "open_tree -100 '/ 1"), ('fsmount', 'fsmount -1 0 0'),
            ('fspick', "fspick -100 '/tmp 0"), ('fsconfig', 'fsconfig -1 0 null null 0'),
            ('move_mount', "move_mount -1 ' -1 ' 4"),
            ('mount_setattr', "mount_setattr -1 ' 0x1000 q:0,0,0,0 32"),
            ('open_tree_attr', "open_tree_attr -1 ' 0x1001 q:0,0,0,0 32")]
    rig.refusals(r, r.plain(), [Try(n, c, no, 'userns') for n, c in old + new])


@test(15, '-', 'links planted where the jail mounts lead nowhere outside')
def planted(r):
    """What a hostile archive or image would bring: here the host puts it there itself."""
    canary = os.path.join(r.dir, 'canary')
    os.mkdir(canary)
    os.chmod(canary, 0o777)
    with open(os.path.join(canary, 'note'), 'w') as f:
        f.write('mine')
    plants = [('dev', '/'), ('dev', canary), ('proc', canary), ('sys', '/'), ('run', canary),
              ('etc', '../../..' + canary), ('usr', canary), ('dev/null', '/proc/sys/kernel/core_pattern'),
              ('dev/pts', canary), ('run/sbx', canary), ('workspace', canary), ('tmp', canary)]
    before = values(['/proc/sys/kernel/core_pattern'])
    started = 0
    for name, target in plants:
        s = r.session()
        r.sbx('stop', s.id)
        place = os.path.join(s.upper, name)
        if os.path.dirname(name) and not os.path.isdir(os.path.dirname(place)):
            os.mkdir(os.path.dirname(place))
        if os.path.isdir(place) and not os.path.islink(place):
            subprocess.run(['rm', '-rf', place], check=True)
        os.symlink(target, place)
        if r.who():
            os.chown(os.path.dirname(place), rig.USER, rig.USER)
            os.lchown(place, rig.USER, rig.USER)
        up = r.sbx('start', s.id, ok=False)
        if up.code == 0:
            started += 1
            s.sh('echo hit > /dev/null; echo hit > /dev/planted; echo hit > /dev/shm/planted; '
                 'echo hit > /workspace/planted; echo hit > /tmp/planted; echo hit >> /etc/planted; '
                 'ls -la /dev /proc /sys', ok=False)
        else:
            check(b'sbx start: ' in up.err, 'refused without a word: %r' % up.err)
        check(os.listdir(canary) == ['note'], '%s -> %s: written outside: %r' % (
            name, target, os.listdir(canary)))
        check(values(before) == before, 'core_pattern has changed')
        s.remove()
    check(started, 'the control: no session was started with a link planted')
    with open(os.path.join(canary, 'note')) as f:
        check(f.read() == 'mine', 'the canary was written')


@test(16, 'mount fsopen', 'no cgroup hierarchy can be mounted or seen')
def release_agent(r):
    s = r.plain()
    rig.refusals(r, s, [
        Try('v1-memory', "mount 'cgroup '/nowhere 'cgroup 0 'memory", ('EPERM',), 'root'),
        Try('v1-named', "mount 'cgroup '/nowhere 'cgroup 0 'none,name=x", ('EPERM',), 'root'),
        Try('v2', "fsopen 'cgroup2 0", ('EPERM', 'ENOSYS'), 'userns')])
    seen = s.sh('cat /proc/self/mounts; find /sys /proc/sys /run -name release_agent '
                '-o -name notify_on_release -o -name cgroup.procs 2>&1', ok=False).out
    check(b' cgroup' not in seen and b'release_agent' not in seen, 'seen: %r' % seen)
    with open('/proc/self/mounts', 'rb') as f:
        if b' cgroup' not in f.read():
            rig.say('the host has no cgroup mounts either')


@test(18, 'pid_isolation nested_pids', 'only processes of the execution itself are seen')
def own_processes(r):
    s = r.plain()
    marker = b'3607.4242'
    other = r.start(['sleep', marker.decode()])
    got = s.sh('cat /proc/[0-9]*/cmdline; echo; ls /proc', ok=False)
    check(marker not in got.out, 'a process of the host shows')
    check(s.exec('test', '-e', '/proc/%d' % other.pid, ok=False).code == 1, 'its pid shows')
    pids = [p for p in got.out.decode(errors='replace').split() if p.isdigit()]
    check(0 < len(pids) <= 6, 'processes: %r' % pids)
    status = s.probe('status')
    check(len(status['NSpid'][1].split()) == 1, 'NSpid: %s' % status['NSpid'][1])
    # Nor another execution of the same session.
    r.start([r.bin, 'exec', s.id, '--', 'sleep', '3608.4242'])
    rig.until(lambda: b'3608.4242' in r.run(['sh', '-c', 'cat /proc/*/cmdline 2>/dev/null']).out, 5)
    check(b'3608' not in s.sh('cat /proc/[0-9]*/cmdline | tr "\\0" " "; :').out.replace(
        b'cat', b''), 'another execution shows')
    free = r.run(['sh', '-c', 'cat /proc/[0-9]*/cmdline 2>/dev/null']).out
    check(marker in free, 'the control does not see it either')


DEVICES = ['/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom', '/dev/tty',
           '/dev/pts']


def loose(mounts):
    """Lines of a mount table that miss a flag which they must have."""
    found = []
    for line in mounts.decode().splitlines():
        _, where, _, flags = line.split(' ')[:4]
        flags = flags.split(',')
        dead = where.startswith(('/proc', '/sys', '/dev'))
        if 'nosuid' not in flags or ('nodev' not in flags and where not in DEVICES) or \
                (dead and 'noexec' not in flags) or (where == '/usr' and 'ro' not in flags):
            found.append(where + ' ' + ','.join(flags))
    return found


@test(19, 'mount_flags', 'every mount is nosuid and nodev, and those of the kernel noexec')
def flags(r):
    mounts = r.plain().exec('cat', '/proc/self/mounts').out
    check(mounts.count(b'\n') > 10, 'nothing could be read')
    check(not loose(mounts), '; '.join(loose(mounts)))
    with open('/proc/self/mounts', 'rb') as f:
        check(loose(f.read()), 'the control: the host has the same')


if __name__ == '__main__':
    raise SystemExit(rig.main())

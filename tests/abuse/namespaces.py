"""Namespaces, capabilities and identity (tests 20 to 26)."""
import os
import re
import shutil
import struct
import tempfile

import rig
from rig import INSIDE, Refused, Try, check, test

SPACES = {'mnt': 0x20000, 'cgroup': 0x2000000, 'uts': 0x4000000, 'ipc': 0x8000000,
          'user': 0x10000000, 'pid': 0x20000000, 'net': 0x40000000, 'time': 0x80}
NONE = '0' * 16
# NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE with their locks, and the lock of KEEP_CAPS.
LOCKED = 0xef


def weak(status):
    """What an unprivileged, filtered process must have and this one has not."""
    found = ['%s %s' % (k, status.get(k, ('', '?'))[1])
             for k in ('CapEff', 'CapPrm', 'CapInh', 'CapBnd', 'CapAmb')
             if status.get(k, ('', '?'))[1] != NONE]
    for key, value in (('NoNewPrivs', '1'), ('Seccomp', '2')):
        if status.get(key, ('', '?'))[1] != value:
            found.append('%s %s' % (key, status.get(key, ('', '?'))[1]))
    for key in ('Uid', 'Gid'):
        if set(status.get(key, ('', '?'))[1].split()) != {'1000'}:
            found.append('%s %s' % (key, status.get(key, ('', '?'))[1]))
    if status.get('Groups', ('', '?'))[1].split() not in ([], ['1000']):
        found.append('Groups %s' % status['Groups'][1])
    return found


@test(20, 'caps_zero no_new_privs seccomp_mode securebits', 'no capability, no new privileges, a filter, locked bits')
def rights(r):
    status = r.plain().probe('status')
    check(not weak(status), '; '.join(weak(status)))
    bits = int(status['securebits'][1])
    check(bits & LOCKED == LOCKED, 'securebits %#x' % bits)
    free = r.outside('userns', 'status')
    check(len(weak(free)) > 4, 'the control has no rights either: %r' % free)


@test(21, 'unshare_user unshare_mount unshare_net clone_user clone_pid clone3 userns_nested', 'no namespace can be made')
def new_spaces(r):
    s, tries = r.plain(), []
    for name, bit in SPACES.items():
        tries.append(Try('unshare-' + name, 'unshare %#x' % bit, ('EPERM',), 'userns'))
        # Of the lowest byte clone takes a signal, so that there is no such time namespace.
        if name != 'time':
            tries.append(Try('clone-' + name, 'clone %#x 0 0 0 0' % (bit | 17), ('EPERM',), 'userns'))
        tries.append(Try('clone3-' + name, 'clone3 q:%#x,0,0,0,17,0,0,0 64' % bit, ('ENOSYS',),
                         'userns'))
    tries.append(Try('unshare-fs', 'unshare 0x200', ('EPERM',), 'user'))
    rig.refusals(r, s, tries)
    # The second wall, which would hold without the filter.
    limit = s.sh('cat /proc/sys/user/max_user_namespaces', ok=False).out.strip()
    check(limit == b'0', 'max_user_namespaces inside is %r' % limit)
    with open('/proc/sys/user/max_user_namespaces') as f:
        check(int(f.read()) > 0, 'the control: it is 0 on the host too')


@test(22, 'setns', 'no namespace can be entered')
def enter_spaces(r):
    kinds = ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'user', 'uts']
    tries = [Try('own-' + k, 'setns open:/proc/self/ns/%s 0' % k, ('EPERM',),
                 'userns' if k in ('ipc', 'net', 'uts') else '') for k in kinds]
    tries += [Try('init-' + k, 'setns open:/proc/1/ns/%s 0' % k, ('EPERM', 'EACCES', 'ENOENT'), '')
              for k in kinds]
    tries.append(Try('none', 'setns -1 0', ('EPERM',), 'user'))
    rig.refusals(r, r.plain(), tries)


@test(22, '-', 'every namespace is another than that of the host')
def spaces_differ(r):
    kinds = ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'user', 'uts']
    paths = ['/proc/self/ns/' + k for k in kinds]
    s = r.plain()
    inside, outside = s.probe('link', *paths), r.outside('user', 'link', *paths)
    check(all(v[0] == 'OK' for v in (*inside.values(), *outside.values())) and
          len(inside) == len(kinds), 'not all can be read: %r' % inside)
    same = [p for p in paths if inside[p] == outside[p]]
    check(not same, 'shared with the host: ' + ' '.join(same))
    check(r.outside('user', 'link', *paths) == outside, 'the control: they differ by themselves')
    groups = s.sh('cat /proc/self/cgroup').out.split()
    # Of the session's group, which is the root here, at most that of the execution below it.
    check(groups and all(re.fullmatch(rb'[^:]*:[^:]*:/(e\d+)?', g) for g in groups),
          'control groups: %r' % groups)
    check(s.sh('hostname').out.strip().decode() != os.uname().nodename, 'the name of the host')


@test(23, 'chroot pivot_root', 'no other root, and no way up from this one')
def change_root(r):
    s = r.plain()
    rig.refusals(r, s, [Try('chroot', "chroot '/tmp", ('EPERM',), 'userns'),
                        Try('pivot', "pivot_root '/tmp '/tmp", ('EPERM',), 'userns')])
    found = s.probe('break-out', '/tmp')
    check(found['chroot'][0] == 'EPERM', 'chroot: %s' % found['chroot'][0])
    st = os.stat('/')
    check(found['where'][1] != '%d:%d' % (st.st_dev, st.st_ino), 'that is the root of the host')
    # Control: the same climb out of a chroot does leave it.
    free = r.outside('userns', 'break-out', '/tmp')
    check(free['chroot'][0] == 'OK' and free['where'][1] == '%d:%d' % (st.st_dev, st.st_ino),
          'the control did not get out: %r' % free)


def plant(path, source, uid, mode, caps):
    shutil.copyfile(source, path)
    os.chown(path, uid, uid)
    os.chmod(path, mode)
    if caps:
        # struct vfs_cap_data, revision 2: effective, CAP_CHOWN
        os.setxattr(path, 'security.capability', struct.pack('<IIIII', 0x02000001, 1, 0, 0, 0))


def planted_by_root(r, s):
    base = os.stat(os.path.join(s.upper, 'workspace', 'inside')).st_uid - 1000 if r.is_root else 0
    folder = os.path.join(s.upper, 'workspace')
    out = tempfile.mkdtemp(prefix='planted.', dir=r.dir)
    os.chmod(out, 0o755)
    kinds = {'suid-host': (0, 0o6755, False), 'suid-base': (base, 0o6755, False),
             'caps-host': (0, 0o755, True), 'caps-base': (base, 0o755, True)}
    for name, (uid, mode, caps) in kinds.items():
        plant(os.path.join(folder, name), r.helper, uid, mode, caps)
        plant(os.path.join(out, name), r.helper, uid, mode, caps)
        status = rig.parse(s.exec('/workspace/' + name, 'status').out)
        check(not weak(status), '%s: %s' % (name, '; '.join(weak(status))))
        os.unlink(os.path.join(folder, name))
    who = {'user': rig.USER, 'group': rig.USER, 'extra_groups': []}
    for name, word in (('suid-host', 'Uid'), ('caps-host', 'CapEff')):
        free = rig.parse(r.run([os.path.join(out, name), 'status'], as_root=True, **who).out)
        check(free[word][1] not in (NONE, '\t'.join([str(rig.USER)] * 4)),
              'the control gained nothing: %r' % free)


@test(24, 'setid_bits', 'set-uid bits and file capabilities give nothing')
def planted_rights(r):
    s = r.plain()
    if rig.IS_ROOT:
        planted_by_root(r, s)
    else:
        rig.say('only root can plant files of other owners')
    # One that the payload makes itself.
    own = s.sh('cp %s own && chmod 6755 own && ./own status; rm -f own' % INSIDE, ok=False).out
    check(not weak(rig.parse(own)), 'own: %r' % weak(rig.parse(own)))
    loose = s.sh('grep -v nosuid /proc/self/mounts', ok=False).out
    check(not loose, 'mounts that honour set-uid bits: %r' % loose)
    with open('/proc/self/mounts') as f:
        check(any('nosuid' not in line for line in f), 'the control: the host has none either')


@test(25, 'set_uid set_gid set_groups chown_root', 'no call and no program gives rights')
def raise_rights(r):
    s = r.plain()
    all_caps = 'd:0x20080522,0 d:0xffffffff,0xffffffff,0,0x1ff,0x1ff,0'
    rig.refusals(r, s, [
        Try('capset', 'capset ' + all_caps, ('EPERM',), 'userns'),
        Try('setuid', 'setuid 0', ('EPERM', 'EINVAL'), 'userns'),
        Try('setgid', 'setgid 0', ('EPERM', 'EINVAL'), 'userns'),
        Try('setgroups', 'setgroups 1 d:0', ('EPERM',), 'root'),
        Try('chown', "fchownat -100 '/workspace/inside 0 0 0", ('EPERM', 'EINVAL'), ''),
        Try('chown-none', "fchownat -100 '/dev/null 0 0 0", ('EPERM', 'EINVAL', 'EACCES', 'EROFS'),
            'root'),
        Try('securebits', 'prctl 28 0', ('EPERM',), 'userns'),
        Try('nice', 'setpriority 0 0 -20', ('EPERM', 'EACCES'), 'root'),
        Try('ambient', 'prctl 47 2 21 0 0', ('EPERM',), ''),
        Try('no-seccomp', 'prctl 22 0 0', ('EINVAL', 'EPERM', 'EACCES'), '')])
    for program in ('su', 'sudo', 'newuidmap', 'pkexec', 'mount', 'passwd', 'ping', 'chsh'):
        got = s.exec(program, *(['-c', 'id'] if program == 'su' else []), ok=False)
        check(b'uid=0' not in got.out, '%s gave rights' % program)


@test(26, '-', 'mounts of the host made later do not come in', modes=('root',))
def propagation(r):
    """In a mount namespace of its own, so that the mounts of the host stay as they are."""
    script = '''set -e
    mount --make-rprivate / && mount --make-rshared /
    S=$("$0" create -q --runtime shell)
    trap '"$0" rm -f $S' EXIT
    "$0" exec $S -- true
    mount -t tmpfs sbx-abuse "$1" && echo planted > "$1/planted"
    test -f "$1/planted" && echo control
    "$0" exec $S -- cat "$1/planted" || echo unseen
    "$0" exec $S -- grep -c sbx-abuse /proc/self/mounts || echo unlisted
    "$0" exec $S -- sh -c 'mount -t tmpfs sbx-inner /tmp' || echo refused
    grep -q sbx-inner /proc/self/mounts || echo clean'''
    before = open('/proc/self/mountinfo').read()
    out = r.run(['unshare', '-m', 'sh', '-c', script, r.bin, '/usr/local/src']).out.split()
    for word in (b'control', b'unseen', b'unlisted', b'refused', b'clean'):
        check(word in out, 'not %s: %r' % (word.decode(), out))
    if open('/proc/self/mountinfo').read() != before:
        raise Refused('the mounts of the host have changed')


if __name__ == '__main__':
    raise SystemExit(rig.main())

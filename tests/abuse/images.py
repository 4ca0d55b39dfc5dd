"""A root file system that was made to lead the host astray (test 15)."""
import hashlib
import os
import shutil
import stat

import rig
from rig import Lacks, check, test

BUSYBOX = shutil.which('busybox') or '/bin/busybox'
CORE = '/proc/sys/kernel/core_pattern'


def root_of(r, name):
    """A small root file system of the caller's, without what is to be planted."""
    if not os.path.exists(BUSYBOX):
        raise Lacks('no static busybox')
    root = os.path.join(r.scratch, name)
    os.makedirs(root + '/bin')
    shutil.copyfile(BUSYBOX, root + '/bin/busybox')
    os.chmod(root + '/bin/busybox', 0o755)
    for word in ('sh', 'cat', 'ls', 'stat', 'readlink', 'id', 'echo'):
        os.symlink('busybox', root + '/bin/' + word)
    return root


def give(r, root):
    if r.who():
        for top, dirs, files in os.walk(root):
            for n in ['.', *dirs, *files]:
                os.lchown(os.path.join(top, n), rig.USER, rig.USER)


def tree(path):
    """Everything that can be changed in a directory, without following a link."""
    out = []
    for top, dirs, files in os.walk(path):
        for n in sorted(['.', *dirs, *files]):
            st = os.lstat(os.path.join(top, n))
            out.append((top, n, st.st_mode, st.st_uid, st.st_mtime_ns, st.st_ctime_ns, st.st_size))
            if stat.S_ISREG(st.st_mode):
                with open(os.path.join(top, n), 'rb') as f:
                    out.append(hashlib.sha256(f.read()).hexdigest())
    return out


def plants(host):
    """{name: {path: link text, or None for a file}}"""
    up = '../../../../../../../../..'
    return {
        'dev is /': {'dev': '/'},
        'dev is the host': {'dev': host},
        'dev/null is core_pattern': {'dev/null': CORE},
        'dev/pts is the host': {'dev/pts': host, 'dev/shm': up + host},
        'dev/console is the host': {'dev/console': host + '/console', 'dev/ptmx': host + '/ptmx'},
        'proc is the host': {'proc': host},
        'proc is a file': {'proc': None},
        'sys is up': {'sys': up + host},
        'etc is up': {'etc': '../../..'},
        'etc is the host': {'etc': up + host},
        'etc/passwd is the host': {'etc/passwd': host + '/passwd', 'etc/group': up + host + '/group',
                                   'etc/resolv.conf': '/proc/self/fd/5', 'etc/hosts': CORE},
        'tmp is the host': {'tmp': host, 'var/tmp': host},
        'var is the host': {'var': host},
        'run is the host': {'run': up + host},
        'run/sbx is the host': {'run/sbx': host},
        'home is the host': {'home': host},
        'home/sandbox is the host': {'home/sandbox': host, 'workspace': host},
        'workspace is a file': {'workspace': None},
        'usr is the host': {'usr': host, 'lib': '/proc/1/root', 'lib64': up},
        'bin/bash is the host': {'bin/bash': '/proc/self/exe', 'bin/python3': host + '/python3'},
    }


def planted(r, root, what):
    for path, to in what.items():
        where = os.path.join(root, path)
        os.makedirs(os.path.dirname(where), exist_ok=True)
        if to is None:
            with open(where, 'w') as f:
                f.write('a file\n')
        else:
            os.symlink(to, where)
    give(r, root)


LOOK = '''echo mine >/tmp/mine && echo mine >/workspace/mine && echo mine >/home/sandbox/mine &&
echo mine >/var/tmp/mine && echo mine >/dev/shm/mine && echo x >/dev/null && cat /dev/null &&
cat /etc/passwd && ls /run/sbx && cat /proc/self/status >/dev/null && ls -A /sys
for f in /dev/null /dev/tty; do stat -c "%n %F" $f; done
for d in /proc /sys /dev /etc /tmp /run /var /home /workspace; do stat -c "%n %F" $d; done
echo x 2>/dev/null >/etc/passwd; echo x 2>/dev/null >/dev/console; echo x 2>/dev/null >/usr/new
ls / /usr/ /lib/ 2>/dev/null'''


@test(15, '-', 'links that a root file system has in the place of /dev, /proc, /etc … lead nowhere')
def links(r):
    host = os.path.join(r.scratch, 'canary')
    os.mkdir(host)
    for n in ('note', 'passwd', 'group', 'console', 'ptmx', 'python3'):
        with open(os.path.join(host, n), 'w') as f:
            f.write('a secret of the host\n')
        # Whoever follows a link here could also write.
        os.chmod(os.path.join(host, n), 0o777)
    os.chmod(host, 0o777)
    give(r, host)
    with open(CORE) as f:
        core = f.read()
    before = tree(host)
    for n, (name, what) in enumerate(plants(host).items()):
        root = root_of(r, 'image%d' % n)
        planted(r, root, what)
        image = tree(root)
        made = r.sbx('create', '-q', '--runtime', 'dir:' + root, ok=False)
        if made.code:
            check(made.err.count(b'\n') == 1 and b'dir:' in made.err, '%s: refused: %r' % (name, made.err))
            rig.say('%s: refused: %s' % (name, made.err.decode().strip()))
            continue
        s = made.out.decode().strip()
        got = r.sbx('exec', s, '--', 'sh', '-c', LOOK, ok=False)
        r.sbx('exec', s, '--lang', 'python', '-c', '1', ok=False)
        r.sbx('exec', s, '-c', 'echo 1', ok=False)
        r.sbx('rm', '-f', s)
        out = got.out.decode()
        check('sandbox:x:1000' in out, '%s: %r %r' % (name, out, got.err))
        check('secret' not in out and 'note' not in out and 'python3' not in out.split(),
              '%s: the host was seen: %s' % (name, out))
        for path in ('/proc', '/sys', '/dev', '/etc', '/tmp', '/run', '/var', '/home', '/workspace'):
            check(path + ' directory' in out, '%s: %s is no directory: %s' % (name, path, out))
        for path in ('/dev/null', '/dev/tty'):
            check(path + ' character special file' in out, '%s: %s: %s' % (name, path, out))
        check(tree(root) == image, '%s: the image was changed' % name)
        check(tree(host) == before, '%s: the canary was changed' % name)
        shutil.rmtree(root)
    with open(CORE) as f:
        check(f.read() == core, 'core_pattern was changed')
    # The control: whoever follows the links does reach the canary.
    root = root_of(r, 'control')
    planted(r, root, {'tmp': host})
    check(os.path.exists(root + '/tmp/note'), 'the links lead nowhere anyway')


@test(15, '-', 'device nodes, set-user-id programs and overlay attributes of a root file system count for nothing',
      modes=('root',))
def special(r):
    if not rig.IS_ROOT:
        raise Lacks('making devices needs root')
    root = root_of(r, 'special')
    os.makedirs(root + '/workspace')
    os.mknod(root + '/workspace/mem', 0o666 | stat.S_IFCHR, os.makedev(1, 1))
    os.mknod(root + '/workspace/zero', 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    os.mknod(root + '/workspace/gone', 0o666 | stat.S_IFCHR, os.makedev(0, 0))
    shutil.copyfile(BUSYBOX, root + '/bin/busybox-suid')
    os.chmod(root + '/bin/busybox-suid', 0o6755)
    os.makedirs(root + '/opt/redirected')
    for n, v in (('redirect', b'/etc'), ('opaque', b'y'), ('metacopy', b''), ('origin', b'\0' * 29)):
        try:
            os.setxattr(root + '/opt/redirected', 'user.overlay.' + n, v)
        except OSError as e:
            raise Lacks('no user attributes here: %s' % e)
    made = r.sbx('create', '-q', '--runtime', 'dir:' + root, ok=False)
    check(made.code == 0, 'create: %r' % made.err)
    s = made.out.decode().strip()
    out = r.sbx('exec', s, '--', 'sh', '-c', 'cat /workspace/zero; cat /workspace/mem; busybox-suid id; ls /opt/redirected; '
                'ls /workspace', ok=False)
    r.sbx('rm', '-f', s)
    check(b'uid=1000(sandbox) gid=1000(sandbox)' in out.out and b'euid' not in out.out, 'who: %r' % out.out)
    check(out.err.count(b"can't open '/workspace/") == 2, 'devices: %r' % out.err)
    check(b'passwd' not in out.out, 'a redirect was followed: %r' % out.out)
    check(b'zero' in out.out and b'gone' not in out.out, 'names: %r' % out.out)


if __name__ == '__main__':
    raise SystemExit(rig.main())

"""Devices, terminals and the rarer system calls (tests 28 to 42)."""
import ctypes
import os
import pty
import select
import struct
import termios

import rig
from rig import INSIDE, Try, check, test
from namespaces import weak

CHAR, BLOCK, WHITEOUT = 0o020600, 0o060600, 0o020000
MEM, DISK, KVM = 0x101, 0x800, 0xae8
HIGH = 1 << 32


@test(28, 'mknod_char mknod_block mknod_whiteout', 'no device node can be made')
def nodes(r):
    tries = [Try('char', "mknodat -100 'm1 %d %d" % (CHAR, MEM), ('EPERM',), 'root'),
             Try('block', "mknodat -100 'm2 %d %d" % (BLOCK, DISK), ('EPERM',), 'root'),
             Try('kvm', "mknodat -100 'm3 %d %d" % (CHAR, KVM), ('EPERM',), 'root'),
             Try('whiteout', "mknodat -100 'm4 %d 0" % WHITEOUT, ('EPERM',), 'userns'),
             Try('old-char', "mknod 'm5 %d %d" % (CHAR, MEM), ('EPERM',), 'root'),
             Try('old-whiteout', "mknod 'm6 %d 0" % WHITEOUT, ('EPERM',), 'userns')]
    for place in ('/tmp', '/dev/shm', '/home/sandbox', '/dev', '/'):
        for name, mode, number in (('char', CHAR, MEM), ('block', BLOCK, DISK),
                                   ('whiteout', WHITEOUT, 0)):
            tries.append(Try('%s-%s' % (name, place), "mknodat -100 '%s/m %d %d" % (
                place, mode, number), ('EPERM',), ''))
    s = r.plain()
    rig.refusals(r, s, tries)
    fifo = s.sh('mkfifo fifo && rm fifo', ok=False)
    check(fifo.code == 0, 'a FIFO cannot be made either: %r' % fifo.err)


DEVICES = ['kmsg', 'mem', 'port', 'kvm', 'fuse', 'net/tun', 'loop-control', 'vsock', 'userfaultfd',
           'console', 'tty0', 'ttyS0', 'vda', 'sda', 'loop0', 'input/event0', 'vhost-vsock', 'dri/card0']


@test(29, 'dev_mem dev_kmsg dev_kvm dev_fuse dev_tun dev_vsock dev_console dev_loop dev_userfaultfd',
      'no device of the host is there')
def devices(r):
    found = r.plain().probe('open', *['/dev/%s:r' % d for d in DEVICES])
    check(all(v[0] == 'ENOENT' for v in found.values()), 'there is: %r' % {
        k: v for k, v in found.items() if v[0] != 'ENOENT'})
    check(len(found) == len(DEVICES), 'not all were tried')
    check(any(os.path.exists('/dev/' + d) for d in DEVICES), 'the control: the host has none')


READ_ONLY = ('/usr', '/usr/bin', '/dev', '/sys', '/run/sbx')


@test(29, 'write_root write_etc truncate_etc write_usr write_dev write_sys write_drivers',
      'the places of the system cannot be written')
def places(r):
    def create(place):
        no = ('EROFS', 'EACCES', 'EPERM') + (('ENOENT',) if place.startswith('/proc') else ())
        # Where the mount itself refuses, nothing else is asked.
        return Try(place, "openat -100 '%s/sbx-abuse 0x241 0600" % place,
                   ('EROFS',) if place in READ_ONLY else no, '')
    closed = ['', '/etc', '/usr', '/usr/bin', '/dev', '/dev/pts', '/sys', '/run', '/run/sbx', '/proc',
              '/proc/sys', '/var', '/var/lib', '/home', '/root', '/opt', '/mnt']
    s = r.plain()
    rig.refusals(r, s, [create(p)._replace(name=p or '/') for p in closed])
    # To read, and cut off: 0x200 is O_TRUNC alone.
    more = [Try('open-truncate-passwd', "openat -100 '/etc/passwd 0x200 0", ('EROFS', 'EACCES', 'EPERM'), ''),
            Try('truncate-passwd', "truncate '/etc/passwd 0", ('EROFS', 'EACCES', 'EPERM'), ''),
            Try('unlink-passwd', "unlinkat -100 '/etc/passwd 0", ('EROFS', 'EACCES', 'EPERM'), ''),
            Try('chmod-usr', "fchmodat -100 '/usr/bin/env 0777", ('EROFS', 'EACCES', 'EPERM'), ''),
            Try('link-env', "linkat -100 '/usr/bin/env -100 '/workspace/env 0",
                ('EROFS', 'EACCES', 'EPERM', 'EXDEV'), '')]
    rig.refusals(r, s, more)
    free = s.probe('calls', *['%s %s' % (p, create(p).call) for p in (
        '/workspace', '/home/sandbox', '/tmp', '/var/tmp', '/dev/shm')])
    check(all(v[0] == 'OK' for v in free.values()), 'the control is refused: %r' % free)


def terminal_tries(place):
    return ['sti-%s ioctl %s 0x5412 \'x' % (place[:3], place),
            'sti-high-%s ioctl %s %d \'x' % (place[:3], place, HIGH | 0x5412)]


@test(30, 'tiocsti tiocsti_high_bits', 'nothing can be typed into a terminal')
def push_input(r):
    s = r.plain()
    rig.refusals(r, s, [Try('fd%d' % fd, "ioctl %d 0x5412 'x" % fd, ('EPERM',), 'user')
                        for fd in (0, 1, 2)] +
                 [Try('high%d' % fd, "ioctl %d %d 'x" % (fd, HIGH | 0x5412), ('EPERM',), 'user')
                  for fd in (0, 1, 2)])
    # On a terminal of the caller, whose shell would read what was typed.
    master, slave = pty.openpty()
    try:
        mode = termios.tcgetattr(slave)
        mode[3] &= ~(termios.ICANON | termios.ECHO)
        termios.tcsetattr(slave, termios.TCSANOW, mode)
        words = [w for place in ('0', '1', 'rw:/dev/tty') for w in terminal_tries(place)]
        for options in ([], ['-t'], ['-i'], ['-i', '-t']):
            p = r.start([r.bin, 'exec', s.id, *options, '--', INSIDE, 'calls', *words],
                        stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
            out = b''
            while p.poll() is None or select.select([master], [], [], 0)[0]:
                if select.select([master], [], [], 0.05)[0]:
                    out += os.read(master, 65536)
            found = {k: v[0] for k, v in rig.parse(out).items() if k.startswith('sti')}
            check(len(found) == len(words), '%r: %r' % (options, out))
            check(set(found.values()) <= {'EPERM', 'ENOTTY', 'ENXIO', 'ENODEV'},
                  '%r: %r' % (options, found))
            check(not select.select([slave], [], [], 0.05)[0], 'the shell of the caller has input')
        # Control: what is typed there is seen.
        os.write(master, b'y')
        check(select.select([slave], [], [], 1)[0], 'the control: nothing can be read')
    finally:
        os.close(master)
        os.close(slave)


@test(31, 'tioclinux tiocsetd', 'no console call and no line discipline')
def console(r):
    s = r.plain()
    tries = [('linux', 0x541c, ('EPERM',), 'user'), ('setd', 0x5423, ('EPERM',), 'user'),
             ('linux-high', HIGH | 0x541c, ('EPERM',), 'user'),
             ('setd-high', HIGH | 0x5423, ('EPERM',), 'user'),
             ('keymap', 0x4b47, ('EPERM', 'ENOTTY'), ''), ('activate', 0x5606, ('EPERM', 'ENOTTY'), '')]
    rig.refusals(r, s, [Try(n, 'ioctl 0 %d d:13,0' % call, no, where)
                        for n, call, no, where in tries])
    words = ['%s ioctl 0 %d d:13,0' % (n, call) for n, call, _, _ in tries]
    found = rig.parse(s.exec(INSIDE, 'calls', *words, options=['-t']).out)
    check(len(found) == len(words) and {v[0] for v in found.values()} <= {'EPERM', 'ENOTTY'},
          'on a terminal: %r' % found)


@test(32, 'syslog', 'the log of the kernel is neither read nor cleared')
def kernel_log(r):
    rig.refusals(r, r.plain(), [
        Try('read', 'syslog 3 buf:1024 1024', ('EPERM',), 'root'),
        Try('size', 'syslog 10 null 0', ('EPERM',), 'root'),
        Try('clear', 'syslog 5 null 0', ('EPERM',), '')])


ADD_KEY, KEYCTL, JOIN, SESSION = {
    'x86_64': (248, 250), 'aarch64': (217, 219)}.get(os.uname().machine, (0, 0)) + (1, -3)


def plant_key():
    """In a child: a session keyring of its own, with a key that whoever inherits it finds."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    call(KEYCTL, JOIN, None)
    call(ADD_KEY, b'user', b'sbx-planted', b'secret', ctypes.c_size_t(6), SESSION)


@test(33, 'keyctl', 'a key of the caller is not found')
def key_of_the_caller(r):
    if not KEYCTL:
        raise rig.Lacks('the numbers of these calls are not known here')
    search = "search keyctl 10 -3 'user 'sbx-planted 0"
    free = rig.parse(r.run([r.helper, 'calls', search], preexec_fn=plant_key).out)
    if free['search'][0] in ('ENOSYS', 'EDQUOT'):
        raise rig.Lacks('no keys here: %s' % free['search'][0])
    check(free['search'][0] == 'OK', 'the control does not find it: %r' % free)
    s = r.session(preexec_fn=plant_key)
    found = s.probe('calls', search)
    check(found['search'][0] in ('EPERM', 'ENOKEY', 'EACCES'), 'it was found: %r' % found)


@test(33, 'keyctl add_key request_key', 'no key is made, asked for or read')
def keys(r):
    rig.refusals(r, r.plain(), [
        Try('keyctl', 'keyctl 0 -3 0', ('EPERM',), 'user'),
        Try('join', 'keyctl 1 null', ('EPERM',), 'user'),
        Try('read', 'keyctl 11 -3 buf:64 64', ('EPERM',), 'user'),
        Try('add_key', "add_key 'user 'sbx-abuse buf:8 8 -2", ('EPERM',), 'user'),
        Try('request_key', "request_key 'user 'sbx-abuse-none null 0", ('EPERM',), 'user')])


@test(34, 'bpf perf_event userfaultfd io_uring fanotify memfd_secret',
      'calls with a bad past do not exist')
def rare(r):
    no = ('ENOSYS',)
    rig.refusals(r, r.plain(), [
        Try('bpf', 'bpf 5 buf:128 128', no, 'user'),
        Try('bpf-map', 'bpf 0 buf:128 128', no, 'user'),
        Try('perf', 'perf_event_open buf:128 0 -1 -1 0', no, 'user'),
        Try('userfaultfd', 'userfaultfd 0', no, 'user'),
        Try('userfaultfd-user', 'userfaultfd 1', no, 'user'),
        Try('io_uring', 'io_uring_setup 1 buf:120', no, 'user'),
        Try('io_uring-enter', 'io_uring_enter -1 0 0 0 null 0', no, 'user'),
        Try('io_uring-register', 'io_uring_register -1 0 null 0', no, 'user'),
        Try('fanotify', 'fanotify_init 4 0', no, 'user'),
        Try('memfd_secret', 'memfd_secret 0', no, 'user'),
        Try('file_setattr', "file_setattr -100 '/nowhere null 0 0", no, 'user'),
        Try('lookup_dcookie', 'lookup_dcookie 0 null 0', no, 'user')])


@test(35, 'init_module finit_module delete_module kexec reboot swapon acct quotactl',
      'nothing of the machine can be switched')
def machine(r):
    no = ('EPERM',)
    rig.refusals(r, r.plain(), [
        Try('init', "init_module null 0 '", no, 'root'),
        Try('finit', "finit_module -1 ' 0", no, 'root'),
        Try('delete', "delete_module 'sbx_abuse_none 0x800", no, 'root'),
        Try('kexec', 'kexec_load 0 0 null 0xff00', ('ENOSYS',), 'user'),
        Try('kexec_file', "kexec_file_load -1 -1 0 ' 0xff00", ('ENOSYS',), 'user'),
        Try('reboot', 'reboot 0 0 0 null', no, 'root'),
        Try('swapon', "swapon '/nowhere 0", no, 'root'),
        Try('swapoff', "swapoff '/nowhere", no, 'root'),
        Try('acct', "acct '/nowhere", no, 'root'),
        Try('quotactl', "quotactl 0x80000700 '/nowhere 0 null", ('ENOSYS',), 'user'),
        Try('quotactl_fd', 'quotactl_fd -1 0 0 null', ('ENOSYS',), 'user'),
        Try('migrate', 'migrate_pages 0x3fffffff 0 null null', no, 'user'),
        Try('move_pages', 'move_pages 0x3fffffff 0 null null null 0', no, 'user'),
        Try('mbind', 'mbind null 0 0 null 0 0', no, 'user'),
        Try('set_mempolicy', 'set_mempolicy 0 null 0', no, 'user')])


@test(36, 'clock_settime adjtimex sethostname', 'neither clock nor name of the machine is set')
def clock_and_name(r):
    no, before = ('EPERM',), os.uname().nodename
    rig.refusals(r, r.plain(), [
        # With nanoseconds that no kernel takes.
        Try('clock', 'clock_settime 0 q:0,9999999999', no, 'user'),
        Try('timeofday', 'settimeofday q:0,9999999999 null', no, 'user'),
        Try('adjtimex', 'adjtimex buf:256', no, 'user'),
        Try('clock_adjtime', 'clock_adjtime 0 buf:256', no, 'user'),
        Try('hostname', "sethostname 'x -1", no, 'userns'),
        Try('domainname', "setdomainname 'x -1", no, 'userns'),
        Try('vhangup', 'vhangup', no, '')])
    check(os.uname().nodename == before, 'the name of the host has changed')


@test(37, 'iopl ioperm modify_ldt personality', 'no ports, no segments, no other personality')
def machine_calls(r):
    rig.refusals(r, r.plain(), [
        Try('iopl', 'iopl 4', ('EPERM',), 'user'),
        Try('iopl-3', 'iopl 3', ('EPERM',), ''),
        Try('ioperm', 'ioperm 0x10000000 1 1', ('EPERM',), 'user'),
        Try('ldt', 'modify_ldt 0 buf:64 64', ('ENOSYS',), 'user'),
        Try('personality', 'personality 8', ('EPERM',), 'user'),
        Try('personality-read-exec', 'personality 0x0400000', ('EPERM',), 'user')])
    free = r.plain().probe('calls', 'ask personality 0xffffffff', 'none personality 0')
    check(all(v[0] == 'OK' for v in free.values()), 'asking is refused too: %r' % free)


def program_i386(code):
    """ELF header, one program header, and: mov $1, %eax; mov $code, %ebx; int $0x80"""
    base, size = 0x08048000, 52 + 32 + 12
    head = b'\x7fELF\1\1\1' + bytes(9) + struct.pack('<HHIIIIIHHHHHH', 2, 3, 1, base + 84, 52, 0, 0, 52, 32,
                                                      1, 40, 0, 0)
    load = struct.pack('<IIIIIIII', 1, 0, base, base, size, size, 5, 0x1000)
    return head + load + b'\xb8\1\0\0\0\xbb' + struct.pack('<I', code) + b'\xcd\x80'


@test(38, 'x32 int80 unknown_call', 'calls of other machines, and unknown ones, lead nowhere')
def foreign(r):
    s = r.plain()
    found, free = s.probe('foreign'), r.outside('user', 'foreign')
    if 'none' in found:
        raise rig.Lacks('no other machine')
    check(len(found) > 5, 'not all were tried: %r' % found)
    check({v[0] for v in found.values()} <= {'SIGSYS', 'ENOSYS'}, 'reached: %r' % found)
    if free['i386-getpid'][0] == 'ENOSYS' or free['i386-getpid'][0] == 'SIGNAL':
        rig.say('this kernel has no i386 calls')
    else:
        check(free['i386-getpid'][0] == 'OK', 'the control: %r' % free)
    got = s.probe('calls', 'unknown unknown')
    check(got['unknown'][0] == 'ENOSYS', 'an unknown call: %r' % got)
    # A whole program of that machine: exit(42).
    path = os.path.join(r.scratch, 'program-i386')
    with open(path, 'wb') as f:
        f.write(program_i386(42))
    os.chmod(path, 0o755)
    s.put('/workspace/program-i386', path)
    code = s.exec('/workspace/program-i386', ok=False).code
    check(code in (126, 128 + 31), 'it ran: exit %d' % code)
    if free['i386-getpid'][0] == 'OK':
        check(r.run([path]).code == 42, 'the control does not run')


@test(39, 'vsock_high_bits clone_high_bits tiocsti_high_bits core_limit_set',
      'bits that the kernel ignores do not hide a call')
def high_bits(r):
    rig.refusals(r, r.plain(), [
        Try('vsock', 'socket %d 1 0' % (HIGH | 40), ('EAFNOSUPPORT',), 'user'),
        Try('packet', 'socket %d 3 0' % (HIGH | 17), ('EAFNOSUPPORT',), 'userns'),
        Try('raw', 'socket %d %d 1' % (HIGH | 2, HIGH | 3), ('EPERM',), 'userns'),
        Try('pair', 'socketpair %d 1 0 buf:8' % (HIGH | 40), ('EAFNOSUPPORT',), 'user'),
        Try('sti', "ioctl 0 %d 'x" % (HIGH | 0x5412), ('EPERM',), 'user'),
        Try('clone-user', 'clone %d 0 0 0 0' % (HIGH | 0x10000000 | 17), ('EPERM',), 'userns'),
        Try('clone-net', 'clone %d 0 0 0 0' % (HIGH | 0x40000000 | 17), ('EPERM',), 'userns'),
        Try('unshare', 'unshare %d' % (HIGH | 0x20000), ('EPERM',), 'userns'),
        Try('core', 'prlimit64 0 %d q:0,0 null' % (HIGH | 4), ('EPERM',), 'user'),
        Try('core-old', 'setrlimit %d q:0,0' % (HIGH | 4), ('EPERM',), 'user'),
        Try('core-plain', 'prlimit64 0 4 q:0,0 null', ('EPERM',), 'user'),
        Try('whiteout', "mknodat -100 'high %d 0" % (HIGH | WHITEOUT), ('EPERM',), 'userns'),
        Try('personality', 'personality %d' % (HIGH | 8), ('EPERM',), 'user')])


@test(40, 'open_by_handle name_to_handle', 'no file is opened by a handle (shocker)')
def handles(r):
    # The root directory of most file systems is inode 2; 1 is FILEID_INO32_GEN.
    tries = [Try('inode-%d' % n, 'open_by_handle_at path:/ d:8,1,%d,0 0x10000' % n, ('EPERM',),
                 'root') for n in (2, 64, 128, 256)]
    tries += [Try('etc', 'open_by_handle_at path:/usr d:8,1,2,0 0', ('EPERM',), 'root'),
              Try('name', "name_to_handle_at -100 '/ d:128,0 buf:8 0", ('EPERM',), 'user')]
    rig.refusals(r, r.plain(), tries)


@test(41, 'statmount listmount', 'mounts are not asked for by number')
def mounts(r):
    rig.refusals(r, r.plain(), [
        Try('statmount', 'statmount null null 0 0', ('ENOSYS',), 'user'),
        Try('listmount', 'listmount null null 0 0', ('ENOSYS',), 'user')])


@test(42, 'caps_zero no_new_privs seccomp_mode', 'a program in anonymous memory is as confined')
def anonymous(r):
    out = r.plain().probe('by-memfd')
    check(out['memfd'][0] == 'OK' and out['mmap-rwx'][0] == 'OK', 'not allowed: %r' % out)
    check('CapEff' in out, 'it did not run: %r' % out)
    check(not weak(out), '; '.join(weak(out)))
    check(len(weak(r.outside('userns', 'by-memfd'))) > 4, 'the control has no rights either')


if __name__ == '__main__':
    raise SystemExit(rig.main())

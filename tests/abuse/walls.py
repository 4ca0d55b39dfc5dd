"""With a wall off, the tests that carry its key go red, and doctor says that it does not hold.

    walls.py root|user SBX-WALLS-OFF INSIDE [KEY…]

A test that stays green without what it tests proves nothing. The program is the one of
-Dwalls_off=true, in which walls can be switched off by name (lib/jail/walls.h):

    call.NAME  the filter's rules for a system call; call.unknown, call.foreign: its two defaults
    KIND.PATH  an operation of the plan: mask.kcore, lock, keyring, no_userns, sweep, …
    caps securebits no_new_privs seccomp landlock dumpable sealed core nosuid readonly dev nested
    net ipc uts cgroup close_range close_on_exec magic_links
               what its name says

Where two walls guard the same, one off alone must still hold: that is tried, too.
"""
import ctypes
import json
import os
import subprocess
import sys
import time

import rig
from rig import Refused, check

GROUPS = ['binary', 'proc', 'namespaces', 'devices', 'network', 'resources', 'paths', 'images', 'lifecycle']

# Key of doctor: what has to be off, so that its tests go red. Of two modes: root, user.
WALLS = {
    'caps_zero': 'caps', 'no_new_privs': 'no_new_privs', 'seccomp_mode': 'seccomp',
    'securebits': 'securebits', 'nested_pids': 'nested', 'pid_isolation': 'nested',
    'descriptors': 'close_range close_on_exec', 'own_exe_write': 'sealed',
    'core_pattern': 'lock', 'modprobe': 'lock', 'max_userns_write': 'lock', 'sysrq': 'mask',
    'proc_masks': 'mask', 'mount_flags': 'nosuid sweep', 'setid_bits': 'nosuid sweep',
    'write_root': ('landlock caps', 'landlock'), 'write_etc': ('landlock caps', 'landlock'),
    'truncate_etc': ('landlock caps', 'landlock'),
    'write_usr': 'readonly sweep', 'write_dev': 'readonly sweep', 'write_sys': 'readonly sweep',
    'write_drivers': 'readonly sweep',
    'network_unreachable': 'net', 'network_interfaces': 'net', 'userns_nested': 'no_userns',
    'core_limit': 'core', 'kill_init': 'nested landlock',
    'limits_of_init': ('call.prlimit64 caps', 'call.prlimit64'),
    'set_uid': 'caps', 'set_gid': 'caps', 'set_groups': 'caps', 'chown_root': 'caps',
    'int80': 'call.foreign',
}
# What a host may not have: nothing can show then.
FILES = {'sysrq': '/proc/sysrq-trigger'}
# Process 1 is not looked into: it has capabilities that the payload lacks, and is not dumpable.
for _key in ('environ', 'mem', 'maps', 'exe', 'root', 'cwd', 'fd', 'auxv', 'ns', 'stack'):
    WALLS['init_' + _key] = ('caps', 'caps dumpable')
for _key in ('mem', 'kmsg', 'kvm', 'fuse', 'tun', 'vsock', 'console', 'loop', 'userfaultfd'):
    WALLS['dev_' + _key] = 'dev sweep'
    FILES['dev_' + _key] = '/dev/' + {'tun': 'net/tun', 'loop': 'loop-control'}.get(_key, _key)
# Key: the call whose rules it is about, where that is not its name.
CALLS = {
    'umount': 'umount2', 'mount_bind': 'mount', 'mount_remount': 'mount', 'unshare_user': 'unshare',
    'unshare_mount': 'unshare', 'unshare_net': 'unshare', 'clone_user': 'clone', 'clone_pid': 'clone',
    'clone_high_bits': 'clone', 'ptrace_init': 'ptrace', 'vm_read_init': 'process_vm_readv',
    'perf_event': 'perf_event_open', 'io_uring': 'io_uring_setup', 'fanotify': 'fanotify_init',
    'kexec': 'kexec_load', 'name_to_handle': 'name_to_handle_at',
    'open_by_handle': 'open_by_handle_at', 'mknod_char': 'mknodat', 'mknod_block': 'mknodat',
    'mknod_whiteout': 'mknodat', 'tiocsti': 'ioctl', 'tiocsti_high_bits': 'ioctl',
    'tioclinux': 'ioctl', 'tiocsetd': 'ioctl', 'core_limit_set': 'prlimit64', 'vsock': 'socket', 'vsock_high_bits': 'socket',
    'packet_socket': 'socket', 'alg_socket': 'socket', 'raw_socket': 'socket',
    'raw_socket_flags': 'socket', 'netlink_audit': 'socket', 'netlink_netfilter': 'socket',
}
# What else refuses the call: without the filter, the kernel asks for a capability; Landlock
# forbids whoever it holds to change mounts.
ALSO = {
    'mount': 'caps landlock', 'mount_bind': 'caps landlock', 'mount_remount': 'caps landlock',
    'umount': 'caps landlock', 'pivot_root': 'caps landlock', 'chroot': 'caps', 'fsopen': 'caps',
    'open_tree': 'caps', 'move_mount': 'caps', 'mount_setattr': 'caps', 'unshare_mount': 'caps',
    'unshare_net': 'caps', 'clone_pid': 'caps', 'clone_high_bits': 'caps', 'sethostname': 'caps',
    'reboot': 'caps', 'raw_socket': 'caps', 'raw_socket_flags': 'caps',
    'kcmp': 'caps',
}
# Tests that have more than one reason to go red: with one of their walls off they do already.
EAGER = {'mount', 'mount_bind', 'mount_remount', 'unshare_mount', 'unshare_net', 'clone_pid',
         'clone_high_bits', 'raw_socket', 'raw_socket_flags', 'kcmp', 'packet_socket', 'write_root',
         'write_etc', 'truncate_etc', 'umount'} | {k for k in WALLS if k.startswith('init_')}
# Refused by the kernel without any wall of ours: only the initial namespace has the right, or
# the call is unknown to it. That our filter has a rule too is tested by unit/test-seccomp.
KERNEL = {
    'swapon': 'CAP_SYS_ADMIN of the host', 'acct': 'CAP_SYS_PACCT of the host',
    'syslog': 'CAP_SYSLOG of the host', 'realtime': 'CAP_SYS_NICE of the host',
    'nice': 'CAP_SYS_NICE of the host', 'kexec': 'no kexec, or CAP_SYS_BOOT of the host',
    'x32': 'not built in', 'unknown_call': 'there is none',
}
# The test goes red, and doctor, which tries one thing, has it refused for another reason.
UNSEEN = {
    'kill_init': 'no signal from inside ends process 1', 'ptrace_init': 'process 1 is not traced without capabilities',
    'alg_socket': 'no such sockets in many kernels', 'mknod_whiteout': 'Landlock',
}
UNSEEN_AS_USER = {'set_uid': 'id 0 is not mapped', 'set_gid': 'id 0 is not mapped',
                  'chown_root': 'id 0 is not mapped', 'set_groups': 'with one id it is forbidden'}
# Walls without a key: what is off, the number of a test that goes red, in these modes.
OTHERS = [
    ('ipc', 22, ('root', 'user')), ('uts hostname', 22, ('root', 'user')),
    ('cgroup', 22, ('root', 'user')), ('keyring call.keyctl', 33, ('root', 'user')),
    ('inotify', 65, ('root', 'user')), ('magic_links caps', 5, ('root', 'user')),
    ('dumpable', 8, ('user',)),
]


class Walls:
    def __init__(self, mode, sbx, helper):
        self.mode = mode
        self.rig = rig.Rig(mode, sbx, helper)
        self.free = self.rig.outside
        self.rig.outside = self.outside
        self.seen, self.ran, self.controls = {}, {}, {}

    def outside(self, where, *words, **how):
        """The controls know nothing of walls: each is done once."""
        if words[0] != 'calls':
            return self.free(where, *words, **how)
        if (where, words) not in self.controls:
            self.controls[where, words] = self.free(where, *words, **how)
        return self.controls[where, words]

    def off_of(self, key):
        """The names of what has to be off."""
        off = WALLS.get(key)
        if off is None:
            off = 'call.' + CALLS.get(key, key) + ' ' + ALSO.get(key, '')
        if isinstance(off, tuple):
            off = off[self.mode == 'user']
        return tuple(off.split())

    def doctor(self, off):
        """{key: wall}; None when no jail could be made."""
        if off not in self.seen:
            self.rig.off = ','.join(off)
            found = json.loads(self.rig.sbx('doctor', '--json', ok=False).out)
            self.seen[off] = found.get('walls')
        return self.seen[off]

    def is_red(self, off, function):
        """Why a test failed; '' when it did not."""
        if (off, function) not in self.ran:
            self.rig.off = ','.join(off)
            state, reason = rig.run_one(self.rig, function)
            self.rig._plain = None
            self.rig.forget()
            self.ran[off, function] = reason.strip() if state == 'not ok' else ''
        return self.ran[off, function]

    def tests(self, key=None, number=None):
        return [f for n, keys, _, modes, f in rig._tests
                if self.mode in modes and (key in keys or n == number)]

    def redden(self, off, tests):
        """The first reason why one of the tests goes red."""
        check(self.doctor(off) is not None, 'no jail can be made without ' + ' '.join(off))
        reasons = (self.is_red(off, f) for f in tests)
        return next((r for r in reasons if r), '')

    def try_key(self, key):
        off, tests = self.off_of(key), self.tests(key)
        check(tests, 'no test carries it')
        if key == 'ptrace_init':
            off = off[:1]
        why = self.redden(off, tests)
        absent = key in FILES and not os.path.exists(FILES[key])
        if key not in KERNEL:
            check(why or absent, 'its tests are green without ' + ' '.join(off))
            unseen = key in UNSEEN or self.mode == 'user' and key in UNSEEN_AS_USER
            check(unseen or absent or not self.doctor(off)[key]['held'],
                  'doctor says that it holds without ' + ' '.join(off))
        # One of two is enough.
        for one in off if len(off) > 1 and key not in EAGER else ():
            rest = tuple(o for o in off if o != one)
            if self.doctor(rest) is None:
                continue
            left = self.redden(rest, tests)
            check(not left, '%s does not hold without %s: %s' % (one, ' '.join(rest), left[:300]))
        because = 'the host has none' if absent else 'the kernel: ' + KERNEL.get(key, '')
        return ' '.join(off) + ': ' + (why[:110] or because)

    def try_other(self, off, number):
        why = self.redden(off, self.tests(number=number))
        check(why, 'test %d is green' % number)
        return why[:110]

    def try_userns(self):
        """Without any filter the limit of the namespace still holds."""
        self.rig.off = 'seccomp'
        calls = ['unshare unshare 0x10000000', 'clone clone 0x10000011 0 0 0 0',
                 'clone3 clone3 q:0x10000000,0,0,0,17,0,0,0 64']
        found = self.rig.session().probe('calls', *calls)
        self.rig.forget()
        check(len(found) == 3 and {v[0] for v in found.values()} == {'ENOSPC'}, 'not refused: %r' % found)
        self.rig.off = 'seccomp,no_userns'
        free = self.rig.session().probe('calls', *calls)
        self.rig.forget()
        check(all(v[0] == 'OK' for v in free.values()), 'the control is refused: %r' % free)
        return 'ENOSPC'

    def try_sweep(self):
        """What is mounted too loosely is found before anything runs."""
        for off in ('nosuid', 'readonly'):
            self.rig.off = off
            got = self.rig.sbx('run', '--runtime', 'shell', '--', 'true', ok=False)
            check(got.code and b'mounted otherwise than the plan says' in got.err, '%s off: %d %r' % (off, got.code, got.err))
            self.rig.off = off + ',sweep'
            check(self.rig.sbx('run', '--runtime', 'shell', '--', 'true').code == 0, 'the control')
        return 'refused'


def private_network():
    """Without it, a jail without its network would talk to that of the machine."""
    if not rig.IS_ROOT:
        return
    # The host gets more than lo, and every address is its own.
    script = 'ip link set lo up && ip link add sbx0 type veth peer name sbx1 && ' \
        'ip route add local default dev lo && ip -6 route add local default dev lo'
    check(not ctypes.CDLL(None).unshare(0x40000000), 'no network of its own')
    subprocess.run(['sh', '-c', script], check=True)


def report(number, title, action, *words):
    """Whether it failed."""
    began = time.monotonic()
    try:
        said, state = action(*words), 'ok'
    except Refused as e:
        said, state = str(e), 'not ok'
    rig.say('%.1f s: %s' % (time.monotonic() - began, said))
    print('%s %d - %s' % (state, number, title))
    sys.stdout.flush()
    return state != 'ok'


def main():
    mode, sbx, helper = sys.argv[1:4]
    if mode == 'root' and not rig.IS_ROOT:
        print('1..0 # SKIP not run as root')
        return 0
    for group in GROUPS:
        __import__(group)
    private_network()
    w = Walls(mode, sbx, helper)
    letter, failed = 'R' if mode == 'root' else 'L', 0
    try:
        keys = list(w.doctor(()))
        actions = [('%s %s' % (letter, k), w.try_key, k) for k in keys]
        if not rig.IS_ROOT:
            actions = [a for a in actions if w.off_of(a[2]) != ('net',)]
            rig.say('only root can be spared the network of the machine: not tried')
        actions += [('%s no key: %s, test %d' % (letter, off, n), w.try_other, tuple(off.split()), n)
                    for off, n, modes in OTHERS if mode in modes]
        actions.append(('%s no key: what the sweep is for' % letter, w.try_sweep))
        actions.append(('%s no key: no user namespace without a filter either' % letter, w.try_userns))
        only = set(sys.argv[4:])
        actions = [a for a in actions if not only or only & set(map(str, a[2:]))]
        print('1..%d' % (len(actions) + 2))
        for number, action in enumerate(actions, 1):
            failed += report(number, *action)
        failed += report(len(actions) + 1, letter + ' every wall of the table is one of doctor\'s',
                         known, keys)
    finally:
        w.rig.off = ''
        # What could not be made is swept by the next command.
        rig.until(lambda: not os.listdir(w.rig.home + '/sessions') or w.rig.sbx('list', ok=False) and False, 5)
        left = w.rig.close()
    failed += report(len(actions) + 2, letter + ' nothing is left of these tests',
                     lambda: check(not any(left), repr(left)))
    return 1 if failed else 0


def known(keys):
    named = set(WALLS) | set(CALLS) | set(ALSO) | EAGER | set(KERNEL) | set(UNSEEN) | set(UNSEEN_AS_USER)
    check(named <= set(keys), 'unknown: ' + ' '.join(sorted(named - set(keys))))


if __name__ == '__main__':
    raise SystemExit(main())

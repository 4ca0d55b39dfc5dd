"""Whom code inside can talk to (tests 44 to 51)."""
import json
import os
import socket
import subprocess

import rig
from rig import INSIDE, Lacks, Try, check, test

NOWHERE = ('ENETUNREACH', 'ECONNREFUSED', 'EPERM', 'EACCES', 'EADDRNOTAVAIL', 'EHOSTUNREACH')


class Listeners:
    """TCP and UDP on both loopbacks; who came is counted."""

    def __init__(self):
        self.sockets = []
        for family, host in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')):
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                s = socket.socket(family, kind)
                try:
                    s.bind((host, 0))
                except OSError:
                    s.close()
                    continue
                if kind == socket.SOCK_STREAM:
                    s.listen(8)
                s.setblocking(False)
                name = 'tcp' if kind == socket.SOCK_STREAM else 'udp'
                self.sockets.append(('%s,%s,%d' % (name, host, s.getsockname()[1]), s))

    def came(self):
        found = []
        for name, s in self.sockets:
            try:
                if name.startswith('tcp'):
                    s.accept()[0].close()
                else:
                    s.recvfrom(64)
                found.append(name)
            except BlockingIOError:
                pass
        return found

    def close(self):
        for _, s in self.sockets:
            s.close()


@test(44, 'network_unreachable packet_socket alg_socket raw_socket raw_socket_flags',
      'nobody outside can be reached')
def unreachable(r):
    s, ears = r.plain(), Listeners()
    try:
        own = [name for name, _ in ears.sockets]
        far = ['%s,%s,%d' % (kind, host, port) for kind, port in (('tcp', 80), ('udp', 53))
               for host in ('1.1.1.1', '10.0.0.1', '169.254.169.254', 'fd00::1', '192.168.0.1',
                            '2606:4700:4700::1111')]
        far += ['icmp,1.1.1.1,0', 'raw,1.1.1.1,0', 'raw,fd00::1,0', 'icmp,fd00::1,0']
        found = s.probe('reach', *far, *own, seconds=60)
        bad = ['%s %s' % (k, v[0]) for k, v in found.items()
               # UDP to the jail's own loopback is sent, and heard by nobody.
               if v[0] not in NOWHERE and not (k in own and k.startswith('udp') and v[0] == 'OK')]
        check(len(found) == len(far) + len(own) and not bad, '; '.join(bad) or 'not all were tried')
        check(ears.came() == [], 'the host was reached')
        r.outside('user', 'reach', *own)
        check(sorted(ears.came()) == sorted(own), 'the control did not arrive')
    finally:
        ears.close()
    no = ('EAFNOSUPPORT',)
    rig.refusals(r, s, [
        Try('packet', 'socket 17 3 0', no, 'userns'), Try('packet-dgram', 'socket 17 2 0', no, 'userns'),
        Try('alg', 'socket 38 5 0', no, 'user'), Try('key', 'socket 15 3 2', no, 'userns'),
        Try('xdp', 'socket 44 3 0', no, 'userns'), Try('bluetooth', 'socket 31 3 0', no, 'user'),
        Try('tipc', 'socket 30 2 0', no, 'user'), Try('can', 'socket 29 3 1', no, 'user'),
        Try('raw', 'socket 2 3 1', ('EPERM',), 'userns'),
        Try('raw-flags', 'socket 2 0x80803 1', ('EPERM',), 'userns'),
        # A packet socket by its name of 1998.
        Try('packet-inet', 'socket 2 10 0x300', ('EPERM',), 'userns'),
        Try('packet-inet-flags', 'socket 2 0x8080a 0x300', ('EPERM',), 'userns'),
        Try('raw-6', 'socket 10 3 58', ('EPERM',), 'userns')])


@test(45, '-', 'no abstract socket of the host or of another session')
def abstract(r):
    a, b = r.plain(), r.session()
    name = '@sbx-abuse-%d' % os.getpid()
    host = r.start([r.helper, 'wait-at', name, '20'], stdout=subprocess.PIPE)
    check(b'OK' in host.stdout.readline(), 'the host cannot listen')
    got = a.probe('meet', name)
    check(got[name][0] == 'ECONNREFUSED', 'the host was met: %r' % got)
    check(r.outside('user', 'meet', name)[name][0] == 'OK', 'the control did not meet it')
    listener = r.start([r.bin, 'exec', a.id, '--', INSIDE, 'wait-at', name + 'a', '20'],
                       stdout=subprocess.PIPE)
    check(b'OK' in listener.stdout.readline(), 'a session cannot listen')
    got = b.probe('meet', name + 'a')
    check(got[name + 'a'][0] == 'ECONNREFUSED', 'two sessions met: %r' % got)
    # Control: within one execution it works.
    script = '%s wait-at %sb 10 & for i in 1 2 3 4 5 6 7 8 9; do sleep 0.1; %s meet %sb; done' % (
        INSIDE, name, INSIDE, name)
    out = a.sh(script, ok=False).out
    check(b'came OK' in out, 'the control: an execution does not meet itself: %r' % out)


@test(46, '-', 'no socket of the host is there, and none inside is connected to from the host')
def by_path(r):
    s = r.plain()
    path = os.path.join(r.scratch, 'docker.sock')
    host = r.start([r.helper, 'wait-at', path, '20'], stdout=subprocess.PIPE)
    check(b'OK' in host.stdout.readline(), 'the host cannot listen')
    paths = [path, '/run/dbus/system_bus_socket', '/var/run/docker.sock', '/run/docker.sock',
             '/run/systemd/private', '/run/user/0/bus', '/tmp/.X11-unix/X0']
    found = s.probe('meet', *paths)
    check({v[0] for v in found.values()} <= {'ENOENT', 'EACCES'}, 'there is: %r' % found)
    check(r.outside('user', 'meet', path)[path][0] == 'OK', 'the control did not meet it')
    # The other way round: names that the host uses, as sockets of the payload.
    ears = []
    for name in ('/workspace/ctl', '/tmp/ctl', '/workspace/lock'):
        ear = r.start([r.bin, 'exec', s.id, '--timeout', '20', '--', INSIDE, 'wait-at', name, '4'],
                      stdout=subprocess.PIPE)
        check(b'OK' in ear.stdout.readline(), 'cannot listen at ' + name)
        ears.append(ear)
    for words in (['list'], ['show', s.id], ['exec', s.id, '--', 'ls', '-l', '/workspace'],
                  ['exec', s.id, '-c', 'echo hello'], ['events', s.id]):
        r.sbx(*words, ok=False)
    for ear in ears:
        check(b'came ETIMEDOUT' in ear.communicate(timeout=20 * rig.SCALE)[0], 'somebody came')
    s.sh('rm -f /workspace/ctl /tmp/ctl /workspace/lock')


@test(47, 'vsock', 'no way to the hypervisor')
def vsock(r):
    # Made and never connected: outside, the socket alone shows that the control is one.
    rig.refusals(r, r.plain(), [
        Try('stream', 'socket 40 1 0', ('EAFNOSUPPORT',), 'user'),
        Try('dgram', 'socket 40 2 0', ('EAFNOSUPPORT',), 'user'),
        Try('seqpacket', 'socket 40 5 0', ('EAFNOSUPPORT',), 'user')])


@test(48, 'network_interfaces netlink_audit netlink_netfilter',
      'one interface, and of netlink only the routes')
def netlink(r):
    s = r.plain()
    lines = s.exec('cat', '/proc/net/dev').out.decode().splitlines()[2:]
    check([x.split(':')[0].strip() for x in lines] == ['lo'], 'interfaces: %r' % lines)
    no = ('EAFNOSUPPORT',)
    protocols = {'usersock': 2, 'sock_diag': 4, 'xfrm': 6, 'selinux': 7, 'audit': 9, 'connector': 11,
                 'netfilter': 12, 'uevent': 15, 'generic': 16, 'crypto': 21}
    rig.refusals(r, s, [Try(n, 'socket 16 3 %d' % p, no, 'userns' if n != 'usersock' else 'user')
                        for n, p in protocols.items()])
    free = s.probe('calls', 'route socket 16 3 0')
    check(free['route'][0] == 'OK', 'routes are refused too: %r' % free)
    with open('/proc/net/dev') as f:
        if len(f.readlines()) < 4:
            rig.say('the host has one interface too')


@test(51, 'descriptors', 'no payload and no interpreter holds a socket of ours')
def no_sockets(r):
    s = r.plain()
    found = s.probe('fds')
    check(not any('socket' in v[1] for v in found.values()), 'sockets: %r' % found)
    script = 'ls -l /proc/$$/fd | sed "s/.*-> //"'
    out = r.sbx('exec', s.id, '--lang', 'shell', '-c', script).out
    check(out and b'socket:' not in out, 'the shell of a context: %r' % out)
    if os.path.exists('/usr/bin/python3'):
        code = 'import os; print([os.readlink("/proc/self/fd/" + f) for f in os.listdir("/proc/self/fd")' \
            ' if os.path.lexists("/proc/self/fd/" + f)])'
        out = r.sbx('exec', s.id, '--lang', 'python', '-c', code).out
        check(b'pipe:' in out and b'socket:' not in out, 'an interpreter: %r' % out)
    # Control: a socket that is passed on shows.
    a, b = socket.socketpair()
    with a, b:
        out = r.run([r.helper, 'fds'], pass_fds=[a.fileno()]).out
        check(b'socket:' in out, 'the control: %r' % out)


# Writes to every pipe of the interpreter but its output: one of them is that of its answers.
SAY = '''import fcntl, os
def say(data):
    said = 0
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        try:
            if fd > 2 and os.readlink("/proc/self/fd/" + name).startswith("pipe:") and \\
                    fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY:
                os.write(fd, data)
                said += 1
        except OSError:
            pass
    if not said:
        raise SystemError("no pipe")
'''
HOSTILE = [
    ('garbage', 'say(os.urandom(300000))'),
    ('no newline', 'say(b"x" * 20000000)'),
    ('huge', 'say(b"result text/plain 18446744073709551615\\nx")'),
    ('negative', 'say(b"result text/plain -1\\nx")'),
    ('much', 'say(b"result text/plain 4000000000\\n" + b"x" * 200000000)'),
    ('many', 'for i in range(20000): say(b"log info 1\\nx")'),
    ('artifact', 'say(b"artifact text/plain 22\\n/../../../../etc/shadow"); say(b"artifact a/b 0\\n")'),
    ('other done', 'say(b"done exec_other ok 0 0\\n")'),
    ('ready again', 'say(b"ready 1 0\\n")'),
    ('unknown', 'say(b"launch missiles 3\\nabc")'),
    ('nul', 'say(b"done\\0 x 0\\n")'),
    ('many words', 'say(b"result " + b"a " * 30000 + b"1\\nx")'),
    ('json', 'say(b"result text/plain 12\\n\\",\\"status\\":\\"")'),
    ('closed', 'os.closerange(3, 64)'),
    ('dead', 'os.kill(os.getpid(), 9)'),
]


@test(51, '-', 'what an interpreter answers cannot hurt the supervisor')
def hostile_answers(r):
    if not os.path.exists('/usr/bin/python3'):
        raise Lacks('no python3 to answer in the name of')
    s = r.session()
    s.alive('before')
    first = rig.until(lambda: [p for p, w in rig.processes_of(s.id) if b'supervisor' in w], 3)
    check(len(first) == 1, 'supervisors: %r' % first)
    states = {}
    for name, code in HOSTILE:
        got = r.sbx('exec', s.id, '--json', '--fresh', '--lang', 'python', '--timeout', '5', '-c',
                    SAY + code, ok=False, seconds=20)
        check(got.out.startswith(b'{') and got.out.rstrip().endswith(b'}'), '%s: %r' % (name, got))
        result = json.loads(got.out)
        states[name] = result['status']
        check('no pipe' not in str(result.get('error')), '%s: no pipe was found' % name)
        check(b'root:' not in got.out, '%s: a file of the host came out' % name)
        s.alive('after ' + name)
        now = [p for p, w in rig.processes_of(s.id) if b'supervisor' in w]
        check(now == first, '%s: another supervisor: %r, was %r' % (name, now, first))
    with open('/proc/%d/status' % first[0]) as f:
        peak = [int(x.split()[1]) for x in f if x.startswith('VmHWM')][0]
    check(peak < 256 * 1024, 'the supervisor took %d KiB' % peak)
    rig.say('peak of the supervisor: %d KiB; %r' % (peak, states))
    check({states[n] for n in ('dead', 'garbage', 'huge')}.isdisjoint({'success', 'error'}),
          'the control: it was not reached: %r' % states)
    # Control: an honest cell has its result.
    got = r.sbx('exec', s.id, '--fresh', '--lang', 'python', '-c', 'print("honest")')
    check(got.out == b'honest\n', 'the control: %r' % got.out)


@test(50, '-', 'locks of two sessions meet only on files of the host')
def locks(r):
    a, b = r.plain(), r.session()
    a.sh('echo >/workspace/own; echo >/tmp/own')
    b.sh('echo >/workspace/own; echo >/tmp/own')
    for path in ('/workspace/own', '/tmp/own', '/usr/bin/env', '/etc/passwd'):
        holder = r.start([r.bin, 'exec', a.id, '--timeout', '20', '--', 'flock', '-x', path, 'sh', '-c',
                          'echo held; sleep 10'], stdout=subprocess.PIPE)
        check(holder.stdout.readline() == b'held\n', 'no lock of ' + path)
        meets = b.exec('flock', '-n', '-x', path, 'true', ok=False).code != 0
        own = a.exec('flock', '-n', '-x', path, 'true', ok=False).code != 0
        holder.kill()
        holder.wait()
        check(own, 'the control: it is not locked for the session itself: ' + path)
        if path.startswith('/usr/'):
            # Known, and the price of a shared /usr: two sessions can signal by it.
            rig.say('%s: %s' % (path, 'seen by the other' if meets else 'not seen by the other'))
        else:
            check(not meets, 'the lock of %s is seen by another session' % path)


if __name__ == '__main__':
    raise SystemExit(rig.main())

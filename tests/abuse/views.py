"""The same plan, run by bubblewrap: what is seen from inside must be the same.

The plan is what `sbx create --dry-run` prints; its filter is put together here by another
compiler. Every difference has a row in EXPLAINED, or the test fails.
"""
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile

import rig
from rig import INSIDE, Lacks, check, test

LOOK = '''echo "== mounts"; cat /proc/self/mounts
echo "== status"; grep -E "^(Uid|Gid|Cap...|NoNewPrivs|Seccomp):" /proc/self/status
echo "== ns"; for n in cgroup ipc mnt net pid user uts; do readlink /proc/self/ns/$n; done
echo "== proc"; ls /proc
echo "== dev"; find /dev -path "/dev/pts/*" -o -printf "%p %y\\n"
echo "== env"; env
echo "== closed"; for f in /proc/*; do [ -f $f ] && { head -c 1 $f >/dev/null 2>&1 || echo $f; }; done
echo "== empty"; for f in /proc/*; do [ -f $f ] && [ -z "$(head -c 1 $f 2>/dev/null | tr '\\0' x)" ] && echo $f; done
echo "== userns"; cat /proc/sys/user/max_user_namespaces
echo "== interfaces"; sed 's/:.*//' /proc/net/dev
echo "== name"; hostname
echo "== pids"; ls -d /proc/[0-9]* | wc -l
'''
# (what differs, in which direction, why). What sbx has and bubblewrap has not, and the reverse.
EXPLAINED = [
    (r'sbx: flag (/sys|/dev\S*|/run/sbx|/proc/\S+) noexec$', 'bubblewrap sets noexec for its own /proc alone'),
    (r'bwrap: (mount|flag) /run/sbx/\S+', 'bubblewrap puts each file in as a mount'),
    (r'bwrap: dev /dev/core l$', 'its link to the memory of the kernel, which is masked'),
    (r'sbx: userns 0$', 'no user namespace can be made'),
    (r'bwrap: userns [1-9]', 'its --disable-userns is a limit of the namespace around that'),
    (r'sbx: env (HOME|LANG|LOGNAME|SHELL|TMPDIR|USER|MPLBACKEND|SBX_ARTIFACTS|PYTHON(UNBUFFERED|USERBASE)|'
     r'PIP_\w+|npm_config_\w+)$', 'the environment of a session; bubblewrap was given PATH alone'),
]


def operations(plan, phase):
    return [o for o in plan['operations'] if o.get('phase') == phase]


def instruction(code, jt, jf, k):
    return struct.pack('=HBBI', code, jt, jf, k & 0xffffffff)


LOAD, EQUAL, AND, RETURN, SET = 0x20, 0x15, 0x54, 0x06, 0x45
ACTIONS = {'allow': 0x7fff0000, 'kill': 0x80000000, 'EPERM': 0x50001, 'ENOSYS': 0x50026,
           'EAFNOSUPPORT': 0x50061, 'EOPNOTSUPP': 0x5005f, 'EPROTONOSUPPORT': 0x5005d}


def condition(c, skip):
    """Jumps over `skip` instructions when it does not hold."""
    low = 16 + 8 * c['arg']
    if c['test'] == 'not_null':
        return [(LOAD, 0, 0, low), (SET, 2, 0, 0xffffffff), (LOAD, 0, 0, low + 4),
                (SET, 0, skip, 0xffffffff)]
    if c['test'] == 'any_bit':
        return [(LOAD, 0, 0, low), (SET, 0, skip, c['mask'])]
    return [(LOAD, 0, 0, low), (AND, 0, 0, c['mask']), (EQUAL, 0, skip, c['value'])]


def assemble(rules):
    """One rule after the other; what no rule says is allowed."""
    out = []
    for r in rules:
        body = [(RETURN, 0, 0, ACTIONS[r['action']])]
        for c in reversed(r['when']):
            body = condition(c, len(body)) + body
        out += [(LOAD, 0, 0, 0), (EQUAL, 0, len(body), r['number']), *body]
    return b''.join(instruction(*i) for i in out + [(RETURN, 0, 0, ACTIONS['allow'])])


def options(plan, root, filter_fd, files):
    """What bubblewrap is told for each operation; one without a translation fails the test."""
    words = ['--unshare-all', '--unshare-user', '--disable-userns', '--uid', '1000', '--gid', '1000',
             '--new-session', '--die-with-parent', '--clearenv', '--cap-drop', 'ALL',
             '--seccomp', str(filter_fd), '--bind', root, '/']
    for o in operations(plan, 'init'):
        kind, path, source = o['operation'], '/' + o.get('path', ''), o.get('source', '')
        if kind == 'hostname':
            words += ['--hostname', source]
        elif kind == 'bind':
            if not os.path.islink(source) and os.path.isdir(source):
                words += ['--ro-bind', source, path]
        elif kind == 'mount' and path == '/dev':
            words += ['--dev', '/dev']
        elif kind == 'mount' and source == 'tmpfs':
            words += ['--perms', re.search('mode=(\\d+)', o['options']).group(1), '--tmpfs', path]
            if 'ro' in o['attributes']:
                words += ['--remount-ro', path]
        elif kind == 'file':
            words += ['--ro-bind', files, path]
        elif kind == 'read_only':
            words += ['--remount-ro', path]
        else:
            # Done by --dev and --proc, by the copy of the skeleton, or by bubblewrap itself.
            check(kind in ('ids', 'keyring', 'loopback', 'skeleton', 'overlay', 'pivot', 'no_userns', 'inotify',
                           'sweep', 'device', 'directory', 'link') or path in ('/proc', '/dev/pts'),
                  'no word of bubblewrap for %r' % o)
    words += ['--proc', '/proc']
    for o in operations(plan, 'exec'):
        path = '/proc/' + o.get('path', '')
        if o['operation'] == 'mask' and os.path.exists(path):
            words += ['--tmpfs', path, '--remount-ro', path] if os.path.isdir(path) else \
                ['--ro-bind', '/dev/null', path]
        elif o['operation'] == 'lock' and os.path.exists(path):
            words += ['--ro-bind', path, path]
    return words


def parse(out):
    """{section: [line]}"""
    found, section = {}, None
    for line in out.decode(errors='replace').splitlines():
        if line.startswith('== '):
            section = found.setdefault(line[3:], [])
        else:
            section.append(line)
    return found


def facts(view, host_ns):
    """Single statements, which can be compared."""
    found = set()
    # Of several mounts at one place the last one counts.
    mounts = {line.split(' ')[1]: line.split(' ')[3].split(',') for line in view['mounts']}
    for where, flags in mounts.items():
        found |= {'mount ' + where} | {'flag %s %s' % (where, f) for f in flags
                                       if f in ('ro', 'nosuid', 'nodev', 'noexec')}
    found |= {'env ' + line.split('=')[0] for line in view['env']}
    found |= {'own namespace: ' + n.split(':')[0] for n in view['ns'] if n not in host_ns}
    found |= {'proc ' + n for n in view['proc'] if not n.isdigit()}
    found |= {'dev ' + n for n in view['dev']}
    for section in ('status', 'closed', 'empty', 'userns', 'interfaces', 'name', 'pids'):
        found |= {section + ' ' + line for line in view.get(section, ())}
    return found


def fits(rule, args):
    """Whether a rule decides about a call with these arguments; a word is a pointer."""
    values = [1 << 40 if isinstance(a, str) else a for a in args]
    return all({'equal': values[c['arg']] & c.get('mask', 0) == c.get('value'),
                'any_bit': values[c['arg']] & c.get('mask', 0), 'not_null': values[c['arg']]}[c['test']]
               for c in rule['when'])


def calls_of(plan):
    """For each rule of the filter that refuses an attempt which it is the first to fit."""
    lines = []
    for n, r in enumerate(plan['seccomp']):
        same = [x for x in plan['seccomp'] if x['number'] == r['number']]
        for filling in (0, 8, 132) if r['action'] != 'allow' else ():
            args = [filling] * 6
            for c in r['when']:
                args[c['arg']] = {'equal': c.get('value', 0), 'not_null': 'q:0,0',
                                  'any_bit': (c.get('mask', 0) & 0x10000000) | 17}[c['test']]
            if next((x for x in same if fits(x, args)), None) is r:
                lines.append('%d-%s %s %s' % (n, r['syscall'], r['syscall'], ' '.join(map(str, args))))
                break
        else:
            check(r['action'] == 'allow', 'no call reaches the rule %r' % r)
    return lines


class Peer:
    def __init__(self, r, plan):
        self.r, self.dir = r, tempfile.mkdtemp(prefix='peer.', dir=r.scratch)
        layers = os.path.join(r.home, 'layers')
        self.root = os.path.join(self.dir, 'root')
        shutil.copytree(os.path.join(layers, os.listdir(layers)[0]), self.root, symlinks=True)
        shutil.copyfile(r.helper, self.root + INSIDE)
        os.chmod(self.root + INSIDE, 0o755)
        for place in ('dev', 'proc', 'sys', 'run/sbx', 'usr'):
            os.makedirs(os.path.join(self.root, place), exist_ok=True)
        self.filter = os.path.join(self.dir, 'filter')
        with open(self.filter, 'wb') as f:
            f.write(assemble(plan['seccomp']))
        if r.who():
            subprocess.run(['chown', '-R', '%d:%d' % (rig.USER, rig.USER), self.dir], check=True)
        self.plan = plan

    def run(self, *command, ok=True):
        with open(self.filter, 'rb') as f:
            words = options(self.plan, self.root, f.fileno(), self.filter)
            got = self.r.run(['bwrap', *words, '--chdir', '/workspace', '--setenv', 'PATH',
                              '/usr/local/bin:/usr/bin:/bin', '--', *command], pass_fds=[f.fileno()])
        check(not ok or got.code == 0, 'bubblewrap: exit %d: %r' % (got.code, got.err[:500]))
        return got.out


def start(r):
    if not shutil.which('bwrap'):
        raise rig.Skip('no bubblewrap here')
    s = r.plain()
    plan = json.loads(r.sbx('create', '--dry-run', '--runtime', 'shell').out)
    peer = Peer(r, plan)
    if r.run(['bwrap', '--ro-bind', '/', '/', '--unshare-user', 'true']).code:
        raise Lacks('bubblewrap makes no user namespace here')
    return s, plan, peer


# bubblewrap maps one id: to a block of them, as root has, there is nothing to compare.
@test('views', '-', 'bubblewrap, given the same plan, shows the same from inside', modes=('user',))
def views(r):
    s, _, peer = start(r)
    host_ns = r.run(['sh', '-c', 'for n in cgroup ipc mnt net pid user uts; do readlink /proc/self/ns/$n; done']
                    ).out.decode().split()
    mine = facts(parse(s.sh(LOOK, ok=False).out), host_ns)
    its = facts(parse(peer.run('sh', '-c', LOOK, ok=False)), host_ns)
    check(len(mine) > 60 and len(its) > 60, 'hardly anything was seen: %d, %d' % (len(mine), len(its)))
    differ = ['sbx: ' + x for x in sorted(mine - its)] + ['bwrap: ' + x for x in sorted(its - mine)]
    unexplained, used = [], set()
    for d in differ:
        row = next((n for n, (pattern, _) in enumerate(EXPLAINED) if re.match(pattern, d)), None)
        if row is None:
            unexplained.append(d)
        used.add(row)
    for n, (pattern, why) in enumerate(EXPLAINED):
        if n in used:
            rig.say('%d times %s: %s' % (sum(bool(re.match(pattern, d)) for d in differ), pattern, why))
    check(not unexplained, 'not explained: ' + '; '.join(unexplained))
    rig.say('%d statements are the same, %d differ' % (len(mine & its), len(differ)))
    for must in ('status NoNewPrivs:\t1', 'status Seccomp:\t2', 'status CapEff:\t' + '0' * 16,
                 'own namespace: net', 'own namespace: user', 'interfaces     lo'):
        check(must in mine and must in its, 'the control: %r is not among them' % must)


@test('views', '-', 'bubblewrap, given the same rules, refuses the same calls', modes=('user',))
def refusals(r):
    s, plan, peer = start(r)
    lines = calls_of(plan)
    mine = s.probe('calls', *lines, seconds=60)
    its = rig.parse(peer.run(INSIDE, 'calls', *lines))
    check(len(mine) == len(its) == len(lines), 'not all were tried: %d, %d, %d' % (
        len(mine), len(its), len(lines)))
    check('kill' not in {x['action'] for x in plan['seccomp']}, 'an action without a name')
    wanted = {line.split(' ')[0]: plan['seccomp'][int(line.split('-')[0])]['action'] for line in lines}
    wrong = ['%s: %s, bubblewrap %s, plan %s' % (n, mine[n][0], its[n][0], wanted[n]) for n in mine
             if mine[n][0] != 'ABSENT' and {mine[n][0], its[n][0]} != {wanted[n]}]
    check(not wrong, '; '.join(wrong))
    tried = sum(v[0] != 'ABSENT' for v in mine.values())
    check(tried > 60, 'only %d of %d calls are known to the helper' % (tried, len(lines)))
    rig.say('%d of %d rules' % (tried, len(lines)))


if __name__ == '__main__':
    raise SystemExit(rig.main())

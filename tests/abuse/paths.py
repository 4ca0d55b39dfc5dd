"""The host side on a tree that the inside controls (tests 81 to 84)."""
import os
import stat
import subprocess
import tempfile
import time

import rig
from rig import INSIDE, check, test

FLIP = '''i=0; end=$(($(date +%s) + 25)); mkdir -p real; echo inner >real/note
while [ $(date +%s) -lt $end ]; do
    for k in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        rm -rf mid; ln -s "$0" mid; rm mid; mkdir mid; echo inner >mid/note
    done
done'''


def canary(r):
    path = tempfile.mkdtemp(prefix='canary.', dir=r.scratch)
    with open(os.path.join(path, 'note'), 'w') as f:
        f.write('secret of the host\n')
    if r.who():
        for p in (path, os.path.join(path, 'note')):
            os.chown(p, rig.USER, rig.USER)
    return path


@test(81, '-', 'copying through a component that flips to a link never leaves the session')
def flip(r):
    s, host = r.session(), canary(r)
    stat_before = os.stat(host).st_mtime_ns
    flipper = r.start([r.bin, 'exec', s.id, '--timeout', '30', '--', 'sh', '-c', FLIP, host],
                      stderr=subprocess.DEVNULL)
    check(rig.until(lambda: s.sh('test -d real', ok=False).code == 0, 5), 'the flipper did not start')
    source = os.path.join(r.scratch, 'source')
    with open(source, 'w') as f:
        f.write('pushed\n')
    os.chmod(source, 0o644)
    inner = refused = 0
    end = time.monotonic() + 6
    while time.monotonic() < end:
        out = os.path.join(r.scratch, 'out')
        got = r.sbx('cp', s.id + ':/workspace/mid/note', out, ok=False)
        if got.code == 0:
            with open(out, 'rb') as f:
                text = f.read()
            check(b'secret' not in text, 'the canary came out')
            inner += text == b'inner\n'
            os.unlink(out)
        else:
            refused += 1
        r.sbx('cp', source, s.id + ':/workspace/mid/note', ok=False)
        r.sbx('cp', source, s.id + ':/workspace/mid/new', ok=False)
    flipper.kill()
    with open(os.path.join(host, 'note')) as f:
        check(f.read() == 'secret of the host\n', 'the canary was written')
    check(os.listdir(host) == ['note'] and os.stat(host).st_mtime_ns == stat_before,
          'the canary directory was changed')
    rig.say('%d came out, %d were refused' % (inner, refused))
    # Control: there were moments of both kinds.
    check(inner and refused, 'the control: %d came out, %d were refused' % (inner, refused))


@test(82, '-', 'links, hard links, FIFOs, sockets and devices at the end of a path')
def final(r):
    s, host = r.session(), canary(r)
    s.sh('ln -s /etc/shadow shadow; ln -s "$0/note" note; ln -s "$0" dir; mkfifo fifo; '
         'ln -s /dev/zero zero; ln -s /proc/self/environ environ; ln -s loop loop; echo own >file; '
         'ln file hard', host)
    s.sh('%s wait-at /workspace/sock 0' % INSIDE, ok=False)
    out = os.path.join(r.scratch, 'out')
    for name in ('shadow', 'note', 'dir/note', 'fifo', 'sock', 'zero', 'environ', 'loop', 'dir'):
        for options in ([], ['-L']):
            got = r.sbx('cp', *options, '%s:/workspace/%s' % (s.id, name), out, ok=False, seconds=10)
            if got.code:
                check(got.err.startswith(b'sbx cp: '), '%s: no word: %r' % (name, got.err))
            if os.path.lexists(out):
                st = os.lstat(out)
                # A link may come out as a link; it is not followed.
                if stat.S_ISREG(st.st_mode):
                    with open(out, 'rb') as f:
                        text = f.read(1 << 20)
                    check(b'secret' not in text and b'root:' not in text, name + ' came out')
                check(not stat.S_ISCHR(st.st_mode) and not stat.S_ISBLK(st.st_mode), name + ': a device')
                subprocess.run(['rm', '-rf', out], check=True)
    source = os.path.join(r.scratch, 'source')
    with open(source, 'w') as f:
        f.write('pushed\n')
    os.chmod(source, 0o644)
    for name in ('note', 'dir/new', 'fifo', 'zero', 'loop', 'sock'):
        r.sbx('cp', source, '%s:/workspace/%s' % (s.id, name), ok=False, seconds=10)
    with open(os.path.join(host, 'note')) as f:
        check(f.read() == 'secret of the host\n', 'the canary was written')
    check(os.listdir(host) == ['note'], 'the canary directory was written to')
    for name in ('file', 'hard'):
        r.sbx('cp', '%s:/workspace/%s' % (s.id, name), out)
        with open(out) as f:
            check(f.read() == 'own\n', 'the control: ' + name)
        os.unlink(out)


NAMES = [b'-rf', b'new\nline', b'\xff\xfe\x80', b' ', b'$(touch ran)', b'`touch ran`', b';touch ran',
         b'a"b\'c', b'\x01\x1b[31m', b'x' * 255, '\u00e9\u4e2d'.encode(), b'*', b'~', b'...']


@test(83, '-', 'strange names go in and out as they are, and are never commands')
def names(r):
    s, folder = r.session(), os.path.join(r.scratch, 'strange').encode()
    os.mkdir(folder)
    for i, name in enumerate(NAMES):
        with open(os.path.join(folder, name), 'w') as f:
            f.write('%d\n' % i)
    if r.who():
        subprocess.run(['chown', '-R', '%d:%d' % (rig.USER, rig.USER), folder], check=True)
    r.sbx('cp', folder.decode(), s.id + ':/workspace/')
    got = s.json('find', '/workspace/strange', '-type', 'f')
    check(got['status'] == 'success', 'the result: %r' % got['status'])
    back = os.path.join(r.scratch, 'back')
    r.sbx('cp', s.id + ':/workspace/strange', back)
    found = {n: open(os.path.join(back.encode(), n)).read() for n in os.listdir(back.encode())}
    check(found == {n: '%d\n' % i for i, n in enumerate(NAMES)}, 'came back: %r' % sorted(found))
    changed = s.json('sh', '-c', 'touch strange/*; cp -r strange more; cd more; rm -- -rf')
    check(changed['files_total'] > len(NAMES), 'changes: %r' % changed['files_total'])
    for where in (r.scratch, s.path, '/tmp'):
        check('ran' not in os.listdir(where), 'a name was run')
    # Paths and names of sessions that are none.
    for word in ('', '..', '../..', 'a/b', '-', '--', 'x' * 300, 'A', 'a b', '.hidden', 'sess_/../x', '/'):
        got = r.sbx('create', '-q', '--name=' + word, ok=False)
        check(got.code, 'a session was named %r' % word)
        got = r.sbx('show', '--', word, ok=False)
        check(got.code, 'there is a session %r' % word)
    for path in ('../../../etc/passwd', '/../../etc/passwd', 'x/' * 2100, '/workspace/\n'):
        out = os.path.join(r.scratch, 'out')
        got = r.sbx('cp', s.id + ':' + path, out, ok=False)
        if os.path.exists(out):
            with open(out, 'rb') as f:
                check(b'sandbox' in f.read(), '%r is that of the host' % path)
            os.unlink(out)
    named = r.sbx('create', '-q', '--name=good.name-1')
    r.sbx('rm', 'good.name-1')
    check(named.code == 0, 'the control')


@test(84, '-', 'a deep tree with closed directories and links is removed, and no link followed')
def removal(r):
    s, host = r.session(), canary(r)
    s.sh('''ln -s "$0" out; mkdir closed; ln -s "$0" closed/out; echo x >closed/file
        chmod 000 closed/file closed; mkdir -p sticky/a; chmod 1000 sticky
        i=0; while [ $i -lt 120 ]; do mkdir d; cd d; i=$((i + 1)); done 2>/dev/null; ln -s "$0" out
        chmod 000 /workspace/d''', host, ok=False)
    deep = 'import os\nos.chdir("/workspace")\nos.mkdir("deep")\nos.chdir("deep")\n' \
        'for i in range(3000):\n os.mkdir("e")\n os.chdir("e")\nopen("end", "w").close()\n'
    if os.path.exists('/usr/bin/python3'):
        s.exec('python3', '-c', deep)
    began = time.monotonic()
    r.sbx('rm', s.id, seconds=60)
    rig.say('removed in %.1f s' % (time.monotonic() - began))
    check(not os.path.exists(s.path), 'it is still there')
    left = os.listdir(os.path.join(r.home, 'trash'))
    check(not left, 'left in the trash: %r' % left)
    check(os.listdir(host) == ['note'], 'the canary was removed')


if __name__ == '__main__':
    raise SystemExit(rig.main())

"""The table of make bench: bench.py BUILDDIR WORKDIR. See bench.sh.

A row's number is that of the goals; a line of it is one peer. Ratio: of the medians, ours by
the peer's (row 10: of rates); then p10..p90 of the ratios of neighbouring runs. Absolute
times belong to this machine and this minute, ratios travel.
"""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

import peers
import side
from side import Side, Unable, measure, median

BUILD, WORK = sys.argv[1:3]
SBX = f'{BUILD}/cmd/sbx'
TIMED, ASKS, CALLS, SCAN = (f'{BUILD}/tests/bench/bench-{name}' for name in ('timed', 'asks', 'calls', 'scan'))
HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = '/usr/bin/python3' if os.access('/usr/bin/python3', os.X_OK) else shutil.which('python3')
FILES, CHANGED = 20000, 100
OUTPUT_BYTES = 2 << 30
PRIVATE_MAX_KB = 16 << 10
ROW_SECONDS = 60

rows = []
missing = {}
UNITS = {'ms': 1e6, 'us': 1e3, 'ns': 1, 's': 1e9}


def row(number):
    def add(function):
        rows.append((number, function))
        return function
    return add


# --- the table --------------------------------------------------------------------------

FORMAT = '{:>3}  {:<44} {:<24} {:>10} {:>10} {:>6} {:>11} {:>6} {:>6} {:>6}  {}'


def show(*cells):
    print(FORMAT.format(*cells).rstrip(), flush=True)


def number(value):
    return '' if value is None else f'{value:.3f}' if value < 0.1 else f'{value:.2f}'


def verdict(ratio, goal, at_least):
    if goal is None:
        return ''
    return 'met' if (ratio >= goal if at_least else ratio <= goal) else 'OVER'


class Line:
    """One line: what, against whom, and what is wanted."""

    def __init__(self, row, what, peer, goal=None, final=None, limit=None, note=''):
        self.row, self.what, self.peer = row, what, peer
        self.goal, self.limit, self.note = goal, limit, note
        self.final = goal if final is None else final

    def put(self, theirs, ours, ratio, between='', at_least=False):
        words = [verdict(ratio, self.goal, at_least), self.note]
        show(self.row, self.what, self.peer, theirs, ours, number(ratio), between,
             number(self.goal), number(self.final), number(self.limit), '; '.join(w for w in words if w))

    def times(self, theirs, ours, unit='ms'):
        by = UNITS[unit]
        low, high = side.spread(theirs, ours)
        self.put(*(f'{median(v) / by:.{0 if unit == "ns" else 3}f} {unit}' for v in (theirs, ours)),
                 median(ours) / median(theirs), f'{number(low)}..{number(high)}')

    def skip(self, why):
        show(self.row, self.what, self.peer, '', '', '', '', number(self.goal), number(self.final),
             number(self.limit), f'skipped: {why}')


# --- sides and sessions -----------------------------------------------------------------

def has(name):
    if shutil.which(name):
        return True
    missing[name] = peers.PACKAGES[name]
    return False


def timed(*command, options=()):
    return Side([TIMED, *options, *command])


def bwrap(*command):
    return [shutil.which('bwrap'), *peers.BWRAP, *command]


def call(*argv):
    """A step that is not timed."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unable((done.stderr.strip().split('\n') or [''])[-1] or f'exit {done.returncode}')
    return done.stdout.strip()


@contextlib.contextmanager
def sessions(count=1, *options):
    ids = []
    try:
        for _ in range(count):
            ids.append(call(SBX, 'create', '-q', *options))
        # The first spare is made when nobody waits.
        time.sleep(0.3)
        yield ids if count > 1 else ids[0]
    finally:
        if ids:
            call(SBX, 'rm', '-f', *ids)


@contextlib.contextmanager
def open_sides(*made):
    try:
        yield made
    finally:
        for s in made:
            s.close()


def compare(line, theirs, ours, rounds, idle_ms=0, unit='ms'):
    with open_sides(theirs, ours) as both:
        try:
            line.times(*measure(both, rounds, idle_ms=idle_ms), unit=unit)
        except Unable as e:
            line.skip(e)


def kernel(what):
    return Side([env.jupyter, '-B', f'{HERE}/kernel.py', what])


def supervisor(session):
    for name in os.listdir('/proc'):
        if name.isdigit() and side.command_line(name).startswith(f'sbx: {session} supervisor'):
            return int(name)
    raise Unable('the supervisor is not found')


class Env:
    """What several rows share, made when first asked for."""

    def __init__(self):
        self.containers = peers.Containers(WORK)
        self.jupyter = peers.jupyter_python()
        if not self.jupyter:
            missing['ipykernel'] = 'python3-ipykernel'
        self.jupyter_version = self.jupyter and \
            peers.first_line([self.jupyter, '-B', f'{HERE}/kernel.py', 'version']).split(',')[0]

    def close(self):
        self.containers.close()


# --- rows -------------------------------------------------------------------------------

@row(1)
def one_shot():
    if has('bwrap'):
        compare(Line(1, 'sbx run /bin/true', peers.version('bwrap'), 1.3, 1.0, 0.81),
                timed(*bwrap('/bin/true')), timed(SBX, 'run', '/bin/true'), 100)


@row(2)
def one_shot_containers():
    for runtime, goal, limit in (('crun', 0.6, 0.51), ('runc', 0.2, 0.17)):
        if has(runtime):
            c = env.containers
            compare(Line(2, 'sbx run /bin/true', peers.version(runtime) + ' run', goal, None, limit),
                    timed(*c.run(runtime), options=c.enter(runtime)), timed(SBX, 'run', '/bin/true'), 40)


@row(3)
def one_shot_after_idle():
    if has('bwrap'):
        compare(Line(3, 'sbx run /bin/true, 150 ms idle before', peers.version('bwrap'), 1.5, None, 1.0,
                     'the goal is for a fresh kernel'),
                timed(*bwrap('/bin/true')), timed(SBX, 'run', '/bin/true'), 40, idle_ms=150)


@row(4)
def exec_without_client():
    line = Line(4, 'exec of /bin/true, kept connection', 'bare vfork + exec', 1.1, None, 1.01)
    with sessions() as s:
        compare(line, timed('/bin/true'), Side([ASKS, s, '/bin/true']), 200)


@row(5)
def exec_command():
    with sessions() as s:
        for runtime, goal, final, limit in (('crun', 0.5, 0.4, 0.32), ('runc', 0.13, None, 0.1)):
            if not has(runtime):
                continue
            c = env.containers
            line = Line(5, 'sbx exec S /bin/true', peers.version(runtime) + ' exec', goal, final, limit)
            name, why = c.keep(TIMED, runtime)
            if not name:
                line.skip(why)
                continue
            compare(line, timed(*c.command(runtime, 'exec', name, '/bin/true'), options=c.enter(runtime)),
                    timed(SBX, 'exec', s, '/bin/true'), 60)
        compare(Line(5, 'sbx exec S /bin/true', 'bare /bin/true', None),
                timed('/bin/true'), timed(SBX, 'exec', s, '/bin/true'), 60)


@row(6)
def cell_jupyter():
    if not env.jupyter:
        return
    with sessions(1, '--runtime', 'python:3') as s:
        call(SBX, 'exec', s, '-c', 'print(1)')
        k = kernel('cell')
        with open_sides(k, timed(SBX, 'exec', s, '-c', 'print(1)'),
                        Side([ASKS, s, '-c', 'print(1)'])) as sides:
            k.line()
            theirs, command, kept = measure(sides, 60)
        Line(6, 'sbx exec -c print(1), as a command', env.jupyter_version, 0.5).times(theirs, command)
        Line(6, 'cell print(1), kept connection', env.jupyter_version, 0.03, None, 0.017).times(theirs, kept)


@row(7)
def cell_python():
    with sessions(1, '--runtime', 'python:3') as s:
        call(SBX, 'exec', s, '-c', 'print(1)')
        peer = 'python3 -c ' + peers.first_line([PYTHON, '--version']).split()[-1]
        with open_sides(timed(PYTHON, '-c', 'print(1)'), timed(SBX, 'exec', s, '-c', 'print(1)'),
                        Side([ASKS, s, '-c', 'print(1)'])) as sides:
            theirs, command, kept = measure(sides, 60)
        Line(7, 'sbx exec -c print(1), as a command', peer).times(theirs, command)
        Line(7, 'cell print(1), kept connection', peer, 0.015, None, 0.008).times(theirs, kept)


def heavy_modules():
    """The heaviest that are here, as people import them; None: none."""
    for names in ('numpy,pandas', 'numpy,matplotlib.pyplot', 'numpy', 'asyncio,decimal,email,http.client,ssl'):
        if subprocess.run([PYTHON, '-c', f'import {names}'], capture_output=True, check=False).returncode == 0:
            return names
    return None


@row(8)
def modules_ahead():
    names = heavy_modules()
    if not names:
        return
    code = f'import {names}'
    with open_sides(timed(PYTHON, '-c', code)) as (bare,):
        pause_ms = 2 * median(measure([bare], 5)[0]) / 1e6 + 50
    peer = f'python3 -c "{code[:26]}"'
    name = f'bench-{os.getpid()}'
    options = f'--name {name} --runtime python:3 --preload {names}'
    script = f'"{SBX}" create -q {options} && "{SBX}" exec {name} -c "{code}"'
    compare(Line(8, 'create, then a cell that imports', peer, 0.03, None, 0.015, 'needs a zygote'),
            timed(PYTHON, '-c', code),
            timed('/bin/sh', '-c', script, options=('-a', f'"{SBX}" rm -f {name}')), 5)
    with sessions(1, '--runtime', 'python:3', '--preload', names) as s:
        for _ in range(2):
            call(SBX, 'exec', '--fresh', s, '-c', '1')
        time.sleep(pause_ms / 1000)
        compare(Line(8, 'exec --fresh, imported ahead', peer), timed(PYTHON, '-c', code),
                timed(SBX, 'exec', '--fresh', s, '-c', code), 8, idle_ms=pause_ms)


@row(9)
def first_cell():
    if not env.jupyter:
        return
    name = f'bench-{os.getpid()}'
    script = f'"{SBX}" create -q --name {name} --runtime python:3 && "{SBX}" exec {name} -c "print(1)"'
    ours = timed('/bin/sh', '-c', script, options=('-a', f'"{SBX}" rm -f {name}'))
    with open_sides(kernel('start'), ours) as sides:
        Line(9, 'sbx create, then a first cell', env.jupyter_version + ' start', 0.02, None,
             0.012).times(*measure(sides, 8, warm=1))


@row(10)
def rate():
    peers_here = [('bwrap', 1.3, 1.45)] * has('bwrap') + [('crun', 1.8, 2.0)] * has('crun')
    workers, runs = 4, 12
    many = ('-w', str(workers), '-n', str(runs))
    for name, goal, limit in peers_here:
        line = Line(10, 'sbx run /bin/true, 4 workers', peers.version(name), goal, None, limit)
        if name == 'crun':
            # Each worker needs a container id of its own.
            c = env.containers
            script = f'exec {" ".join(c.run("crun", "rate"))}-$$'
            theirs = ['/bin/sh', '-c', script]
            options = (*many, *c.enter('crun'))
        else:
            theirs, options = bwrap('/bin/true'), many
        with open_sides(timed(*theirs, options=options),
                        timed(SBX, 'run', '/bin/true', options=many)) as sides:
            try:
                a, b = measure(sides, 10, warm=1)
            except Unable as e:
                line.skip(e)
                continue
        low, high = side.spread(b, a)
        line.put(*(f'{workers * runs * 1e9 / median(v):.0f} /s' for v in (a, b)), median(a) / median(b),
                 f'{number(low)}..{number(high)}', at_least=True)


@row(11)
def idle_memory():
    if not has('bwrap'):
        return
    count = 4
    peer_sets = [subprocess.Popen(bwrap('/usr/bin/sleep', '1000'), stdin=subprocess.DEVNULL)
                 for _ in range(count)]
    clients = []
    try:
        with sessions(count) as ids:
            supervisors = [supervisor(s) for s in ids]
            theirs = median([side.pss_kb(side.tree(p.pid)) for p in peer_sets])
            bare = median([side.pss_kb(side.tree(p)) for p in supervisors])
            clients = [subprocess.Popen([SBX, 'exec', '--timeout', '0', s, 'sleep', '1000'],
                                        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                       for s in ids]
            time.sleep(0.5)
            full = median([side.pss_kb(side.tree(p)) for p in supervisors])
            waiting = median([side.pss_kb([c.pid]) for c in clients])
            for c in clients:
                c.terminate()
                c.wait()
    finally:
        for p in peer_sets + clients:
            # Who is killed from outside leaves the inside behind.
            for pid in side.tree(p.pid) if p.poll() is None else []:
                os.kill(pid, signal.SIGKILL)
            p.wait()
    peer = peers.version('bwrap') + ' + sleep'
    for what, ours, goal in (('idle session', bare, None), ('session with sleep, without its client', full, 0.35),
                             ('client that waits', waiting, None)):
        Line(11, f'PSS, {what}', peer, goal, None, 0.2 if goal else None).put(
            f'{theirs:.0f} kB', f'{ours:.0f} kB', ours / theirs)


@row(12)
def python_memory():
    if not env.jupyter:
        return
    with sessions(1, '--runtime', 'python:3') as s, open_sides(kernel('cell')) as (k,):
        pid = int(k.line().split()[1])
        k.sample()
        call(SBX, 'exec', s, '-c', 'print(1)')
        time.sleep(0.3)
        theirs, ours = side.pss_kb([pid]), side.pss_kb(side.tree(supervisor(s)))
    Line(12, 'PSS, idle session with a python', env.jupyter_version, 0.1, None, 0.07).put(
        f'{theirs} kB', f'{ours} kB', ours / theirs)


@row(18)
def changes():
    """What a base directory has is never looked at, so it is not there."""
    for n in (CHANGED, FILES):
        os.mkdir(f'{WORK}/up-{n}')
        call(CALLS, 'fill', str(n), f'{WORK}/up-{n}')
    for n, what, goal, limit in (
            (CHANGED, f'list {CHANGED} changes, {FILES:,} files in the base', 0.03, 0.016),
            (FILES, f'list {CHANGED} changes, all {FILES:,} of the session', None, None)):
        compare(Line(18, what, 'full statx walk', goal, None, limit),
                Side([CALLS, 'walk', f'{WORK}/up-{FILES}']),
                Side([SCAN, str(n // CHANGED), str(n), f'{WORK}/up-{n}']), 30)


@row(19)
def dirty_elsewhere():
    """What an overlay that is not volatile would sync at each end of a session."""
    path = f'{WORK}/dirty'
    with open_sides(timed(SBX, 'run', '/bin/true')) as (ours,):
        clean = measure([ours], 20)[0]
        call(CALLS, 'dirty', path, str(1536 << 20))
        dirty = measure([ours], 20, warm=0)[0]
    os.unlink(path)
    Line(19, 'sbx run, 1.5 GB dirty elsewhere', 'sbx run, clean', 3, None, 2).times(clean, dirty)


@row(20)
def calls_inside():
    own = f'{WORK}/file'
    with open(own, 'w') as f:
        f.write('x')
    with sessions() as s:
        call(SBX, 'cp', CALLS, f'{s}:/workspace/calls')
        call(SBX, 'cp', own, f'{s}:/workspace/file')
        for what, there, here, goal, limit in (
                ('open', '/usr/bin/env', '/usr/bin/env', 1.5, 1.4),
                ('open', '/workspace/file', own, None, None),
                ('stat', '/usr/bin/env', '/usr/bin/env', 1.1, 1.03),
                ('stat', '/workspace/file', own, None, None),
                ('getppid', '-', '-', 1.15, 1.1)):
            line = Line(20, f'{what}{"" if there == "-" else " " + there} inside', 'bare', goal, None, limit)
            compare(line, Side([CALLS, what, here]),
                    Side([SBX, 'exec', '-i', '--timeout', '0', s, '/workspace/calls', what, there]),
                    40, unit='ns')


def greatest_private_kb(session, client):
    """Of each sbx process while the client lives; the payload is not ours."""
    greatest = {}
    root = supervisor(session)
    while client.poll() is None:
        for pid in [client.pid] + side.tree(root):
            words = side.command_line(pid).split()
            if not words or not words[0].startswith(('sbx:', SBX)):
                continue
            name = words[2] if words[0] == 'sbx:' else 'client'
            kb = side.memory(pid, 'Private_Clean', 'Private_Dirty')
            greatest[name] = max(kb, greatest.get(name, 0))
        time.sleep(0.02)
    return greatest


@row(22)
def output():
    with sessions() as s:
        call(SBX, 'cp', CALLS, f'{s}:/workspace/calls')
        command = [SBX, 'exec', s, '/workspace/calls', 'write', str(OUTPUT_BYTES)]
        pipe = f'exec "{CALLS}" write {OUTPUT_BYTES} | cat >/dev/null'
        with open_sides(timed('/bin/sh', '-c', pipe), timed(*command)) as sides:
            theirs, ours = measure(sides, 3, warm=0)
        client = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        kb = greatest_private_kb(s, client)
    low, high = side.spread(theirs, ours)
    Line(22, '2 GiB of output, kept and passed on', 'one pipe').put(
        *(f'{OUTPUT_BYTES / median(v):.2f} GB/s' for v in (theirs, ours)), median(ours) / median(theirs),
        f'{number(low)}..{number(high)}')
    who = max(kb, key=kb.get)
    line = Line(22, f'  greatest private memory, {who}', f'{PRIVATE_MAX_KB} kB', 1)
    line.put('', f'{kb[who]} kB', kb[who] / PRIVATE_MAX_KB)


# --- all of it --------------------------------------------------------------------------

def wanted():
    words = os.environ.get('BENCH_ROWS', '').replace(',', ' ').split()
    return {int(w) for w in words} if words else {n for n, _ in rows}


def main():
    chosen = wanted()
    show('row', 'quantity', 'peer', 'peer', 'sbx', 'ratio', 'p10..p90', 'goal', 'later', 'limit', '')
    for n, function in rows:
        if n not in chosen:
            continue
        signal.alarm(ROW_SECONDS)
        try:
            function()
        except (Unable, OSError, subprocess.SubprocessError) as e:
            show(n, function.__name__, '', '', '', '', '', '', '', '', f'skipped: {e}')
        signal.alarm(0)
    print('\ngoal: wanted now; later: wanted in the end; limit: what prototypes reached.')
    print('rows 13 to 17 need save and restore, 21 a checkpoint: not there yet.')
    if 22 in chosen:
        print('row 22 has no number in the list of goals; its limit is that of the house rules.')
    for name, package in sorted(missing.items()):
        print(f'not here: {name}; its rows are left out (package {package})')


def on_term(*_):
    raise KeyboardInterrupt


def on_alarm(*_):
    raise Unable(f'more than {ROW_SECONDS} s')


signal.signal(signal.SIGALRM, on_alarm)
signal.signal(signal.SIGTERM, on_term)
env = Env()
try:
    main()
except KeyboardInterrupt:
    sys.exit(130)
finally:
    env.close()

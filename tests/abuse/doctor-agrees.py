"""What doctor claims is what these tests have proven, and the other way round (test 98).

Every wall that doctor calls held was proven by a test of this run with this very program; every
key that a test names is one of doctor's: a wall, limits.NAME, or - for what no probe inside can
tell. Runs after the other groups, whose results it reads.
"""
import json
import os
import sys

import rig
from rig import Skip, check, test

GROUPS = ['binary', 'proc', 'namespaces', 'devices', 'network', 'resources', 'paths', 'lifecycle']


def results(mode, sbx, folder):
    """{key: [[number, state], …]} of all groups."""
    keys, missing = {}, []
    for group in GROUPS:
        try:
            with open(os.path.join(folder, '%s-%s.json' % (mode, group))) as f:
                found = json.load(f)
        except FileNotFoundError:
            missing.append(group)
            continue
        if found['sbx'] != rig.digest(sbx):
            missing.append(group)
            continue
        for key, some in found['keys'].items():
            keys.setdefault(key, []).extend(some)
    if missing:
        raise Skip('not run with this program: ' + ' '.join(missing))
    return keys


def claims(r):
    return json.loads(r.sbx('doctor', '--json').out)


@test(98, '-', 'every wall that doctor claims was proven')
def proven(r):
    keys = results(*[sys.argv[i] for i in (1, 2, 4)])
    walls = claims(r)['walls']
    check(len(walls) > 50, 'doctor looked at %d walls' % len(walls))
    bare = [k for k, v in walls.items() if v['held'] and
            not any(state == 'ok' for _, state in keys.get(k, []))]
    check(not bare, 'claimed and not proven: ' + ' '.join(bare))
    false = [k for k, v in walls.items() if v['held'] and
             any(state == 'not ok' for _, state in keys.get(k, []))]
    check(not false, 'claimed and disproven: ' + ' '.join(false))


@test(98, '-', 'doctor knows every wall that was proven, and calls it held')
def known(r):
    keys = results(*[sys.argv[i] for i in (1, 2, 4)])
    found = claims(r)
    names = set(found['walls']) | {'limits.' + k for k in found['limits']} | {'-'}
    unknown = sorted(set(keys) - names)
    check(not unknown, 'doctor does not know: ' + ' '.join(unknown))
    denied = [k for k, some in keys.items() if k in found['walls'] and not found['walls'][k]['held']
              and all(state == 'ok' for _, state in some)]
    check(not denied, 'proven, and doctor says it does not hold: ' + ' '.join(denied))
    for name, limit in found['limits'].items():
        if any(state == 'ok' for _, state in keys.get('limits.' + name, [])):
            check(limit['enforced_by'] != 'none' or name in ('cpu', 'memory'),
                  'limits.%s was proven, and doctor says that nothing enforces it' % name)


if __name__ == '__main__':
    raise SystemExit(rig.main())

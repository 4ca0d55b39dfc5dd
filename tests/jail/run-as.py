"""Runs a TAP script of Python as root or as an ordinary user, where that user can read it:

    run-as.py root|user SBX SCRIPT [ARGUMENT...]

The script gets the path of a copy of sbx as its first argument.
"""
import os
import shutil
import subprocess
import sys

import kit


def main():
    mode, program, script, words = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    if mode == "root" and not kit.IS_ROOT:
        print("1..0 # SKIP not run as root")
        return 0
    k = kit.Kit(mode, program)
    copy = f"{k.dir}/script.py"
    try:
        shutil.copyfile(script, copy)
        os.chmod(copy, 0o644)
        environment = {**os.environ, **k.environment()}
        return subprocess.run([kit.PYTHON, "-B", copy, k.program, *words], env=environment,
                              cwd=k.scratch, check=False, **k.who()).returncode
    finally:
        k.close()


if __name__ == "__main__":
    raise SystemExit(main())

"""Counts single tests in meson's logs; names what failed or was skipped, and why.

    count.py BUILD-DIRECTORY...
"""
import json
import re
import sys
import xml.etree.ElementTree as tree


# [lines] of one failed program that are shown again.
SHOWN = 30


def reasons(test):
    """What a program that failed said of it: TAP comments and failures, or the end of stderr."""
    lines = [line for line in test.get("stdout", "").splitlines()
             if line.startswith(("#", "not ok", "[  ERROR", "[   LINE"))]
    return (lines + test.get("stderr", "").splitlines())[-SHOWN:]


def read_xml(path):
    """meson puts what tests print into it as it is; XML has no control characters."""
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    text = re.sub("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", text)
    return text.encode()


def main():
    passed = failed = skipped = 0
    for build in sys.argv[1:]:
        logs = f"{build}/meson-logs/testlog"
        for case in tree.fromstring(read_xml(logs + ".junit.xml")).iter("testcase"):
            name = f'{case.get("classname")} {case.get("name")}'
            if case.find("failure") is not None or case.find("error") is not None:
                failed += 1
                print("FAILED", name)
            elif case.find("skipped") is not None:
                skipped += 1
                print("SKIPPED", name)
            else:
                passed += 1
        with open(logs + ".json") as lines:
            for test in map(json.loads, lines):
                # A test that ran out of time is none of these there.
                if test["result"] in ("TIMEOUT", "INTERRUPT"):
                    failed += 1
                    print(test["result"], test["name"])
                if test["result"] in ("TIMEOUT", "INTERRUPT", "FAIL", "ERROR"):
                    for line in reasons(test):
                        print(f"  {test['name']}: {line}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")


main()

"""Counts single tests in meson's logs; names what failed or was skipped.

    count.py BUILD-DIRECTORY...
"""
import json
import sys
import xml.etree.ElementTree as tree


def main():
    passed = failed = skipped = 0
    for build in sys.argv[1:]:
        logs = f"{build}/meson-logs/testlog"
        for case in tree.parse(logs + ".junit.xml").getroot().iter("testcase"):
            name = f'{case.get("classname")} {case.get("name")}'
            if case.find("failure") is not None or case.find("error") is not None:
                failed += 1
                print("FAILED", name)
            elif case.find("skipped") is not None:
                skipped += 1
                print("SKIPPED", name)
            else:
                passed += 1
        # A test that ran out of time is none of these there.
        with open(logs + ".json") as lines:
            for test in map(json.loads, lines):
                if test["result"] in ("TIMEOUT", "INTERRUPT"):
                    failed += 1
                    print(test["result"], test["name"])
    print(f"{passed} passed, {failed} failed, {skipped} skipped")


main()

"""Counts single tests in meson's JUnit files; names what was skipped, with its reason."""
import sys
import xml.etree.ElementTree as tree


def main():
    passed = failed = skipped = 0
    for path in sys.argv[1:]:
        for case in tree.parse(path).getroot().iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                failed += 1
                print("FAILED", case.get("classname"), case.get("name"))
            elif case.find("skipped") is not None:
                skipped += 1
                print("SKIPPED", case.get("classname"), case.get("name"))
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")


main()

"""How the Python tests of sessions run: skips, failures, one line of TAP a test.

SBX_TEST_SCALE   multiplies every time bound (default 1)
SBX_TEST_REQUIRE a test that is skipped fails, unless the machine cannot have it (Lacks)
"""
import os
import signal
import traceback

SCALE = float(os.environ.get("SBX_TEST_SCALE", "1"))
REQUIRE = bool(os.environ.get("SBX_TEST_REQUIRE"))
USER = 4242  # an id without an account
IS_ROOT = os.geteuid() == 0


# A caller in the background ignores these, and so would everything that is started here.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


class Skip(Exception):
    """Not tried, and it could have been."""


class Lacks(Skip):
    """Not tried: this machine, or this user, cannot have it."""


class Wrong(Exception):
    """What should hold does not."""


def say(text):
    for line in str(text).rstrip("\n").split("\n"):
        print("# " + line, flush=True)


def run_one(place, function):
    """("ok" | "not ok" | "skip", reason); place.forget() ends what the test has made."""
    try:
        function(place)
        return "ok", ""
    except Lacks as e:
        return "skip", str(e)
    except Skip as e:
        return ("not ok" if REQUIRE else "skip"), str(e)
    except Wrong as e:
        return "not ok", str(e)
    except Exception:
        return "not ok", traceback.format_exc()
    finally:
        try:
            place.forget()
        except Exception:
            say(traceback.format_exc())


def report(number, state, title, reason):
    if state == "not ok":
        say(reason)
    print(f"{'not ok' if state == 'not ok' else 'ok'} {number} - {title}"
          f"{' # SKIP ' + reason if state == 'skip' else ''}", flush=True)

"""The drivers of kept interpreters, without a jail: python3 -m unittest -v test_drivers."""
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from driver import Driver, PROGRAMS, SCALE  # noqa: E402

# A caller in the background ignores these, and a shell cannot trap what it was born ignoring.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


def importable(module):
    return subprocess.run(['/usr/bin/python3', '-c', 'import ' + module],
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


class Case(unittest.TestCase):
    """A fresh driver for each test, which must leave by itself when its commands end."""
    language = None

    def setUp(self):
        if not os.path.exists(PROGRAMS[self.language][0]):
            self.skipTest('no ' + PROGRAMS[self.language][0])
        self.folder = tempfile.mkdtemp(prefix='sbx-drivers-')
        self.addCleanup(shutil.rmtree, self.folder)
        self.driver = Driver(self.language, self.folder)
        self.driver_gone = False

    def tearDown(self):
        if not self.driver_gone:
            self.assertEqual(self.driver.close(), 0)

    def run_cell(self, code, **options):
        return self.driver.run(code, **options)

    def ok(self, code, **options):
        answer = self.run_cell(code, **options)
        self.assertEqual(answer.status, ('ok', 0), answer.messages + [answer.err])
        return answer

    def value(self, code, **options):
        return self.ok(code, **options).result

    def out(self, code, **options):
        return self.ok(code, **options).out.decode()

    def check_interrupted(self, code, **options):
        answer = self.driver.interrupt(code, **options)
        self.assertEqual(answer.status, ('interrupted', 130), answer.messages)
        return answer


class Common:
    """What holds for each language; the texts are the language's."""
    print_text = keep = kept = spin = exit_3 = sleep = None

    def test_says_ready_once(self):
        self.assertEqual(self.driver.started.messages, [(['ready', '1'], b'')])

    def test_output_and_nothing_else(self):
        answer = self.ok(self.print_text)
        self.assertEqual((answer.out, answer.err), (b'hi\n', b''))
        self.assertIsNone(answer.body('error_name'))

    def test_variables_are_kept(self):
        self.ok(self.keep)
        self.assertEqual(self.out(self.kept), '5\n')

    def test_exit_3_keeps_state(self):
        self.ok(self.keep)
        self.assertEqual(self.run_cell(self.exit_3).status, ('exit', 3))
        self.assertEqual(self.out(self.kept), '5\n')

    def test_interrupt_keeps_state(self):
        self.ok(self.keep)
        self.check_interrupted(self.spin)
        self.check_interrupted(self.sleep)
        self.assertEqual(self.out(self.kept), '5\n')

    def test_late_interrupt_has_no_effect(self):
        self.ok(self.keep)
        for _ in range(20):
            os.kill(self.driver.pid, signal.SIGINT)
            time.sleep(0.002)
            self.assertEqual(self.out(self.kept), '5\n')

    def test_protocol_descriptors_are_not_inherited(self):
        self.assertEqual(self.out(self.list_descriptors).split(), ['0', '1', '2', '3'])

    def test_unknown_directory(self):
        answer = self.run_cell(self.print_text, cwd='/nonexistent')
        self.assertEqual(answer.status, ('error', 126))
        self.assertEqual(answer.body('error_name'), 'CwdError')
        self.assertIn('/nonexistent', answer.body('error_value'))
        self.assertEqual(answer.out, b'')

    def test_directory_of_one_cell(self):
        here = os.path.realpath(self.folder)
        self.assertEqual(self.out(self.print_cwd, cwd='/usr'), '/usr\n')
        self.assertEqual(self.out(self.print_cwd), here + '\n')
        self.ok(self.go_to % '/usr')
        self.assertEqual(self.out(self.print_cwd), '/usr\n')
        self.ok(self.go_to % '/', cwd='/tmp')
        self.assertEqual(self.out(self.print_cwd), '/\n')

    def test_environment_of_one_cell(self):
        self.ok(self.set_env % ('B', 'mine'))
        self.assertEqual(self.out(self.print_env % 'A', env=['A=x  y\nz=']), 'x  y\nz=\n')
        self.assertEqual(self.out(self.print_env % 'A'), 'none\n')
        self.assertEqual(self.out(self.print_env % 'B', env=['B=other']), 'other\n')
        self.assertEqual(self.out(self.print_env % 'B'), 'mine\n')
        self.ok(self.set_env % ('C', 'changed'), env=['C=given'])
        self.assertEqual(self.out(self.print_env % 'C'), 'changed\n')

    def test_large_code(self):
        code = self.comment + 'x' * 300000 + '\n' + self.print_text
        self.assertEqual(self.out(code), 'hi\n')

    def test_empty_code(self):
        answer = self.ok('')
        self.assertEqual(len(answer.messages), 1)

    def test_two_cells_at_once_run_in_order(self):
        names = [self.driver.send(self.print_text) for _ in range(3)]
        self.assertEqual([self.driver.wait().end for _ in names],
                         [(name, 'ok', 0) for name in names])

    def test_emoji_byte_by_byte(self):
        self.assertEqual(self.out(self.emoji), '\N{GRINNING FACE}\n')


class TestPython(Common, Case):
    language = 'python'
    print_text = 'print("hi")'
    keep = 'x = 5'
    kept = 'print(x)'
    spin = 'while True: pass'
    exit_3 = 'import sys; sys.exit(3)'
    sleep = 'import time; time.sleep(60)'
    comment = '#'
    print_cwd = 'import os; print(os.getcwd())'
    go_to = 'import os; os.chdir("%s")'
    set_env = 'import os; os.environ["%s"] = "%s"'
    print_env = 'import os; print(os.environ.get("%s", "none"))'
    list_descriptors = ('import subprocess\nprint(subprocess.run(["ls", "/proc/self/fd"], '
                        'close_fds=False, capture_output=True, text=True).stdout)')
    emoji = ('import os\nfor b in "\N{GRINNING FACE}\\n".encode():\n    os.write(1, bytes([b]))\n')

    def test_value(self):
        self.assertEqual(self.value('40 + 2'), '42')
        self.assertEqual(self.value('_ + 1'), '43')
        self.assertIsNone(self.value('None'))
        self.assertIsNone(self.value('y = 1'))
        self.assertEqual(self.value('"a"; "b"'), "'b'")

    def test_traceback_has_the_lines_of_the_user_only(self):
        self.ok('def f(n):\n    return 1 / n\n')
        answer = self.run_cell('x = 1\nf(0)')
        self.assertEqual(answer.status, ('error', 1))
        self.assertEqual(answer.body('error_name'), 'ZeroDivisionError')
        self.assertEqual(answer.body('error_value'), 'division by zero')
        text = answer.body('traceback')
        self.assertIn('File "<cell 2>", line 2, in <module>\n    f(0)\n', text)
        self.assertIn('File "<cell 1>", line 2, in f\n    return 1 / n\n', text)
        self.assertNotIn('python.py', text)

    def test_chained_exceptions(self):
        text = self.run_cell('try:\n    1/0\nexcept Exception as e:\n    raise KeyError("k") from e'
                             ).body('traceback')
        self.assertIn('direct cause', text)
        self.assertNotIn('python.py', text)

    def test_exception_that_cannot_be_shown(self):
        answer = self.run_cell('class E(Exception):\n    def __str__(self): raise E\nraise E')
        self.assertEqual(answer.status, ('error', 1))
        self.assertEqual(answer.body('error_name'), 'E')

    def test_syntax_error_has_line_and_caret(self):
        answer = self.run_cell('x = 1\ndef f(:\n')
        self.assertEqual(answer.body('error_name'), 'SyntaxError')
        text = answer.body('traceback')
        self.assertIn('File "<cell 1>", line 2\n    def f(:\n', text)
        self.assertIn('^', text)
        self.assertNotIn('python.py', text)

    def test_exits(self):
        for code, number in (('raise SystemExit', 0), ('exit()', 0), ('quit(7)', 7),
                             ('raise SystemExit(256 + 4)', 4), ('raise SystemExit(-1)', 255)):
            self.assertEqual(self.run_cell(code).status, ('exit', number), code)
        answer = self.run_cell('raise SystemExit("sorry")')
        self.assertEqual((answer.status, answer.err), (('exit', 1), b'sorry\n'))
        self.assertEqual(self.run_cell('input()').body('error_name'), 'EOFError')

    def test_await(self):
        self.assertEqual(self.value('import asyncio\nawait asyncio.sleep(0.001, 7)'), '7')
        self.ok('queue = asyncio.Queue(); await queue.put(1)')
        self.assertEqual(self.value('await queue.get()'), '1')
        self.check_interrupted('await asyncio.sleep(60)')
        self.assertEqual(self.value('asyncio.run(asyncio.sleep(0, 8))'), '8')
        self.assertEqual(self.value('await asyncio.sleep(0, 9)'), '9')

    def test_main_module(self):
        self.ok('import pickle, dataclasses, inspect, multiprocessing\n'
                '@dataclasses.dataclass\nclass P:\n    x: int\n'
                'def square(n):\n    return n * n\n')
        self.assertEqual(self.value('pickle.loads(pickle.dumps(P(3))).x'), '3')
        self.assertEqual(self.value('__name__'), "'__main__'")
        self.assertEqual(self.value('inspect.getsource(square)'),
                         repr('def square(n):\n    return n * n\n'))
        self.assertEqual(self.value('with multiprocessing.get_context("fork").Pool(2) as pool:\n'
                                    '    r = pool.map(square, [1, 2, 3])\nr', seconds=60),
                         '[1, 4, 9]')

    def test_future_persists(self):
        self.ok('from __future__ import annotations')
        self.ok('def f(a: Unknown): pass')

    def test_interrupts(self):
        for code in ('import subprocess; subprocess.run(["sleep", "60"])',
                     'import re; re.match(r"(a+)+$", "a" * 40 + "b")',
                     'import threading; l = threading.Lock(); l.acquire(); l.acquire()',
                     'class R:\n    def __repr__(self):\n        while True: pass\nR()'):
            self.check_interrupted(code)
        # libc ignores SIGINT in the caller of system(): its child ends, the cell goes on.
        self.assertEqual(self.driver.interrupt('import os; os.system("sleep 60")').result, '2')

    def test_interrupt_again_after_it_was_caught(self):
        self.driver.send('import time\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n'
                         '    print("one")\ntime.sleep(60)')
        time.sleep(0.2)
        os.kill(self.driver.pid, signal.SIGINT)
        time.sleep(0.2)
        os.kill(self.driver.pid, signal.SIGINT)
        answer = self.driver.wait()
        self.assertEqual((answer.status, answer.out), (('interrupted', 130), b'one\n'))

    def test_500_random_interrupts_lose_no_answer(self):
        random.seed(500)
        seen = {'ok': 0, 'interrupted': 0}
        for i in range(500):
            name = self.driver.send('n = 0\nfor _ in range(%d): n += 1\n%d' % (20000, i))
            time.sleep(random.random() * 0.003)
            os.kill(self.driver.pid, signal.SIGINT)
            answer = self.driver.wait()
            self.assertEqual(answer.end[0], name)
            seen[answer.status[0]] += 1
            if answer.status[0] == 'ok':
                self.assertEqual(answer.result, str(i))
        self.assertEqual(self.value('40 + 2'), '42')
        self.assertGreater(seen['interrupted'], 10)

    def test_fork_does_not_fall_through(self):
        answer = self.ok('import os\npid = os.fork()\nprint("child" if pid == 0 else "parent")\n'
                         'if pid: print(os.waitpid(pid, 0)[1])')
        self.assertEqual(sorted(answer.out.decode().split()), ['0', 'child', 'parent'])
        answer = self.ok('if os.fork() == 0: raise SystemExit(3)\nos.waitstatus_to_exitcode('
                         'os.wait()[1]) if hasattr(os, "waitstatus_to_exitcode") else 3')
        self.assertEqual(answer.result, '3')
        self.assertEqual(self.value('1 + 1'), '2')

    def test_flush(self):
        self.assertEqual(self.out('print("a", end="")'), 'a')
        self.assertEqual(self.out('import os; print("a"); os.system("echo b"); print("c")'),
                         'a\nb\nc\n')
        self.assertEqual(self.ok('import ctypes\nctypes.CDLL(None).printf(b"libc")').out, b'libc')

    def test_hostile_cells(self):
        for code in ('import builtins; del builtins.len, builtins.print, builtins.isinstance',
                     'import builtins; builtins.repr = None; del builtins.repr',
                     'import sys; sys.stdout = None', 'import sys; sys.stdout = sys.__stdout__',
                     'import os; os.close(1)', 'sys.stdout.close()',
                     'sys.settrace(lambda *a: 1/0)', 'sys.settrace(None)',
                     'sys.setprofile(lambda *a: None)', 'sys.setprofile(None)',
                     'import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)',
                     'signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])',
                     'sys.modules["__main__"] = sys; sys.meta_path.clear() if 0 else None',
                     'os.write = os.read = None', 'del os.write', 'globals().pop("__builtins__")',
                     'sys.setrecursionlimit(60)'):
            self.run_cell(code)
        self.assertEqual(self.out('print(len("abc"))'), '3\n')
        self.ok('sys.setrecursionlimit(1000)')
        self.check_interrupted('while True: pass')

    def test_recursion(self):
        answer = self.run_cell('def f(): f()\nf()')
        self.assertEqual(answer.body('error_name'), 'RecursionError')
        self.assertLess(len(answer.body('traceback')), 65 << 10)

    def test_texts_are_bounded(self):
        answer = self.run_cell('"x" * 10**7')
        self.assertLess(len(answer.result), 66 << 10)
        self.assertIn('more bytes]', answer.result)
        answer = self.run_cell('raise ValueError("y" * 10**7)')
        self.assertLess(sum(len(body) for _, body in answer.messages), 1 << 20)

    def test_3000_cells_of_varied_output(self):
        random.seed(3000)
        for i in range(3000):
            n = random.choice((0, 1, 10, 1000, random.randrange(50000)))
            answer = self.run_cell('print("%d" * %d, end="")' % (i % 10, n))
            self.assertEqual(len(answer.out), n)

    def test_interpreter_that_dies_is_an_end_of_file(self):
        self.driver.send('import os; os._exit(5)')
        self.assertRaises(EOFError, self.driver.wait)
        self.assertEqual(self.driver.close(), 5)
        self.driver_gone = True

    @unittest.skipUnless(importable('matplotlib'), 'no matplotlib')
    def test_plots(self):
        self.ok('import matplotlib.pyplot as plt', seconds=60)
        answer = self.ok('plt.plot([1, 2])\nplt.show()\nplt.figure()\nprint("drawn")', seconds=60)
        files = answer.bodies('artifact')
        self.assertEqual(len(files), 2)
        for file in files:
            self.assertTrue(file.startswith(self.folder + '/artifacts/'))
            with open(file, 'rb') as stream:
                self.assertEqual(stream.read(4), b'\x89PNG')
        self.assertEqual((answer.out, answer.err), (b'drawn\n', b''))
        self.assertEqual(self.value('plt.get_fignums()'), '[]')

    def test_rich_values(self):
        answer = self.ok('class R:\n    def _repr_html_(self): return "<b>"\n'
                         '    def _repr_svg_(self): return None\nR()')
        with open(answer.body('artifact', 'text/html')) as stream:
            self.assertEqual(stream.read(), '<b>')
        self.assertEqual(len(answer.bodies('artifact')), 1)


class TestNode(Common, Case):
    language = 'node'
    print_text = 'console.log("hi")'
    keep = 'let x = 5;'
    kept = 'console.log(x)'
    spin = 'while (true) {}'
    exit_3 = 'process.exit(3)'
    sleep = 'await new Promise(() => {})'
    comment = '//'
    print_cwd = 'console.log(process.cwd())'
    go_to = 'process.chdir("%s")'
    set_env = 'process.env["%s"] = "%s"; undefined'
    print_env = 'console.log(process.env["%s"] ?? "none")'
    list_descriptors = 'process.stdout.write(require("child_process").execSync("ls /proc/self/fd"))'
    emoji = ('for (const b of Buffer.from("\N{GRINNING FACE}\\n")) '
             'require("fs").writeSync(1, Buffer.from([b]))')

    def test_value(self):
        self.assertEqual(self.value('40 + 2'), '42')
        self.assertEqual(self.value('_ + 1'), '43')
        self.assertIsNone(self.value('undefined'))
        self.assertEqual(self.value('null'), 'null')
        self.assertEqual(self.value('-0'), '-0')
        self.assertEqual(self.value('10n'), '10n')
        self.assertEqual(self.value('{ a: "b" }'), "{ a: 'b' }")
        self.assertEqual(self.value('new Map([[1, 2]])'), 'Map(1) { 1 => 2 }')

    def test_declarations_persist_and_repeat(self):
        self.ok('let a = 1; const b = 2; class C { v() { return 1; } }')
        self.assertEqual(self.value('[a, b, new C().v()]'), '[ 1, 2, 1 ]')
        self.ok('let a = 3; const b = 4; class C { v() { return 5; } }')
        self.assertEqual(self.value('[a, b, new C().v()]'), '[ 3, 4, 5 ]')
        answer = self.run_cell('b = 1')
        self.assertEqual(answer.body('error_name'), 'TypeError')
        self.run_cell('let broken = (() => { throw new Error("x"); })()')
        self.assertEqual(self.value('let broken = 6; broken'), '6')
        self.assertEqual(self.value('const crypto = require("crypto"); typeof crypto.createHash'),
                         "'function'")

    def test_await_and_import(self):
        self.assertEqual(self.value('const v = await Promise.resolve(7); v'), '7')
        self.assertEqual(self.value('const { readFileSync } = await import("fs"); '
                                    'typeof readFileSync'), "'function'")
        with open(os.path.join(self.folder, 'm.mjs'), 'w') as file:
            file.write('export const q = 8;')
        self.assertEqual(self.value('(await import("./m.mjs")).q'), '8')
        with open(os.path.join(self.folder, 'm.js'), 'w') as file:
            file.write('exports.q = 9;')
        self.assertEqual(self.value('require("./m.js").q'), '9')
        self.assertEqual(self.value('"import(1)".length'), '9')

    def test_errors_show_the_line_of_the_user(self):
        self.ok('function f() {\n  throw new TypeError("bad");\n}')
        answer = self.run_cell('\nf()')
        self.assertEqual(answer.status, ('error', 1))
        self.assertEqual(answer.body('error_name'), 'TypeError')
        self.assertEqual(answer.body('error_value'), 'bad')
        text = answer.body('traceback')
        self.assertIn('  throw new TypeError("bad");\n', text)
        self.assertIn('at f (<cell 1>:2:9)', text)
        self.assertIn('at <cell 2>:2:1', text)
        self.assertNotIn('node.js', text)

    def test_syntax_error_has_line_and_caret(self):
        answer = self.run_cell('1;\nlet = = 1')
        self.assertEqual(answer.body('error_name'), 'SyntaxError')
        self.assertIn('<cell 1>:2\nlet = = 1\n      ^', answer.body('traceback'))

    def test_errors_after_the_cell_are_logged(self):
        self.ok('setTimeout(() => { throw new Error("late"); }, 5); Promise.reject(new Error("un"))'
                ' && 1')
        answer = self.ok('await new Promise((r) => setTimeout(r, 50)); 1')
        texts = ' '.join(answer.bodies('log'))
        self.assertIn('late', texts)
        self.assertIn('un', texts)

    def test_timers_go_on_between_cells(self):
        self.ok('let n = 0; const t = setInterval(() => { n++; }, 2);')
        time.sleep(0.1 * SCALE)
        self.assertEqual(self.value('clearInterval(t); n > 3'), 'true')

    def test_exits(self):
        self.assertEqual(self.run_cell('try { process.exit(4) } catch {}').status, ('exit', 4))
        self.assertEqual(self.run_cell('process.exit()').status, ('exit', 0))
        self.assertEqual(self.run_cell('process.exitCode = 5').status, ('exit', 5))
        self.assertEqual(self.run_cell('setTimeout(() => process.exit(6), 5); '
                                       'await new Promise(() => {})').status, ('exit', 6))
        self.assertEqual(self.value('1'), '1')

    def test_interrupts(self):
        for code in ('/(a+)+$/.test("a".repeat(40) + "b")',
                     'for (;;) { try { for (;;); } catch {} }',
                     'require("child_process").execSync("sleep 60")',
                     '({ [require("util").inspect.custom]() { for (;;); } })'):
            self.check_interrupted(code)
        self.ok('process.on("SIGINT", () => {}); 1')
        self.check_interrupted('while (true) {}')
        self.assertEqual(self.value('1'), '1')

    def test_200_random_interrupts_lose_no_answer(self):
        random.seed(200)
        for i in range(200):
            name = self.driver.send('for (let i = 0; i < 1e6; i++); await 0; %d' % i)
            time.sleep(random.random() * 0.004)
            os.kill(self.driver.pid, signal.SIGINT)
            answer = self.driver.wait()
            self.assertEqual(answer.end[0], name)
            if answer.status[0] == 'ok':
                self.assertEqual(answer.result, str(i))
        self.assertEqual(self.value('40 + 2'), '42')

    def test_300_cells_of_varied_output(self):
        random.seed(300)
        for _ in range(300):
            n = random.choice((0, 1, 1000, random.randrange(300000)))
            answer = self.run_cell('process.stdout.write("x".repeat(%d)); 0' % n)
            self.assertEqual(len(answer.out), n)

    def test_texts_are_bounded(self):
        answer = self.run_cell('throw new Error("y".repeat(1e7))')
        self.assertLess(sum(len(body) for _, body in answer.messages), 1 << 20)


class TestShell(Common, Case):
    language = 'shell'
    print_text = 'echo hi'
    keep = 'x=5'
    kept = 'echo $x'
    spin = 'while :; do :; done'
    exit_3 = 'exit 3'
    sleep = 'sleep 60'
    comment = '#'
    print_cwd = 'pwd'
    go_to = 'cd "%s"'
    set_env = 'export %s="%s"'
    print_env = 'v=%s; echo "${!v-none}"'
    list_descriptors = 'ls /proc/self/fd'
    emoji = r"for b in f0 9f 98 80 0a; do printf '%b' '\x'$b; done"

    def test_functions_directory_and_options_are_kept(self):
        self.ok('f() { echo "f $1"; }; cd /usr; export E=1; umask 027; set -f; '
                'shopt -s extglob expand_aliases; alias ll="echo LL"')
        self.assertEqual(self.out('f a; pwd; env | grep ^E=; umask; echo *; ll'),
                         'f a\n/usr\nE=1\n0027\n*\nLL\n')
        self.ok('unset -f f; unset E; set +f; g() { [[ aab == +(a)b ]] && echo ext; }')
        self.assertEqual(self.out('g; declare -F f || echo gone; echo "${E-unset}"'),
                         'ext\ngone\nunset\n')
        self.ok('unset PATH HOME')
        self.assertEqual(self.out('echo "${PATH-none} ${HOME-none}"'), 'none none\n')

    def test_hostile_values(self):
        self.ok(r"""
for i in {1..255}; do printf -v c '\\x%x' $i; printf -v c "$c"; all+=$c; done; copy=$all
declare -A m=(["a b"]=$'1\n2' ["]"]='"' ['$(id)']='`')
arr=(1 "" "3 4"); declare -n ref=arr; declare -i num=3; printf -v long '%0100000d' 1""")
        answer = self.ok(r"""
[[ $all == "$copy" ]] && echo same
a='a b' b=']' c='$(id)'; echo "${m[$a]}|${m[$b]}|${m[$c]}"
echo "${ref[2]}" ${#arr[@]}; num+=2; echo $num ${#long}; printf %s "$all" >bytes""")
        self.assertEqual(answer.out.decode(), 'same\n1\n2|"|`\n3 4 3\n5 100000\n')
        with open(os.path.join(self.folder, 'bytes'), 'rb') as file:
            self.assertEqual(file.read(), bytes(range(1, 256)))

    def test_alias_does_not_change_functions(self):
        self.ok('shopt -s expand_aliases; f() { ls /usr/bin/env; }; alias ls="ls -l"')
        for _ in range(2):
            self.assertEqual(self.out('f; type f').count('-l'), 0)

    def test_environment_with_names_of_the_driver(self):
        self.ok('name=mine pair=mine', env=['name=a', 'pair=b', 'a.b=c'])
        self.ok('unset name pair')
        self.assertEqual(self.out('echo $name $pair', env=['name=a', 'pair=b']), 'a b\n')
        self.assertEqual(self.out('echo ${name-none} ${pair-none}'), 'none none\n')

    def test_heredocs(self):
        self.assertEqual(self.out('x=1\ncat <<A\n$x\nA\ncat <<"B"\n$x `id`\nB\n'
                                  'cat <<-C\n\ttab\n\tC\n'
                                  'cat <<X <<Y\nno\nX\n$(cat <<Z\nnested\nZ\n)\nY'),
                         '1\n$x `id`\ntab\nnested\n')
        answer = self.run_cell('cat <<EOF\nunfinished')
        self.assertEqual(answer.out, b'unfinished\n')
        self.assertEqual(self.out('echo fine'), 'fine\n')

    def test_nothing_poisons_the_next_cell(self):
        for code, status in (('false', ('error', 1)), ('exit 0', ('exit', 0)),
                             ('nosuchcommand', ('error', 127)), ('if ; then', ('error', 2)),
                             ('exec true', ('ok', 0)), ('exec false', ('error', 1)),
                             ('kill -9 $BASHPID', ('error', 137)), ('echo "open', ('error', 2)),
                             ('trap "exit 9" EXIT; exit 2', ('exit', 9)),
                             ('trap "" INT TERM; :', ('ok', 0)), ('set -n', ('ok', 0)),
                             ('exec 1>&- 2>&- 0<&-', ('ok', 0)),
                             ('f() { local v=1; exit 4; }; f', ('exit', 4)),
                             ('builtin() { exit 7; }; declare() { exit 7; }; printf() { exit 7; }; '
                              'eval() { exit 7; }; trap() { exit 7; }; :', ('ok', 0)),
                             ('unset -f builtin declare printf eval trap', ('ok', 0)),
                             ('readonly IFS=:', ('ok', 0)), ('IFS=abc', ('ok', 0))):
            self.assertEqual(self.run_cell(code).status, status, code)
            answer = self.ok('echo fine')
            self.assertEqual((answer.out, answer.err), (b'fine\n', b''), code)
        self.assertEqual(self.out('echo "${v-none}"'), 'none\n')

    def test_set_e(self):
        answer = self.run_cell('kept=1; set -e\nfalse\necho not here')
        self.assertEqual((answer.status, answer.out), (('exit', 1), b''))
        self.assertEqual(self.run_cell('echo $kept; false; echo not here').out, b'1\n')
        self.ok('set +e')
        self.assertEqual(self.out('false; echo here'), 'here\n')

    def test_set_x_shows_the_code_only(self):
        self.assertEqual(self.ok('set -x; a=1').err, b'++ a=1\n')
        self.assertEqual(self.ok('b=2').err.count(b'sbx'), 0)
        self.ok('{ set +x; } 2>/dev/null')
        self.assertEqual(self.ok('c=3').err, b'')

    def test_messages_have_the_line_of_the_cell(self):
        self.assertEqual(self.run_cell('\n\nnosuchcommand').err,
                         b'bash: line 3: nosuchcommand: command not found\n')

    def test_traps(self):
        answer = self.ok('trap "echo bye; later=1" EXIT; trap; z=3')
        self.assertEqual(answer.out, b"trap -- 'echo bye; later=1' EXIT\nbye\n")
        self.assertEqual(self.out('echo $z; trap; (trap "echo inner" EXIT; :)'), '3\ninner\n')
        self.assertEqual(self.out('trap "echo usr" USR1; trap; kill -USR1 $BASHPID'),
                         "trap -- 'echo usr' SIGUSR1\nusr\n")

    def test_readonly_is_lost_and_said(self):
        self.assertEqual(self.ok('readonly R=1 S=2; t=3').bodies('lost'), ['R', 'S'])
        answer = self.ok('echo "${R-none} $t"; R=4')
        self.assertEqual((answer.out, answer.bodies('lost')), (b'none 3\n', []))

    def test_state_of_a_replaced_shell_is_the_old_one(self):
        self.ok('v=old')
        answer = self.ok('v=new; exec true')
        self.assertIn('replaced', answer.body('log', 'warning'))
        self.assertEqual(self.out('echo $v'), 'old\n')

    def test_cell_that_stops_itself_goes_on(self):
        self.assertEqual(self.out('kill -STOP $BASHPID; echo on'), 'on\n')

    def test_background_children_live_on(self):
        begin = time.monotonic()
        self.ok('sleep 30 & pid=$!')
        self.assertLess(time.monotonic() - begin, 10 * SCALE)
        self.check_interrupted('sleep 60')
        self.ok('kill -0 $pid')
        self.ok('kill $pid')

    def test_interrupts(self):
        for code in ('while true; do nosuchcommand; done 2>/dev/null', 'cat /dev/zero >/dev/null',
                     'sleep 60 | sleep 60', '(sleep 60; :)', 'x=$(sleep 60)', 'sleep 5 & wait'):
            self.check_interrupted('v=kept; ' + code)
            self.assertEqual(self.out('echo $v'), 'kept\n')

    def test_cell_that_ignores_interrupts_is_killed_without_the_driver(self):
        self.ok('v=old')
        self.driver.send('trap "" INT; while :; do :; done')
        time.sleep(0.1)
        os.killpg(self.driver.pid, signal.SIGINT)
        time.sleep(0.1)
        os.kill(self.driver.pid, signal.SIGTERM)
        answer = self.driver.wait()
        self.assertEqual(answer.status[0], 'interrupted')
        self.assertEqual(self.out('echo $v'), 'old\n')

    def test_200_random_interrupts_lose_no_answer(self):
        random.seed(200)
        self.ok('v=kept')
        for i in range(200):
            name = self.driver.send('for ((i = 0; i < 300; i++)); do :; done; echo %d' % i)
            time.sleep(random.random() * 0.006)
            os.kill(self.driver.pid, signal.SIGINT)
            answer = self.driver.wait()
            self.assertEqual(answer.end[0], name)
            if answer.status[0] == 'ok':
                self.assertEqual(answer.out, b'%d\n' % i)
        self.assertEqual(self.out('echo $v'), 'kept\n')

    def test_200_cells_of_varied_output(self):
        random.seed(201)
        for _ in range(200):
            n = random.choice((1, 10, 1000, random.randrange(1, 200000)))
            answer = self.run_cell('printf "%%0%dd" 0' % n)
            self.assertEqual(len(answer.out), n)


if __name__ == '__main__':
    unittest.main(verbosity=2)

"""The kept Python interpreter of a context: cells come in on descriptor 3, answers go out on 4.

The protocol is in DESIGN.md, section 5. Cells run in a __main__ module of their own, so that
nothing a cell does to its names, to the builtins or to sys.stdout reaches this code. SIGINT
raises KeyboardInterrupt only while a cell is active; at any other time it has no effect, also
later. Python 3.8 and later.

Nothing is imported here that the interpreter has not loaded anyway: start-up is waited for.
"""
import _ast
import _signal
import builtins
import sys
from os import (_exit, chdir, dup2, environ, fsdecode, fstat, getcwd, getpid, makedirs, path,
                read, register_at_fork, strerror, write)
from os import close as close_fd

# What a cell does to the module builtins does not change the names that this file uses.
__builtins__ = dict(vars(builtins))

VERSION = 1
COMMANDS, ANSWERS, OUT, ERR = 251, 252, 253, 254
TEXT_MAX = 64 << 10
ARTIFACTS_MAX = 100
SOURCES_MAX = 1000
CO_COROUTINE = 0x80
HERE = (lambda: None).__code__.co_filename  # __file__ may be that of a compiled copy
PARSE = _ast.PyCF_ONLY_AST | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


class State:
    """What outlives a cell, apart from the cell's own names."""
    active = False          # a cell runs: SIGINT may raise
    main = type(sys)('__main__')
    pid = getpid()
    n_cells = 0
    future = 0              # compiler flags of `from __future__` in earlier cells
    sources = {}            # file name of a cell -> its linecache entry
    loop = None             # event loop of top-level await
    trace = profile = None  # what cells have set with sys.settrace and sys.setprofile
    libc = None
    n_modules = 0
    extension = False
    answer = bytearray()
    artifacts = []


# ---- Descriptors -------------------------------------------------------------------------------

class Commands:
    """Reads the descriptor that cells come from; its end is the end of the interpreter."""

    def __init__(self, fd):
        self.fd = fd
        self.data = bytearray()

    def fill(self):
        chunk = read(self.fd, 1 << 16)
        if not chunk:
            leave(0)
        self.data += chunk

    def take(self, n_bytes):
        while len(self.data) < n_bytes:
            self.fill()
        piece = bytes(self.data[:n_bytes])
        del self.data[:n_bytes]
        return piece

    def until(self, end):
        start = 0
        while True:
            found = self.data.find(end, start)
            if found >= 0:
                piece = bytes(self.data[:found])
                del self.data[:found + 1]
                return piece
            start = len(self.data)
            self.fill()

    def cell(self):
        """Returns: (id, code, cwd, [(name, value)]) of the next cell, in bytes."""
        words = self.until(b'\n').split()
        if len(words) != 5 or words[0] != b'cell':
            leave(70)
        code = self.take(int(words[2]) + 1)[:-1]
        cwd = self.take(int(words[3]) + 1)[:-1]
        pairs = (self.until(b'\0').partition(b'=') for _ in range(int(words[4])))
        return words[1], code, cwd, [(fsdecode(name), fsdecode(value)) for name, _, value in pairs]


def leave(code):
    """Ends the process without handlers of the user's, which could hang; its output is kept."""
    flush_streams()
    _exit(code)


def clip(text):
    data = text.encode('utf-8', 'replace')
    if len(data) <= TEXT_MAX:
        return data
    head = data[:TEXT_MAX].decode('utf-8', 'ignore').encode('utf-8')
    return head + b'\n[... %d more bytes]' % (len(data) - len(head))


def say(verb, text=''):
    """Adds one message to the answer; it is sent as a whole, by send_answer."""
    body = clip(text)
    State.answer += b'%s %d\n' % (verb.encode('ascii'), len(body)) + body


def send_answer():
    if getpid() != State.pid:
        leave(0)
    data = memoryview(bytes(State.answer))
    State.answer.clear()
    try:
        while data:
            data = data[write(ANSWERS, data):]
    except OSError:
        leave(70)


def flush_streams():
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()
        except BaseException:  # the cell may have put anything there
            pass


def flush_libc():
    """C's stdio has a buffer of its own, of use to extensions and ctypes only."""
    if State.libc is None:
        if not State.extension and not has_extension():
            return
        State.extension = True
        import ctypes
        State.libc = ctypes.CDLL(None).fflush
    State.libc(None)


def has_extension():
    modules = sys.modules
    if len(modules) == State.n_modules:
        return False
    State.n_modules = len(modules)
    if '_ctypes' in modules:
        return True
    for module in list(modules.values()):
        name = getattr(module, '__file__', None)
        if type(name) is str and name.endswith('.so') and '/lib-dynload/' not in name:
            return True
    return False


def reopen_streams():
    """A cell that closed its output, or said exit(), did so for itself only."""
    for fd, spare in ((1, OUT), (2, ERR)):
        try:
            fstat(fd)
        except OSError:
            dup2(spare, fd)
    for name, fd, mode in (('stdin', 0, 'r'), ('stdout', 1, 'w'), ('stderr', 2, 'w')):
        if getattr(getattr(sys, name, None), 'closed', False) is True:
            buffering = 1 if mode == 'w' else -1
            stream = open(fd, mode, buffering, 'utf-8', 'backslashreplace', closefd=False)
            setattr(sys, name, stream)


# ---- Running -----------------------------------------------------------------------------------

def on_interrupt(_number, _frame):
    if State.active:
        raise KeyboardInterrupt


def guard(function, *arguments):
    """Calls what may run code of the user's. Returns: (value, None) or (None, exception).

    An interrupt can raise in every place where State.active is true, the first lines of the
    inner finally included, therefore the second assignment.
    """
    try:
        try:
            State.active = True
            return function(*arguments), None
        finally:
            State.active = False
    except BaseException as error:
        State.active = False
        return None, error


def compile_cell(source, name):
    """Returns: (code of all statements but a last expression, code of that), either may be None."""
    flags = PARSE | State.future
    tree = compile(source, name, 'exec', flags, True)
    flags &= ~_ast.PyCF_ONLY_AST
    last = None
    if tree.body and isinstance(tree.body[-1], _ast.Expr):
        last = _ast.Expression(tree.body.pop().value)
    body = compile(tree, name, 'exec', flags, True) if tree.body else None
    if body is not None and b'__future__' in source:
        import __future__ as future
        for feature in future.all_feature_names:
            State.future |= body.co_flags & getattr(future, feature).compiler_flag
        flags |= State.future
    return body, last and compile(last, name, 'eval', flags, True)


def evaluate(code):
    value = eval(code, State.main.__dict__)
    return run_coroutine(value) if code.co_flags & CO_COROUTINE else value


def run_coroutine(coroutine):
    import asyncio
    if State.loop is None or State.loop.is_closed():
        State.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(State.loop)
    task = State.loop.create_task(coroutine)
    try:
        return State.loop.run_until_complete(task)
    except BaseException:
        # An interrupt leaves the loop, not the task: it must not go on in a later cell.
        if not task.done():
            task.cancel()
            State.loop.run_until_complete(asyncio.wait([task]))
        raise


def run_source(source, name):
    sys.settrace(State.trace)
    sys.setprofile(State.profile)
    try:
        body, last = compile_cell(source, name)
        if body is not None:
            evaluate(body)
        return evaluate(last) if last is not None else None
    finally:
        State.trace, State.profile = sys.gettrace(), sys.getprofile()
        sys.settrace(None)
        sys.setprofile(None)


def prepare():
    """Takes back from earlier cells what this file needs to work."""
    _signal.signal(_signal.SIGINT, on_interrupt)
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGINT,))
    reopen_streams()
    present = vars(builtins)
    if not __builtins__.keys() <= present.keys():
        for name in __builtins__.keys() - present.keys():  # without them no import works
            present[name] = __builtins__[name]
    main = State.main
    main.__dict__.setdefault('__builtins__', builtins)
    sys.modules['__main__'] = main


def keep_source(source, name):
    lines = source.decode('utf-8', 'replace').splitlines(True)
    if lines and not lines[-1].endswith('\n'):
        lines[-1] += '\n'
    entry = (len(source), None, lines, name)
    State.sources[name] = entry
    if len(State.sources) > SOURCES_MAX:
        del State.sources[next(iter(State.sources))]
    cache = sys.modules.get('linecache')
    if cache is not None:
        cache.cache[name] = entry


def run_cell(source, cwd, pairs):
    """Runs a cell. Returns: (status, code) for its last message; the others are said."""
    State.n_cells += 1
    name = '<cell %d>' % State.n_cells
    State.artifacts = []
    prepare()
    before = getcwd_or_none()
    try:
        if cwd:
            chdir(cwd)
    except OSError as error:
        say('error_name', 'CwdError')
        say('error_value', '%s: %s' % (fsdecode(cwd), strerror(error.errno)))
        return b'error', 126
    inside = getcwd_or_none() if cwd else None
    saved = [(key, environ.get(key), value) for key, value in pairs]
    for key, value in pairs:
        environ[key] = value
    keep_source(source, name)
    limit = sys.getrecursionlimit()
    value, error = guard(run_source, source, name)
    if getpid() != State.pid:
        leave_fork(error)
    limit_after = sys.getrecursionlimit()
    if limit_after < limit:
        sys.setrecursionlimit(limit)
    if error is None and value is not None:
        error = guard(show_value, value)[1]
    outcome = finish(error)
    restore(before if inside and getcwd_or_none() == inside else None, saved)
    if limit_after < limit:
        try:
            sys.setrecursionlimit(limit_after)
        except RecursionError:
            pass
    return outcome


def finish(error):
    """Says how a cell ended, once everything it printed and drew is out."""
    figures = guard(save_figures, cell_name())[1]
    if figures is not None and error is None:
        error = figures
    outcome = describe(error) if error is not None else (b'ok', 0)
    for flush in (flush_streams, flush_libc):
        interrupted = guard(flush)[1]
        if isinstance(interrupted, KeyboardInterrupt) and outcome[0] == b'ok':
            outcome = describe(interrupted)
    return outcome


def restore(cwd, saved):
    """Ends the overrides of one cell; what the cell itself has changed stays as it left it."""
    if cwd is not None:
        try:
            chdir(cwd)
        except OSError as error:
            say('log warning', 'cannot go back to %s: %s' % (cwd, strerror(error.errno)))
    for key, old, value in reversed(saved):
        if environ.get(key) != value:
            continue
        if old is None:
            del environ[key]
        else:
            environ[key] = old


def getcwd_or_none():
    try:
        return getcwd()
    except OSError:
        return None


def leave_fork(error):
    """A cell has forked and its child came to the end of the code: there is no more for it."""
    code = 0
    if isinstance(error, SystemExit):
        code = exit_code(error)
    elif error is not None:
        code = 1
        text, _ = guard(format_error, error)
        guard(lambda: sys.stderr.write(text or ''))
    guard(flush_libc)
    leave(code)


# ---- Answers -----------------------------------------------------------------------------------

def describe(error):
    """Says what a cell died of. Returns: (status, code) for its last message."""
    if isinstance(error, SystemExit):
        return b'exit', exit_code(error)
    say('error_name', type(error).__name__)
    value, failed = guard(lambda: str(error))
    say('error_value', '<exception str() failed>' if failed is not None else value)
    text, _ = guard(format_error, error)
    if not isinstance(text, str):
        text = '%s: %s\n' % (type(error).__name__, value)
    say('traceback', text)
    return (b'interrupted', 130) if isinstance(error, KeyboardInterrupt) else (b'error', 1)


def exit_code(error):
    code = error.code
    if code is None:
        return 0
    if isinstance(code, int):
        return int(code) & 0xff
    guard(lambda: print(code, file=sys.stderr))
    return 1


def format_error(error):
    import linecache
    import traceback
    linecache.cache.update(State.sources)
    report = traceback.TracebackException(type(error), error, error.__traceback__)
    strip_frames(report, 0)
    chained = report.__cause__ is not None or report.__context__ is not None
    whole = report.stack or chained or getattr(report, 'exceptions', None)
    return ''.join(report.format() if whole else report.format_exception_only())


def strip_frames(report, depth):
    """Leaves the frames from the user's first on, without those of this file."""
    if report is None or depth > 100:
        return
    frames = [frame for frame in report.stack if frame.filename != HERE]
    for i, frame in enumerate(frames):
        if frame.filename.startswith('<cell '):
            del frames[:i]
            break
    report.stack[:] = frames
    strip_frames(report.__cause__, depth + 1)
    strip_frames(report.__context__, depth + 1)
    for inner in getattr(report, 'exceptions', None) or ():
        strip_frames(inner, depth + 1)


RICH = (('_repr_png_', 'image/png', 'png'), ('_repr_svg_', 'image/svg+xml', 'svg'),
        ('_repr_html_', 'text/html', 'html'))


def show_value(value):
    text = repr(value)
    builtins._ = value
    say('result text/plain', text)
    if isinstance(value, type):
        return
    for method, mime, suffix in RICH:
        draw = getattr(type(value), method, None)
        if draw is None:
            continue
        try:
            data = draw(value)
        except Exception as error:
            say('log warning', '%s failed: %s: %s' % (method, type(error).__name__, error))
            continue
        if isinstance(data, (bytes, str)):
            data = data.encode('utf-8', 'replace') if isinstance(data, str) else data
            save_artifact(mime, suffix, lambda name, data=data: write_file(name, data))


def write_file(name, data):
    with open(name, 'wb') as file:
        file.write(data)


def cell_name():
    return 'cell-%d-%d' % (State.pid, State.n_cells)


def save_artifact(mime, suffix, save):
    """Calls save(path) for a new file and says so."""
    if len(State.artifacts) >= ARTIFACTS_MAX:
        if len(State.artifacts) == ARTIFACTS_MAX:
            State.artifacts.append(None)
            say('log warning', 'more than %d artifacts: the others are dropped' % ARTIFACTS_MAX)
        return
    folder = path.abspath(environ.get('SBX_ARTIFACTS') or '/tmp/artifacts')
    try:
        makedirs(folder, exist_ok=True)
        number = len(State.artifacts) + 1
        name = path.join(folder, '%s-%d.%s' % (cell_name(), number, suffix))
        save(name)
    except OSError as error:
        say('log warning', 'artifact not saved: %s' % error)
        return
    State.artifacts.append(name)
    say('artifact ' + mime, name)


# ---- Modules that are helped when the user imports them -----------------------------------------

def save_figures(*_arguments, **_options):
    """Every open figure of pyplot becomes a file; it takes the place of pyplot.show."""
    pyplot = sys.modules.get('matplotlib.pyplot')
    if pyplot is None or not hasattr(pyplot, 'get_fignums'):
        return
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        try:
            save_artifact('image/png', 'png', lambda name, f=figure: f.savefig(name, format='png'))
        finally:
            pyplot.close(figure)


def loaded_pyplot(module):
    module.show = save_figures


def loaded_linecache(module):
    """Not only tracebacks: inspect.getsource finds the functions of cells there."""
    module.cache.update(State.sources)


class ImportWatch:
    """A finder that finds nothing itself: it calls a hook after the first import of a module."""
    hooks = {'matplotlib.pyplot': loaded_pyplot, 'linecache': loaded_linecache}

    @classmethod
    def find_spec(cls, name, places=None, target=None):
        hook = cls.hooks.get(name)
        if hook is None:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, 'find_spec', None)
            spec = find(name, places, target) if find and finder is not cls else None
            if spec is not None:
                cls.wrap(spec.loader, hook)
                return spec
        return None

    @staticmethod
    def wrap(loader, hook):
        def exec_module(module):
            del loader.exec_module
            loader.exec_module(module)
            hook(module)
        try:
            loader.exec_module = exec_module
        except AttributeError:  # a built-in loader: no hook, nothing lost but comfort
            pass


# ---- Start -------------------------------------------------------------------------------------

def close_in_child():
    """A forked child is no interpreter of the supervisor's."""
    for fd in (COMMANDS, ANSWERS):
        try:
            close_fd(fd)
        except OSError:
            pass


def set_up():
    for fd, safe in ((3, COMMANDS), (4, ANSWERS), (1, OUT), (2, ERR)):
        dup2(fd, safe, False)
    close_fd(3)
    close_fd(4)
    register_at_fork(after_in_child=close_in_child)
    _signal.signal(_signal.SIGINT, on_interrupt)
    environ.setdefault('MPLBACKEND', 'Agg')  # the other backends want a display
    if not environ.get('PYTHONUNBUFFERED'):
        sys.stdout.reconfigure(line_buffering=True)
        sys.stderr.reconfigure(line_buffering=True)
    State.main.__dict__.update(__builtins__=builtins, __spec__=None)
    State.driver = sys.modules['__main__']
    sys.modules['__main__'] = State.main
    sys.path[0] = ''  # as python3 - does it; it was the directory of this file
    sys.meta_path.insert(0, ImportWatch)


def preload():
    """Imports what the command line names. Returns: a line for each that fails."""
    names = sys.argv[1:]
    del sys.argv[1:]
    failures = []
    for name in names:
        error = guard(__import__, name)[1]
        if error is not None:
            text, _ = guard(lambda: str(error))
            failures.append('preload of %s failed: %s: %s' % (name, type(error).__name__, text))
    flush_streams()
    return failures


def main():
    set_up()
    commands = Commands(COMMANDS)
    failures = preload()
    say('ready %d' % VERSION)
    send_answer()
    for failure in failures:  # part of the first answer
        say('log warning', failure)
    while True:
        cell_id, *cell = commands.cell()
        status, number = run_cell(*cell)
        State.answer += b'done %s %s %d 0\n' % (cell_id, status, number)
        send_answer()


exec('main()', {'main': main})  # Python < 3.10 takes the builtins of the caller's globals if it can

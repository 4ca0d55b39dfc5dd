"""Drives an interpreter's driver over pipes, without any jail: what the supervisor does."""
import os
import select
import signal
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, '..', '..', 'lib', 'session', 'drivers')
PROGRAMS = {
    'python': ['/usr/bin/python3', os.path.join(FOLDER, 'python.py')],
    'node': ['/usr/bin/node', os.path.join(FOLDER, 'node.js')],
    'shell': ['/bin/bash', os.path.join(FOLDER, 'shell.sh')],
}
SCALE = float(os.environ.get('SBX_TEST_SCALE', '1'))
ENVIRONMENT = {'PATH': '/usr/bin:/bin', 'LANG': 'C.UTF-8', 'HOME': '/tmp'}


class Answer:
    """All messages up to `done`, and what came out until the pipes were empty."""

    def __init__(self):
        self.messages = []
        self.out = self.err = b''

    def body(self, *verb):
        """The body of the first message of a verb, or None."""
        for words, body in self.messages:
            if tuple(words[:len(verb)]) == verb:
                return body.decode()
        return None

    def bodies(self, verb):
        return [body.decode() for words, body in self.messages if words[0] == verb]

    @property
    def end(self):
        """(id, status, code) of the last message."""
        words = self.messages[-1][0]
        return words[1], words[2], int(words[3])

    @property
    def status(self):
        return self.end[1:]

    @property
    def result(self):
        return self.body('result', 'text/plain')


class Driver:
    """One running driver; every wait has a bound."""

    def __init__(self, language, folder, env=None):
        command_in, self.commands = os.pipe()
        self.answers, answer_out = os.pipe()
        self.out, out = os.pipe()
        self.err, err = os.pipe()
        ends = (command_in, answer_out, out, err)

        def arrange():
            os.setsid()
            high = [os.dup2(fd, 200 + i) for i, fd in enumerate(ends)]
            for fd, target in zip(high, (3, 4, 1, 2)):
                os.dup2(fd, target)
            os.closerange(5, 256)

        self.process = subprocess.Popen(
            PROGRAMS[language], stdin=subprocess.DEVNULL, preexec_fn=arrange, close_fds=False,
            cwd=folder, env=dict(ENVIRONMENT, SBX_ARTIFACTS=os.path.join(folder, 'artifacts'),
                                 **(env or {})))
        for fd in ends:
            os.close(fd)
        self.pid = self.process.pid
        self.data = b''
        self.texts = {self.out: b'', self.err: b''}
        self.n_cells = 0
        for fd in self.texts:
            os.set_blocking(fd, False)
        self.started = self.wait(verb='ready')

    def fill(self, end):
        """Reads the answers once, and the output while it waits, as the supervisor must."""
        while True:
            left = end - time.monotonic()
            ready = select.select([self.answers, *self.texts], [], [], max(0, left))[0]
            for fd in ready:
                if fd != self.answers:
                    self.drain(fd)
            if self.answers in ready:
                data = os.read(self.answers, 1 << 16)
                if not data:
                    raise EOFError('the driver is dead: %r' % self.texts[self.err][-2000:])
                self.data += data
                return
            if left <= 0:
                raise TimeoutError('no answer: %r' % self.data[-500:])

    def drain(self, fd):
        try:
            while True:
                data = os.read(fd, 1 << 16)
                self.texts[fd] += data
                if not data:
                    return
        except BlockingIOError:
            pass

    def message(self, end):
        while b'\n' not in self.data:
            self.fill(end)
        line, _, self.data = self.data.partition(b'\n')
        words = line.decode().split(' ')
        n_bytes = int(words.pop())
        while len(self.data) < n_bytes:
            self.fill(end)
        body, self.data = self.data[:n_bytes], self.data[n_bytes:]
        return words, body

    def send(self, code, cwd='', env=()):
        """Gives a cell; returns its id."""
        self.n_cells += 1
        name = 'exec_%d' % self.n_cells
        code, cwd = os.fsencode(code), os.fsencode(cwd)
        data = b'cell %s %d %d %d\n%s\0%s\0' % (name.encode(), len(code), len(cwd), len(env), code,
                                                cwd)
        data += b''.join(os.fsencode(pair) + b'\0' for pair in env)
        while data:
            data = data[os.write(self.commands, data):]
        return name

    def wait(self, seconds=20, verb='done'):
        answer = Answer()
        end = time.monotonic() + seconds * SCALE
        while not answer.messages or answer.messages[-1][0][0] != verb:
            answer.messages.append(self.message(end))
        for fd in self.texts:
            self.drain(fd)
        answer.out, answer.err = self.texts[self.out], self.texts[self.err]
        self.texts = {self.out: b'', self.err: b''}
        return answer

    def run(self, code, cwd='', env=(), seconds=20):
        name = self.send(code, cwd, env)
        answer = self.wait(seconds)
        if answer.end[0] != name:
            raise AssertionError('answer to %s instead of %s' % (answer.end[0], name))
        return answer

    def interrupt(self, code, after=0.1, seconds=20, group_after=0.3):
        """Runs a cell that does not end and interrupts it; the steps are the supervisor's."""
        self.send(code)
        time.sleep(after)
        os.kill(self.pid, signal.SIGINT)
        try:
            return self.wait(group_after)
        except TimeoutError:
            os.killpg(self.pid, signal.SIGINT)
        return self.wait(seconds)

    def close(self):
        """Closes the commands. Returns: the exit status; the driver has to leave at once."""
        os.close(self.commands)
        try:
            return self.process.wait(5 * SCALE)
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
            self.process.wait()
            raise
        finally:
            for fd in (self.answers, self.out, self.err):
                os.close(fd)

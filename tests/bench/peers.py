"""The programs that sbx is measured against: which are here, and how each is called."""
import json
import os
import shutil
import subprocess
import tempfile

PACKAGES = {'bwrap': 'bubblewrap', 'crun': 'crun', 'runc': 'runc'}
BWRAP = ['--unshare-all', '--ro-bind', '/', '/']


def first_line(argv):
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().split('\n')[0]


def version(name):
    return f'{name} {first_line([name, "--version"]).split()[-1]}'


def jupyter_python():
    """An interpreter that has ipykernel, or None."""
    for python in ('/usr/bin/python3', shutil.which('python3')):
        if python and subprocess.run([python, '-c', 'import ipykernel, jupyter_client'],
                                     capture_output=True, check=False).returncode == 0:
            return python
    return None


class Containers:
    """Bundles for crun and runc, and what is started from them.

    crun refuses a hybrid cgroup layout. It then runs in a mount namespace without the v2 half;
    nothing outside changes.
    """

    def __init__(self, work):
        self.work = work
        self.holder = None
        self.running = []
        self.mnt = []
        if os.geteuid() == 0 and os.path.ismount('/sys/fs/cgroup/unified'):
            self.holder = subprocess.Popen(
                ['unshare', '-m', 'sh', '-c', 'umount /sys/fs/cgroup/unified && echo && exec cat'],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            if self.holder.stdout.readline():
                self.mnt = ['-m', f'/proc/{self.holder.pid}/ns/mnt']

    def bundle(self, runtime, name, args):
        path = f'{self.work}/{runtime}-{name}'
        os.makedirs(f'{path}/rootfs/usr')
        subprocess.run([runtime, 'spec'] + ([] if os.geteuid() == 0 else ['--rootless']),
                       cwd=path, check=True, capture_output=True)
        with open(f'{path}/config.json') as f:
            config = json.load(f)
        config['process'].update(terminal=False, args=args)
        config['root'] = {'path': 'rootfs', 'readonly': True}
        config['mounts'].append({'destination': '/usr', 'type': 'bind', 'source': '/usr',
                                 'options': ['rbind', 'ro']})
        for directory in ('bin', 'sbin', 'lib', 'lib32', 'lib64'):
            if os.path.islink('/' + directory):
                os.symlink(os.readlink('/' + directory), f'{path}/rootfs/{directory}')
            elif os.path.isdir('/' + directory):
                os.mkdir(f'{path}/rootfs/{directory}')
                config['mounts'].append({'destination': '/' + directory, 'type': 'bind',
                                         'source': '/' + directory, 'options': ['rbind', 'ro']})
        with open(f'{path}/config.json', 'w') as f:
            json.dump(config, f)
        return path

    def enter(self, runtime):
        """Options of bench-timed."""
        return self.mnt if runtime == 'crun' else []

    def command(self, runtime, *args):
        return [shutil.which(runtime), '--root', f'{self.work}/{runtime}-state', *args]

    def run(self, runtime, name='run'):
        path = self.bundle(runtime, name, ['/bin/true'])
        return self.command(runtime, 'run', '--bundle', path, f'sbx-bench-{os.getpid()}-{name}')

    def call(self, timed, runtime, *args):
        """One call, in its namespace: a sample that nobody reads. A container that stays
        keeps its stderr open, so that is no pipe."""
        with tempfile.TemporaryFile() as err:
            done = subprocess.run([timed, *self.enter(runtime), *self.command(runtime, *args)],
                                  input=b'\n', stdout=subprocess.DEVNULL, stderr=err, check=False)
            err.seek(0)
            return done.returncode == 0, err.read().decode(errors='replace').strip().split('\n')[-1]

    def keep(self, timed, runtime):
        """A container that sleeps; its id."""
        path = self.bundle(runtime, 'keep', ['/usr/bin/sleep', '1000'])
        name = f'sbx-bench-{os.getpid()}-keep'
        good, why = self.call(timed, runtime, 'run', '--detach', '--bundle', path, name)
        if not good:
            return None, why
        self.running.append((timed, runtime, name))
        return name, ''

    def close(self):
        for timed, runtime, name in self.running:
            self.call(timed, runtime, 'delete', '--force', name)
        if self.holder:
            self.holder.stdin.close()
            self.holder.wait()
            self.holder.stdout.close()

"""Makes what the machine of `make check-vm` boots: Debian's cloud kernel and a disk.

Nothing of it needs root, and nothing is installed: the kernel's package is unpacked beside the
image. The disk is ext4, made by `mke2fs -d` from a tree of copies: the programs that the tests
call, each with the libraries it is linked with, python3 with its library, the build and the
tests. (No node: 120 MB, and what it does is the same on each kernel.) NVMe and ext4 are built into this kernel, so there is no initramfs; 9p is not in it.
"""
import glob
import os
import re
import shutil
import subprocess

KERNEL = "linux-image-cloud-amd64"
MODULES = ("overlay", "loop", "tun", "veth", "virtio", "virtio_ring")

# Whole packages, as this machine has them.
PACKAGES = ("bash dash coreutils findutils grep sed mawk gawk diffutils tar gzip util-linux mount procps "
            "hostname libc-bin bsdutils perl-base python3-minimal python3.11-minimal strace uidmap "
            "ncurses-bin base-files base-passwd login passwd kmod").split()
PROGRAMS = ("sh", "bash", "python3", "perl", "awk", "strace", "newuidmap")
# Below /usr/lib/python3.*: nothing of it is imported by a test.
LEFT_OUT = ("test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip", "pydoc_data")
ETC = ("passwd", "group", "nsswitch.conf", "hosts", "host.conf", "ld.so.cache", "ld.so.conf",
       "ld.so.conf.d", "localtime", "protocols", "services", "ssl/openssl.cnf")


def output(*argv):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout.decode()


def download_kernel(folder):
    """The path of the package. Its name changes with each security update."""
    found = re.search(r"Depends: (linux-image-\S+)", output("apt-cache", "depends", KERNEL))
    subprocess.run(["apt-get", "download", "-qq", found.group(1)], cwd=folder, check=True, stderr=subprocess.DEVNULL)
    [deb] = glob.glob(f"{folder}/{found.group(1)}_*.deb")
    return deb


def unpack_kernel(folder):
    """Downloads the kernel's package once; the path of the kernel, and of its modules."""
    found = glob.glob(f"{folder}/kernel/boot/vmlinuz-*")
    if not found:
        os.makedirs(f"{folder}/packages", exist_ok=True)
        try:
            deb = download_kernel(f"{folder}/packages")
        except (subprocess.CalledProcessError, AttributeError):
            # The list of packages is missing, or older than the archive.
            subprocess.run(["apt-get", "update", "-qq"], check=True)
            deb = download_kernel(f"{folder}/packages")
        shutil.rmtree(f"{folder}/kernel", ignore_errors=True)
        subprocess.run(["dpkg", "-x", deb, f"{folder}/kernel.new"], check=True)
        os.rename(f"{folder}/kernel.new", f"{folder}/kernel")
        os.unlink(deb)
        found = glob.glob(f"{folder}/kernel/boot/vmlinuz-*")
    return found[0], glob.glob(f"{folder}/kernel/lib/modules/*")[0]


class Tree:
    """A tree of copies, each path as on this machine."""

    def __init__(self, top):
        self.top, self.linked = top, []
        shutil.rmtree(top, ignore_errors=True)
        for path in ("usr/local/bin", "usr/local/src", "usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "etc", "proc", "sys", "dev", "run",
                     "tmp", "root", "var/tmp", "var/lib", "home", "vm"):
            os.makedirs(f"{top}/{path}")
        for name in ("bin", "sbin", "lib", "lib64"):
            os.symlink(f"usr/{name}", f"{top}/{name}")
        os.chmod(f"{top}/tmp", 0o1777)
        os.chmod(f"{top}/var/tmp", 0o1777)
        os.chmod(f"{top}/root", 0o700)

    def place(self, path):
        """Where a path of this machine goes: /bin is /usr/bin here as there."""
        folder = os.path.realpath(os.path.dirname(path))
        to = f"{self.top}{folder}/{os.path.basename(path)}"
        os.makedirs(os.path.dirname(to), exist_ok=True)
        return to

    def add(self, path):
        """A file, and what it points to."""
        to = self.place(path)
        if os.path.lexists(to) or not os.path.exists(path) or os.path.isdir(path):
            return
        if os.path.islink(path):
            os.symlink(os.readlink(path), to)
            self.add(os.path.join(os.path.dirname(path), os.readlink(path)))
            return
        shutil.copy2(path, to)
        os.chmod(to, os.stat(to).st_mode | 0o444)
        self.note(path)

    def note(self, path):
        with open(path, "rb") as f:
            if f.read(4) == b"\x7fELF":
                self.linked.append(path)

    def add_libraries(self):
        """What was added needs, and what that needs."""
        while self.linked:
            paths, self.linked = self.linked, []
            listed = subprocess.run(["ldd", *paths], check=False, stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL).stdout.decode()
            for library in set(re.findall(r"(/\S+) \(0x", listed)):
                self.add(library)

    def add_folder(self, path, left_out=()):
        for top, folders, files in os.walk(path):
            folders[:] = [d for d in folders if d not in left_out and not d.startswith("config-")]
            for name in files:
                self.add(f"{top}/{name}")

    def put(self, source, name, mode=0o755):
        """A file of the build or of the tests, below /vm."""
        to = f"{self.top}/vm/{name}"
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copyfile(source, to)
        os.chmod(to, mode)
        self.note(source)


def add_system(tree):
    have = [p for p in PACKAGES if not subprocess.run(["dpkg-query", "-L", p], check=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode]
    for path in output("dpkg-query", "-L", *have).splitlines():
        if re.match(r"/(usr/)?(bin|sbin|lib|lib64|libexec)/", path) and "/locale/" not in path:
            tree.add(path)
    for name in PROGRAMS:
        path = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")
        if path:
            tree.add(path)
    for path in glob.glob("/usr/lib/python3.*"):
        tree.add_folder(path, LEFT_OUT)
    tree.add_folder("/usr/lib/locale/C.utf8")
    for path in glob.glob("/lib/x86_64-linux-gnu/libnss_*.so*"):
        tree.add(path)
    for name in ETC:
        path = f"/etc/{name}"
        if os.path.isdir(path):
            tree.add_folder(path)
        else:
            tree.add(path)


def add_modules(tree, modules):
    """The few that are needed; the guest loads them by path."""
    for name in MODULES:
        for path in glob.glob(f"{modules}/**/{name}.ko", recursive=True):
            tree.put(path, f"modules/{name}.ko", 0o644)


def make_disk(tree, path, bytes_):
    """Files of the caller become root's: mke2fs runs as id 0 of a user namespace."""
    if os.path.exists(path):
        os.unlink(path)
    tree.add_libraries()
    as_root = [] if os.geteuid() == 0 else ["unshare", "-Ur"]
    subprocess.run([*as_root, "mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-E",
                    "root_owner=0:0,lazy_itable_init=1", "-m", "0", "-d", tree.top, path,
                    f"{bytes_ >> 20}M"], check=True)

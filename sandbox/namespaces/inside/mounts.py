"""The mounts of one sandbox: its sized tmpfs, and the layers of its workspace.

One tmpfs holds everything that may be written. It is mounted at ``/box/store``, where it is covered, so code inside
reaches only what is mounted elsewhere from it: the workspace, /tmp and /dev/shm. The workspace is a plain folder of the
tmpfs until the first snapshot. A snapshot freezes that folder (nothing can write there any more) and mounts an overlay
with the frozen folders below and a new one on top, which takes as long for a thousand files as for one.
"""

from __future__ import annotations

import _socket
import _struct as struct
import posix as os

from sandbox.namespaces.init import Long, _check, _libc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BOX, WORK = "/box", "/box/work"
_STORE, _NEXT = "/box/store", "/box/next"
_NOSUID, _NODEV, _NOEXEC, _READ_ONLY, _BIND, _MOVE = 2, 4, 8, 1, 4096, 8192
_DETACH = 2
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1
# The same numbers on every architecture; OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC, MOVE_MOUNT_F_EMPTY_PATH
_OPEN_TREE, _MOVE_MOUNT, _CLONE, _FROM_EMPTY, _CWD = 428, 429, 0x80001, 4, -100


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """mount(2). Raises OSError."""
    _check(_libc.mount(source.encode(), target.encode(), kind.encode(), flags, options.encode()), f"mounting {target}")


def unmount(target: str) -> None:
    """umount2(2), also while it is in use. Raises OSError."""
    _check(_libc.umount2(target.encode(), _DETACH), f"unmounting {target}")


def mount_processes() -> None:
    """A /proc that shows the process namespace of the caller."""
    mount("proc", "/proc", "proc", _NOSUID | _NODEV | _NOEXEC)


def mount_fresh(config: dict[str, Any]) -> None:
    """One sized tmpfs of its own for the workspace, /tmp and /dev/shm, over the ones that are there."""
    mount("box", BOX, "tmpfs", _NOSUID | _NODEV, f"{_options(config)},mode=755")
    for name in ("work", "tmp", "shm"):
        os.mkdir(f"{BOX}/{name}", 0o755)
        os.chown(f"{BOX}/{name}", config["uid"], config["gid"])


def _options(config: dict[str, Any]) -> str:
    return f"size={config['disk_bytes']},nr_inodes={config['files']},uid={os.getuid()},gid={os.getgid()}"


def raise_loopback() -> None:
    """Start the loopback of a new network namespace, its only device."""
    control = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    request = struct.pack("16sH14x", b"lo", _IFF_UP)
    _check(_libc.ioctl(control.fileno(), Long(_SIOCSIFFLAGS), request), "starting the loopback")
    control.close()


def detached(store: int, name: str) -> int:
    """A mount of a layer that is in no namespace: a descriptor that any sandbox can attach, once. Raises OSError.

    ``store`` must be of the mount namespace of the caller.
    """
    fd = _libc.syscall(Long(_OPEN_TREE), store, name.encode(), _CLONE)
    _check(min(fd, 0), "open_tree")
    return int(fd)


def _attach(fd: int, target: str) -> None:
    _check(_libc.syscall(Long(_MOVE_MOUNT), fd, b"", _CWD, target.encode(), _FROM_EMPTY), "move_mount")


class Files:
    """What a sandbox can write. ``work`` and ``store`` are descriptors of the workspace's root and of the tmpfs.

    Args:
        config: disk_bytes, files, uid, gid (the owner inside), user (no rights outside a user namespace).

    Raises:
        OSError: it cannot be mounted.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        self._owner = config["uid"], config["gid"]
        # Only the machine's root may write the attributes that let an overlay rename folders of the layers below.
        self._overlay = "userxattr" if config["user"] else "redirect_dir=on"
        mount("box", _STORE, "tmpfs", _NOSUID | _NODEV, f"{_options(config)},mode=700")
        self.store = os.open(_STORE, os.O_RDONLY | os.O_DIRECTORY)
        self._count = 0
        self._top = self._name()
        for name, target in (("tmp", "/box/tmp"), ("shm", "/box/shm"), (self._top, WORK)):
            self._folder(name)
            mount(self._path(name), target, flags=_BIND)
        mount("cover", _STORE, "tmpfs", _READ_ONLY | _NOSUID | _NODEV, "size=4k,nr_inodes=2,mode=0")
        self.work = os.open(WORK, os.O_RDONLY | os.O_DIRECTORY)

    def _path(self, name: str) -> str:
        """A path to a folder of the tmpfs, for this process only."""
        return f"/proc/self/fd/{self.store}/{name}"

    def _name(self, kind: str = "layer") -> str:
        self._count += 1
        return f"{kind}{self._count}"

    def _folder(self, name: str) -> None:
        os.mkdir(name, 0o755, dir_fd=self.store)
        os.chown(name, *self._owner, dir_fd=self.store)

    def empty(self) -> tuple[str, int]:
        """A new, empty layer for the host to fill: its name and a descriptor."""
        name = self._name()
        self._folder(name)
        return name, os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=self.store)

    def freeze(self, below: list[str], borrowed: list[int]) -> str:
        """The present top layer, which nothing can change from now on; empty if nothing was written since the last one.

        No process may be in the workspace. Arguments as for ``restore``: what is below the top layer.

        Raises:
            OSError: all is as before.
        """
        if below and not os.listdir(self._path(self._top)):
            return ""
        frozen = self._top
        self._stack([frozen, *below], borrowed, os.fstat(self.work).st_mode)
        return frozen

    def restore(self, layers: list[str], borrowed: list[int]) -> None:
        """Make the workspace these layers, the newest first, and forget what is there now.

        Args:
            layers: names; an empty one stands for the next of ``borrowed``.
            borrowed: layers of other sandboxes, detached.

        Raises:
            OSError: the workspace is as before.
        """
        old = self._top
        self._stack(layers, borrowed, None)
        self.drop([old, f"work-{old}"])

    def replace(self, layer: str) -> None:
        """Make the workspace a layer that the host has filled. Raises OSError."""
        mount(self._path(layer), _NEXT, flags=_BIND)
        old = self._top
        self._enter(layer)
        self.drop([old, f"work-{old}"])

    def _stack(self, layers: list[str], borrowed: list[int], mode: int | None) -> None:
        top = self._name()
        work, attached, lower = f"work-{top}", list[str](), list[str]()
        try:
            self._folder(top)
            self._folder(work)
            for name in layers:
                if not name:
                    name = f"borrowed{len(attached)}"
                    os.mkdir(name, dir_fd=self.store)
                    attached.append(name)
                    _attach(borrowed[len(attached) - 1], self._path(name))
                lower.append(self._path(name))
            os.chmod(self._path(top), (os.stat(lower[0]).st_mode if mode is None else mode) & 0o7777)
            where = f"lowerdir={':'.join(lower)},upperdir={self._path(top)},workdir={self._path(work)}"
            mount("workspace", _NEXT, "overlay", _NOSUID | _NODEV, f"{self._overlay},{where}")
        except OSError:
            self.drop([top, work])
            raise
        finally:
            for name in attached:  # the overlay has its own reference
                _libc.umount2(self._path(name).encode(), _DETACH)
                os.rmdir(name, dir_fd=self.store)
        self._enter(top)

    def _enter(self, top: str) -> None:
        """What is mounted at ``_NEXT`` becomes the workspace."""
        unmount(WORK)
        mount(_NEXT, WORK, flags=_MOVE)
        self._top = top
        os.close(self.work)
        self.work = os.open(WORK, os.O_RDONLY | os.O_DIRECTORY)

    def drop(self, names: list[str]) -> None:
        """Delete layers that nothing uses. What cannot be deleted goes on counting in the sandbox's own budget."""
        rest = list(names)
        while rest:  # without recursion: the code inside chose how deep its folders are
            name = rest.pop()
            try:
                os.chmod(name, 0o700, dir_fd=self.store)
                folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=self.store)
            except OSError:
                continue
            for entry in os.listdir(folder):
                try:
                    os.unlink(entry, dir_fd=folder)
                except IsADirectoryError:
                    os.chmod(entry, 0o700, dir_fd=folder)
                    rest.append(self._name("dropped"))
                    os.rename(entry, rest[-1], src_dir_fd=folder, dst_dir_fd=self.store)
            os.close(folder)
            os.rmdir(name, dir_fd=self.store)

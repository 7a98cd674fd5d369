"""Unix sockets in a run's folder, at which two programs meet: one file a link."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from taut.core.errors import InputError
from taut.testbed.scope import RunScope

# sizeof(sun_path) of struct sockaddr_un, with its final zero.
_SOCKET_PATH_MAX = 107


@contextmanager
def run_sockets(scope: RunScope, *names: str) -> Iterator[list[Path]]:
    """Name sockets, which the programs make; what they leave of them is removed on exit."""
    sockets = [_socket(scope, name) for name in names]
    try:
        yield sockets
    finally:
        for socket in sockets:
            socket.unlink(missing_ok=True)


def _socket(scope: RunScope, name: str) -> Path:
    path = scope.folder / f"{name}.sock"
    if len(str(path)) > _SOCKET_PATH_MAX:
        raise InputError(
            f"{path}: socket path longer than {_SOCKET_PATH_MAX} characters;"
            " set XDG_RUNTIME_DIR to a shorter folder"
        )
    path.unlink(missing_ok=True)
    return path

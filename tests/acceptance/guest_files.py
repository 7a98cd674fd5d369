"""What a guest's file system is made of: files of the running system, put under a root."""

import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

import taut

# Of the standard library: large, and nothing a command of taut would load.
_LEFT_OUT = (
    "config-*",
    "test",
    "tests",
    "lib2to3",
    "idlelib",
    "distutils",
    "pydoc_data",
    "ensurepip",
)
# What a command needs besides the standard library: found by loading it.
_FIND_PACKAGES = """
import sys
from importlib import import_module
for name in {modules!r}: import_module(name)
tops = {{module.partition(".")[0] for module in sys.modules}}
for top in sorted(tops):
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    if "site-packages" in file: print(top, file)
"""


def put_init(root: Path, text: str, modules: Sequence[Path]) -> None:
    """Put what an initramfs starts with: a script for busybox, and the modules it loads."""
    for name in ("proc", "sys", "dev", "bin", "modules"):
        (root / name).mkdir(parents=True)
    for module in modules:
        shutil.copy(module, root / "modules")
    (root / "modules/order").write_text("\n".join(module.name for module in modules))
    shutil.copy(shutil.which("busybox") or "", root / "bin/busybox")
    put_script(root / "init", text)


def put_script(file: Path, text: str) -> None:
    """Write a text as a program: a folder for it, and the right to execute it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)


def put_commands(root: Path, commands: Mapping[str, str]) -> None:
    """Put what the guest runs."""
    (root / "commands").mkdir()
    for name, text in commands.items():
        (root / "commands" / name).write_text(f"{text}\n")


def pack(root: Path, image: Path) -> Path:
    """Make an initramfs of a folder."""
    names = "\n".join(sorted(str(path.relative_to(root)) for path in root.rglob("*")))
    with image.open("wb") as file:
        # Not compressed: under emulation unpacking takes longer than copying.
        command = ["cpio", "--create", "--format=newc", "--quiet", "--owner=0:0"]
        subprocess.run(command, cwd=root, input=names.encode(), stdout=file, check=True)
    return image


def copy_python(root: Path) -> list[Path]:
    """Give those of its files that are linked with libraries."""
    python = Path(sys.executable).resolve()
    library = Path(sysconfig.get_path("stdlib"))
    copy_file(python, root)
    (root / "usr/bin/python3").symlink_to(python.name)
    ignored = shutil.ignore_patterns(*_LEFT_OUT)
    shutil.copytree(library, _under(root, library), ignore=ignored, symlinks=True)
    return [python, *(library / "lib-dynload").glob("*.so")]


def copy_libraries(loaded: Sequence[Path], root: Path) -> None:
    """To the same places: what programs and modules are linked with."""
    said = subprocess.run(["ldd", *loaded], capture_output=True, text=True, check=False).stdout
    for word in sorted({word for word in said.split() if word.startswith(("/lib", "/usr/lib"))}):
        if Path(word).is_file():
            copy_file(Path(word), root)


def copy_taut(target: Path, modules: Sequence[str]) -> None:
    """Copy the package, compiled, and others that some modules of it load.

    Under emulation compiling takes as long as all the rest of a command.
    """
    source = Path(taut.__file__).parent
    shutil.copytree(source, target / "taut", ignore=shutil.ignore_patterns("__pycache__"))
    script = _FIND_PACKAGES.format(modules=("taut.cli.main", *modules))
    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    for line in said.splitlines():
        file = Path(line.partition(" ")[2])
        if file.name == "__init__.py":
            shutil.copytree(file.parent, target / file.parent.name)
        else:
            shutil.copy(file, target)
    subprocess.run([sys.executable, "-m", "compileall", "-q", target / "taut"], check=True)


def copy_file(file: Path, root: Path) -> None:
    """To the same place under the root; what a link points to, under the link's name."""
    target = _under(root, file)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, target)


def _under(root: Path, path: Path) -> Path:
    return root / str(path).lstrip("/")

"""Make python/taut/host/data/kernel_parameters.txt: the names kernels know on their command line.

    python devtools/kernel_parameters.py 6.1=FOLDER 6.12=FOLDER

FOLDER is where Debian's linux-doc, linux-source and linux-image of that version were unpacked
with `dpkg -x`. Names come from kernel-parameters.txt, from the source (early_param, __setup and
core_param, many of which the documentation lacks) and from the modules' own lists of options.
Only names are kept.
"""

import gzip
import lzma
import re
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

PATH = Path(__file__).parents[1] / "python" / "taut" / "host" / "data" / "kernel_parameters.txt"

# A parameter of the documentation starts one tab in; what is said of it is further in.
_DOCUMENTED = re.compile(r"^\t([A-Za-z_<][\w.<>*-]*)(?:\[?=|[ \t,]|$)", re.MULTILINE)
_SETUP = re.compile(
    rb'\b(?:__setup|early_param|__setup_param|early_param_on_off)\s*\(\s*"([\w.+-]+)=?\s*"'
    rb'(?:\s*,\s*"([\w.+-]+)")?'
)
_CORE = re.compile(rb"^[ \t]*core_param(?:_cb)?\s*\(\s*(\w+)\s*,", re.MULTILINE)
_PREFIX = re.compile(rb'#define\s+MODULE_PARAM_PREFIX\s+"([\w.-]*)"')
_OPTION = re.compile(rb"^[ \t]*(?:module_param|torture_param)\w*\s*\(\s*(\w+)\s*,", re.MULTILINE)
_TYPED_OPTION = re.compile(rb"^[ \t]*torture_param\s*\(\s*\w+\s*,\s*(\w+)", re.MULTILINE)
# Options with a function of their own are in no list of options, so their module is not known.
_CALLBACK = re.compile(rb"^[ \t]*module_param_c(?:b|all)\w*\s*\(\s*(\w+)\s*,", re.MULTILINE)
_BUILT_IN = re.compile(rb"(?:^|\0)([\w-]+)\.parm(?:type)?=(\w+)")
_MODULE = re.compile(rb"\0name=([\w-]+)\0")
_OF_MODULE = re.compile(rb"\0parm(?:type)?=(\w+):")

# Marks a module that calls itself otherwise on the command line.
_NOT = "!"

_HEADER = """\
# Names of kernel parameters, `-` written as `_`; made by devtools/kernel_parameters.py.
# kernels {versions}
# *.NAME: an option of some module.
# +VERSION: the kernel before it in that list has no such name. -VERSION: gone in that kernel.
"""


def main() -> int:
    """Read every kernel that was named and write the list."""
    if len(sys.argv) < 2 or not all("=" in argument for argument in sys.argv[1:]):
        print(__doc__)
        return 2
    kernels = dict(argument.split("=", 1) for argument in sys.argv[1:])
    names = {version: set(known_names(Path(folder))) for version, folder in kernels.items()}
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(_HEADER.format(versions=" ".join(names)) + "".join(lines(names)))
    return 0


def lines(names: dict[str, set[str]]) -> Iterator[str]:
    """Write one line per name, with the versions it came and went in."""
    versions = list(names)
    for name in sorted(set().union(*names.values())):
        known = [name in names[version] for version in versions]
        first, last = known.index(True), len(known) - 1 - known[::-1].index(True)
        came = f" +{versions[first]}" if first else ""
        went = f" -{versions[last + 1]}" if last + 1 < len(known) else ""
        yield f"{name}{came}{went}\n"


def known_names(folder: Path) -> Iterator[str]:
    """Every name of one kernel, `-` written as `_` as the kernel compares them."""
    in_files = list(in_source(folder))
    renamed = {name.removeprefix(_NOT) for name in in_files if name.startswith(_NOT)}
    yield from (_plain(name) for name in documented(folder))
    yield from (_plain(name) for name in in_files if not name.startswith(_NOT))
    for name in of_modules(folder):
        if name.partition(".")[0] not in renamed:
            yield _plain(name)


def _plain(name: str) -> str:
    return name.replace("-", "_")


def documented(folder: Path) -> Iterator[str]:
    """Names in kernel-parameters.txt; `<module>.async_probe` is a rule, not a name."""
    for path in folder.rglob("kernel-parameters.txt*"):
        if path.suffix == ".gz":
            text = gzip.decompress(path.read_bytes()).decode()
        elif path.suffix == ".txt" and "html" not in path.parts:
            text = path.read_text()
        else:
            continue
        for name in _DOCUMENTED.findall(text):
            # The list starts with the abbreviations it uses, in capitals.
            if not set(name) & set("<>*") and not name.isupper():
                yield name.rstrip(".")


def in_source(folder: Path) -> Iterator[str]:
    """Names that the source registers outside modules."""
    for path in folder.rglob("linux-source-*.tar.xz"):
        with tarfile.open(path, "r|xz") as archive:
            for member in archive:
                if not member.isfile() or not member.name.endswith(".c"):
                    continue
                stream = archive.extractfile(member)
                if stream is not None and "/tools/" not in member.name:
                    yield from of_file(Path(member.name).stem, stream.read())


def of_file(stem: str, text: bytes) -> Iterator[str]:
    """Names that one source file registers."""
    if b"param" not in text and b"__setup" not in text:
        return
    for pair in _SETUP.findall(text):
        yield from (name.decode() for name in pair if name)
    yield from (name.decode() for name in _CORE.findall(text))
    yield from (f"*.{name.decode()}" for name in _CALLBACK.findall(text))
    prefix = _PREFIX.search(text)
    if prefix:
        # The list of built-in modules has the file's name there: tree.* for rcutree.*.
        if prefix[1].decode() != f"{stem}.":
            yield f"{_NOT}{stem.replace('-', '_')}"
        for name in (*_OPTION.findall(text), *_TYPED_OPTION.findall(text)):
            yield f"{prefix[1].decode()}{name.decode()}"


def of_modules(folder: Path) -> Iterator[str]:
    """Options of modules, built in or not, as `module.option`."""
    for path in folder.rglob("modules.builtin.modinfo"):
        for module, option in _BUILT_IN.findall(path.read_bytes()):
            yield f"{module.decode()}.{option.decode()}"
    for path in folder.rglob("*.ko*"):
        data = path.read_bytes()
        data = lzma.decompress(data) if path.suffix == ".xz" else data
        module = _MODULE.search(data)
        if module:
            for option in _OF_MODULE.findall(data):
                yield f"{module[1].decode()}.{option.decode()}"


if __name__ == "__main__":
    sys.exit(main())

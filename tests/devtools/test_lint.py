"""devtools/lint: each of its checks, and each contract of imports, names what is planted."""

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINT = ROOT / "devtools" / "lint"
TOOLS = (ROOT / ".venv").resolve()
CHECKS = re.findall(r"^check (\S+)", LINT.read_text(), re.MULTILINE)
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]
# mypy does not follow an import that no platform makes; the contracts count it.
MODULE = '# ruff: noqa\n"""Planted."""\n\nimport sys\n\nif sys.platform == "none":\n    pass\n'

# For each check of devtools/lint a file that breaks it, and what lint then says.
PLANTED = {
    "files": ("tests/a.py", "# TO" + "DO: later\n", "tests/a.py:1: TO" + "DO without an issue"),
    "lizard": ("tests/b.py", "def much(n):\n" + "    n += 1\n" * 60, "tests/b.py:1: warning: much"),
    "parameters": (
        "tests/p.py",
        f"def wide({', '.join('abcdefghijk')}):\n    pass\n",
        "tests/p.py:1: warning: wide",
    ),
    "ruff": ("tests/c.py", "import os\n", "F401"),
    "ruff-format": ("tests/d.py", "x = ( 1 )\n", "tests/d.py:1:"),
    "clang-format": ("dataplane/nf/e.c", "int  e;\n", "dataplane/nf/e.c:1:"),
    "hot-path": ("f.c", "void free(void*);void*p;void x_next(void){free(p);p=0;}", "calls free"),
    "import-contracts": ("", "", "taut.core -> taut.cli"),
    "mypy": (
        "python/taut/h.py",
        '"""Planted."""\n\nH: int = "text"\n',
        "python/taut/h.py:3: error",
    ),
    "reference": ("docs/reference.md", "# Reference\n", "reference.md is not current"),
}


def imports_of(contract: dict[str, list[str]]) -> tuple[str, str]:
    """An import that breaks a contract: who imports whom."""
    if "layers" in contract:
        top, bottom = contract["layers"][0], contract["layers"][-1]
        folder = contract["containers"][0]
        return f"{folder}.{bottom.split(' | ')[0]}", f"{folder}.{top.split(' | ')[0]}"
    if "modules" in contract:
        members = contract["modules"][0]
        return members.replace("*", "one"), members.replace("*", "other")
    return contract["source_modules"][0], contract["forbidden_modules"][0]


def modules_of(contract: dict[str, list[str]]) -> Iterable[str]:
    """The modules of taut that a contract wants to find."""
    for folder in contract.get("containers", ()):
        for layer in contract["layers"]:
            yield from (f"{folder}.{name}" for name in layer.split(" | "))
    for name in ("source_modules", "forbidden_modules", "modules"):
        for module in contract.get(name, ()):
            yield from (module.replace("*", member) for member in ("one", "other"))


def write_package(root: Path, planted: Iterable[tuple[str, str]]) -> None:
    """A package with the modules that the contracts name, what they let pass, and more imports."""
    allowed = [
        tuple(each.split(" -> ")) for of in CONTRACTS for each in of.get("ignore_imports", ())
    ]
    imports = [*allowed, *planted]
    modules = {module for of in CONTRACTS for module in modules_of(of)}
    for module in modules | {importer for importer, _ in imports}:
        if module.split(".")[0] != "taut":
            continue
        folder = root / module.replace(".", "/")
        folder.mkdir(parents=True, exist_ok=True)
        for package in (folder, *folder.parents):
            if package.is_relative_to(root / "taut") and not (package / "__init__.py").exists():
                (package / "__init__.py").write_text(MODULE)
    for importer, imported in imports:
        with (root / importer.replace(".", "/") / "__init__.py").open("a") as file:
            file.write(f"    import {imported}\n")


def test_every_import_contract_names_what_breaks_it(tmp_path: Path) -> None:
    write_package(tmp_path, map(imports_of, CONTRACTS))

    said = contracts(tmp_path)

    broken = said.split("Broken contracts")[1]
    heads = sorted(broken.index(f"\n{contract['name']}\n") for contract in CONTRACTS)
    for contract in CONTRACTS:
        assert f"{contract['name']} BROKEN" in said
        importer, imported = imports_of(contract)
        start = broken.index(f"\n{contract['name']}\n")
        until = next((head for head in heads if head > start), len(broken))
        assert f"{importer} -> {imported}" in broken[start:until], contract["name"]


def test_every_import_contract_lets_the_rest_pass(tmp_path: Path) -> None:
    write_package(tmp_path, ())

    assert f"Contracts: {len(CONTRACTS)} kept, 0 broken." in contracts(tmp_path)


def contracts(folder: Path) -> str:
    """What import-linter says of a folder that holds a package."""
    command = [TOOLS / "bin" / "lint-imports", "--config", ROOT / "pyproject.toml", "--no-cache"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.skipif(
    not all(map(shutil.which, ("git", "cc", "objdump", "clang-format"))),
    reason="git, a compiler or clang-format is missing",
)
def test_lint_names_what_is_planted_against_each_of_its_checks(tmp_path: Path) -> None:
    tree, build = tmp_path / "tree", tmp_path / "build"
    write_package(tree / "python", [("taut.core", "taut.cli")])
    for path, text, _ in PLANTED.values():
        if path:
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(text)
    objects = build / "dataplane" / "traffic" / "libtraffic.a.p"
    objects.mkdir(parents=True)
    subprocess.run(["cc", "-O2", "-w", "-c", tree / "f.c", "-o", objects / "f.o"], check=True)
    (tree / "bench").mkdir()
    (tree / "taut").symlink_to("python/taut")
    (tree / ".venv").symlink_to(TOOLS)
    shutil.copytree(
        ROOT / "devtools", tree / "devtools", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("pyproject.toml", ".clang-format"):
        shutil.copy(ROOT / name, tree / name)
    subprocess.run(["git", "init", "--quiet", tree], check=True)

    done = subprocess.run(
        [tree / "devtools" / "lint", build],
        # The reference is of this package; all else looks at the planted one.
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'python'}:{ROOT / 'tests'}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert set(PLANTED) == set(CHECKS), "each check needs something planted"
    assert done.returncode == 1
    assert done.stderr.split() == ["lint:", "failed:", *CHECKS], done.stdout
    for check, (_, _, named) in PLANTED.items():
        of_this = done.stdout.split(f"lint: {check}: FAILED\n")[1].split("\nlint: ")[0]
        assert named in of_this, (check, of_this)

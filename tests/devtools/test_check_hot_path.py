"""The hot path checker finds what it is there to find."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from check_hot_path import ROOTS

CHECKER = Path(__file__).parents[2] / "devtools" / "check_hot_path.py"
MALLOC = "void *malloc(unsigned long); void *p; void %s(void){p=malloc(9);}"
CLEAN = {
    "forwarder": "void worker_run(void){} void worker_run_sleeping(void){} void x_send(void){}"
    " void x_drain(void){}",
    "nf": "void x_process(void){} void x_release(void){}",
    "generator": "void loop_send(void){} void loop_drain(void){}",
    "traffic": "void x_next(void){}",
    "noise": "void poll_gap_run(void){}",
}


def check(build: Path, sources: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Compile one object a folder and run the checker over them."""
    compiler = shutil.which("cc")
    if compiler is None or shutil.which("objdump") is None:
        pytest.skip("no C compiler or objdump")
    for folder, source in sources.items():
        target = build / "dataplane" / folder / f"lib{folder}.a.p"
        target.mkdir(parents=True)
        (target / "x.c").write_text(source)
        subprocess.run([compiler, "-O2", "-w", "-c", "x.c", "-o", "x.c.o"], cwd=target, check=True)
    return subprocess.run(
        [sys.executable, str(CHECKER), str(build)], capture_output=True, text=True, check=False
    )


def test_a_clean_tree_passes(tmp_path: Path) -> None:
    done = check(tmp_path, CLEAN)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("source", "finding"),
    [
        (MALLOC % "x_next", "calls malloc"),
        ('int printf(const char*,...); void x_next(void){printf("%d",1);}', "calls printf"),
        (
            "void free(void*); void*p; __attribute__((noinline)) static void f(void){free(p);"
            "p=0;} void x_next(void){f();}",
            "x_next -> f: calls free",
        ),
        ("int a,b; void x_next(void){a/=b;}", "integer division"),
        ('void x_next(void){__asm__("syscall");}', "system call"),
    ],
)
def test_a_planted_violation_is_found(tmp_path: Path, source: str, finding: str) -> None:
    done = check(tmp_path, {**CLEAN, "traffic": source})

    assert done.returncode == 1
    assert finding in done.stderr


SLEEPING = (
    "int epoll_wait(void); void ports_sleep(void);"
    ' __attribute__((noinline)) static void wait_here(void){ports_sleep();__asm__("");}'
    " void worker_run(void){%s} void worker_run_sleeping(void){%s}"
    " void x_send(void){} void x_drain(void){}"
)


@pytest.mark.parametrize(
    ("polling", "sleeping", "finding"),
    [
        ("", "wait_here();", None),
        ("wait_here();", "wait_here();", "worker_run -> wait_here: calls ports_sleep"),
        ("", "epoll_wait();", "worker_run_sleeping: calls epoll_wait"),
    ],
)
def test_only_the_worker_that_was_asked_to_sleeps(
    tmp_path: Path, polling: str, sleeping: str, finding: str | None
) -> None:
    done = check(tmp_path, {**CLEAN, "forwarder": SLEEPING % (polling, sleeping)})

    assert done.returncode == (finding is not None), done.stderr
    assert finding is None or finding in done.stderr


def test_a_root_that_is_gone_is_said(tmp_path: Path) -> None:
    done = check(tmp_path, {**CLEAN, "nf": "void x_process(void){}"})

    assert done.returncode == 1
    assert "ROOTS is out of date" in done.stderr


@pytest.mark.parametrize(("folder", "pattern"), ROOTS)
def test_every_root_is_walked_from(tmp_path: Path, folder: str, pattern: str) -> None:
    root = pattern.replace(r"\w+", "x")
    rest = CLEAN[folder].replace(f"void {root}(void){{}}", "")

    done = check(tmp_path, {**CLEAN, folder: rest + MALLOC % root})

    assert f"check_hot_path: {root}: calls malloc" in done.stderr
    assert done.returncode == 1

"""Which thread of a program is meant where several are pinned to one core."""

import subprocess
import sys

from taut.core.cpus import cpuset_cores
from taut.explain.window import threads_on
from taut.host.host import Host

PROGRAM = """
import os, signal, sys, threading, time
os.sched_setaffinity(0, {int(sys.argv[1])})
while time.thread_time() < 0.3: pass
def poll():
    print(threading.get_native_id(), flush=True)
    while True: pass
threading.Thread(target=poll).start()
signal.pause()
"""


def test_of_two_threads_on_one_core_it_is_the_one_that_polls_not_the_one_that_ran_longest():
    core = min(cpuset_cores())
    argv = [sys.executable, "-c", PROGRAM, str(core)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            poller = int(process.stdout.readline())

            assert threads_on(Host(), process.pid, None) == {core: poller}
        finally:
            process.kill()

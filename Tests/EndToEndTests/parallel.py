"""Runs modules of the suite side by side, each in a process of its own: most of their time is waiting.

Usage: parallel.py JOBS [MODULE...]; all modules without names. What a module prints comes when it has ended. The last lines
are unittest's own for all modules together: `Ran N tests in S s`, then `OK` or `FAILED`.
"""

import concurrent.futures
import glob
import os
import queue
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# Those that take long begin, so that none of them is alone at the end. A module that is missing here only comes later.
FIRST = ("limits_tests", "upstream_tests", "reload_tests", "bounded_memory_tests", "interruption_tests", "service_tests",
         "http2_both_sides_tests", "http2_upstream_suite_tests", "tls_file_tests", "drain_tests", "http2_stream_tests",
         "http2_attack_tests", "upload_tests", "lifecycle_tests", "observability_tests")
NO_TESTS = 5  # what unittest of Python 3.12 ends with


def modules():
    names = [os.path.basename(path)[:-3] for path in glob.glob(os.path.join(HERE, "*_tests.py"))]
    return sorted(names, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name))


def run(module, slots, jobs):
    """Runs one module and returns (how many tests it ran, whether all passed)."""
    slot = slots.get()
    try:
        # Each process takes ports of its own share, so that no two take the same between looking and listening.
        result = subprocess.run([sys.executable, "-m", "unittest", module], cwd=HERE, stdin=subprocess.DEVNULL, text=True,
                                errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                env={**os.environ, "E2E_PORTS": f"{slot}/{jobs}"})
    finally:
        slots.put(slot)
    # The last of such lines is unittest's own; a test may print one of something that it ran.
    counts = re.findall(r"^Ran (\d+) tests? in", result.stdout, re.MULTILINE)
    print(f"== {module}\n{re.sub('^Ran ', 'ran ', result.stdout, flags=re.MULTILINE)}", end="", flush=True)
    passed = bool(counts) and result.returncode in (0, NO_TESTS)
    if not passed:
        print(f"== {module} FAILED ({result.returncode})", flush=True)
    return int(counts[-1]) if counts else 0, passed


def main():
    jobs = int(sys.argv[1])
    names = sys.argv[2:] or modules()
    begun = time.monotonic()
    slots = queue.SimpleQueue()
    for slot in range(jobs):
        slots.put(slot)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(lambda name: run(name, slots, jobs), names))
    failed = [name for name, (_, passed) in zip(names, results) if not passed]
    print(f"{'-' * 70}\nRan {sum(count for count, _ in results)} tests in {time.monotonic() - begun:.3f}s\n")
    print(f"FAILED ({', '.join(failed)})" if failed else "OK")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

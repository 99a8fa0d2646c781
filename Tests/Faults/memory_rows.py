"""Row 42: no memory."""

import mmap
import os
import signal
import struct
import subprocess

from harness import DEADLINE, Closed
from rig import HERE, Stack, check, equal, row

# What Swift ends by when there is no memory for an object, or for the frame of an accessor, whose address it doesn't check.
TRAPS = (-signal.SIGABRT, -signal.SIGILL, -signal.SIGTRAP, -signal.SIGSEGV)


class Allocations:
    """Lets one allocation of a process fail, counted from when it is told."""

    def __init__(self, folder):
        self.library = os.path.join(folder, "allocation.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", self.library, os.path.join(HERE, "allocation.c")], check=True)
        self.place = os.path.join(folder, "allocations")
        with open(self.place, "wb") as file:
            file.write(bytes(8))
        with open(self.place, "r+b") as file:
            self.counter = mmap.mmap(file.fileno(), 8)
        self.environment = {"LD_PRELOAD": self.library, "FAULT_MEMORY": self.place, "SWIFT_BACKTRACE": "enable=no"}

    def fail(self, number):
        """The `number`th from now on; 0: none."""
        self.counter[:] = struct.pack("l", number)

    @property
    def left(self):
        return struct.unpack("l", self.counter[:])[0]


@row(42, "an allocation fails, one after the other: an answer or the end at once, and nothing wrong looks right", needs=("cc",))
def allocation_fails(fault):
    allocations = Allocations(fault.folder)
    stack, number = None, 0
    while True:
        if stack is None:
            allocations.fail(0)
            stack = Stack(fault, environment=allocations.environment)
            fault.cleanups.callback(stack.remove)
            fault.cleanups.callback(fault._end, stack)
            equal(stack.send().status, 200, "a request before the fault")
        number += 1
        fault.upstream.reset()
        allocations.fail(number)
        try:
            response = stack.send()
            check(response.status in (200, 400, 500, 502, 503), f"{number}: {response.status}")
            if response.status == 200:
                equal(response.body, b"ok", f"{number}: the answer")
        except (Closed, OSError):
            pass
        # The upstream saw the request whole, or could see that it is not.
        for received in fault.upstream.requests:
            check(received.ended.wait(DEADLINE), f"{number}: the upstream's request neither ended nor broke off")
            check(not received.is_complete or received.json == {"a": "1", "b": "two"}, f"{number}: {received.body}")
        has_failed = allocations.left <= 0
        allocations.fail(0)
        if serves(stack):
            if not has_failed:
                break  # more than the request needs
            continue
        code = stack.process.wait(DEADLINE)
        check(code in TRAPS, lambda: f"{number}: it ended with {code}: {stack.error_text()}")
        stack = None


def serves(stack):
    """Whether the process goes on: an answer that came says nothing of what follows it."""
    try:
        return stack.send().status == 200
    except (Closed, OSError):
        return False

"""Where a case's instructions and allocations come from, read from callgrind's file."""

import collections
import re
import shutil
import subprocess

ALLOCATORS = ("malloc", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign")
DEPTH = 10  # callers of an allocation that are told apart
# Those of the allocator, the Swift runtime and its arrays say nothing about where an allocation comes from.
RUNTIME = re.compile(r"swift_|_?CRYPTO_[mz]alloc|0x|(specialized )?(static )?(_?Contiguous|_copyCollection|Array[.]_)")
OPTIONS = [f"--separate-callers{DEPTH}={name}" for name in ALLOCATORS]
SHOWN = 12
CALLERS = 5


class Profile:
    """Own instructions by function, calls by function, and calls of the allocators by their callers."""

    def __init__(self, path):
        self.own, self.calls, self.allocations = (collections.Counter() for _ in range(3))
        names, function, called = {}, None, None

        def name(text):
            """A name, which callgrind writes out once and then refers to by its number."""
            number, rest = re.fullmatch(r"\((\d+)\)(?: (.*))?", text).groups()
            if rest:
                names[number] = rest
            return names[number]

        with open(path) as file:
            for line in file:
                key, is_pair, value = line.rstrip("\n").partition("=")
                if is_pair and key == "fn":
                    function = name(value)
                elif is_pair and key == "cfn":
                    called = name(value)
                elif is_pair and key == "calls":
                    count = int(value.split()[0])
                    plain = called.split("'")[0]
                    self.calls[plain] += count
                    if plain in ALLOCATORS:
                        self.allocations[called] += count
                    next(file)  # what the call cost, which is the called function's own
                elif function and re.match(r"[0-9+*-]", line):
                    self.own[function.split("'")[0]] += int(line.split()[1]) if len(line.split()) > 1 else 0


def demangle(names):
    if not shutil.which("swift"):
        return names
    result = subprocess.run(["swift", "demangle", "--compact", "--simplified"], input="\n".join(names), capture_output=True,
                            text=True, check=True)
    return result.stdout.splitlines()


def show(path, requests):
    """Prints the dearest functions and the callers of each allocation, per request."""
    profile = Profile(path)
    total = sum(profile.own.values())
    print(f"  own instructions per request, and their part of {total / requests:.0f}")
    dearest = profile.own.most_common(SHOWN)
    for (_, own), name in zip(dearest, demangle([name for name, _ in dearest])):
        print(f"  {own / requests:12.0f} {own / total:6.1%}  {name[:150]}")
    print("  allocations per request, the innermost caller first")
    for chain, count in profile.allocations.most_common(SHOWN):
        if count / requests >= 0.1:
            callers = [caller for caller in demangle(chain.split("'")[1:]) if not RUNTIME.match(caller)]
            text = " < ".join([chain.split("'")[0], *(name[:70] for name in callers[:CALLERS])])
            print(f"  {count / requests:12.2f}  {text}")
    print(flush=True)

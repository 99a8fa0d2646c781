"""Reads a JSON document with orjson and writes it again. Usage: orjson_peer.py FILE SECONDS.

Prints the document's size, the seconds of the fastest round of loads + dumps, and of each alone.
"""

import sys
import time

import orjson


def main(path, seconds):
    with open(path, "rb") as file:
        text = file.read()
    best = best_loads = best_dumps = float("inf")
    end = time.perf_counter() + seconds
    rounds = 0
    while rounds < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        value = orjson.loads(text)
        middle = time.perf_counter()
        again = orjson.dumps(value)
        stop = time.perf_counter()
        if not again:
            raise ValueError("nothing was written")
        # The last document and text are freed outside of the measured time, in favour of the peer.
        del value, again
        best = min(best, stop - start)
        best_loads = min(best_loads, middle - start)
        best_dumps = min(best_dumps, stop - middle)
        rounds += 1
    print(f"{len(text)}\t{best:.9f}\t{best_loads:.9f}\t{best_dumps:.9f}\t{orjson.__version__}")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))

"""Runs the fault matrix: make faults, or scripts/faults [--rows 14-38] [--mode plain|tls] [--list].

Each row stands in a module by its group. The run is in a network and mount namespace of its own (scripts/faults makes
it), so that firewalls, rates, port ranges and mounts of a row touch nothing else.
"""

import argparse
import importlib
import os
import shutil
import sys
import time
import traceback

import rig
from tls_support import Certificates

GROUPS = ("client_rows", "network_rows", "upstream_rows", "resource_rows", "memory_rows", "tls_rows", "dns_rows", "process_rows")


def lacks(row):
    for need in row.needs:
        if need == "own network":
            if os.environ.get("RECAST_OWN_NETWORK") != "1":
                return need
        elif not shutil.which(need):
            return need
    return None


def chosen(text, number):
    for piece in text.split(","):
        first, _, last = piece.partition("-")
        if int(first) <= int(number) <= int(last or first):
            return True
    return False


def soaked(options, certificates):
    import soak
    failed = 0
    modes = [options.mode] if options.mode else ["plain", "tls"]
    try:
        for mode in modes:
            try:
                soak.Soak(max(1, options.soak // len(modes)), options.seed, mode, certificates).run()
            except Exception:
                failed += 1
                traceback.print_exc()
    finally:
        certificates.remove()
    print(f"{len(modes) - failed} passed, {failed} failed")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(prog="faults", description="Injects faults for real, each plain and in TLS: docs/faults.md.")
    parser.add_argument("--rows", help="numbers, as 1,5,14-38")
    parser.add_argument("--mode", choices=("plain", "tls"))
    parser.add_argument("--soak", type=int, metavar="SECONDS", help="no rows, but a mix of all under load for so long")
    parser.add_argument("--seed", type=int, default=1, help="of the soak's dice; another one gives other requests")
    parser.add_argument("--list", action="store_true", help="print the rows and end")
    options = parser.parse_args()
    for group in GROUPS:
        importlib.import_module(group)
    rows = [row for row in sorted(rig.ROWS, key=lambda row: row.number)
            if (not options.rows or chosen(options.rows, row.number)) and (not options.mode or options.mode in row.modes)]
    if options.list:
        for row in rows:
            print(f"{row.number:g}\t{' '.join(row.modes)}\t{row.title}")
        return 0
    if not rig.harness.RECAST:
        print("faults: set RECAST_BIN, or run scripts/faults", file=sys.stderr)
        return 64
    certificates = Certificates()
    if options.soak:
        return soaked(options, certificates)
    passed, failed, missing = set(), [], []
    runs = 0
    try:
        for row in rows:
            lack = lacks(row)
            if lack:
                missing.append((row, lack))
                print(f"{row.number:>4g}        -- NOT RUN, no {lack}: {row.title}", flush=True)
                continue
            for mode in [options.mode] if options.mode else row.modes:
                begun = time.monotonic()
                runs += 1
                try:
                    rig.Fault(row, mode, certificates).run()
                    passed.add(row.number)
                    word = "ok"
                except BaseException as error:
                    if isinstance(error, KeyboardInterrupt):
                        raise
                    failed.append((row, mode))
                    word = "FAILED"
                    traceback.print_exc()
                print(f"{row.number:>4g} {mode:5} {time.monotonic() - begun:5.1f} s {word}: {row.title}", flush=True)
    finally:
        certificates.remove()
    whole = passed - {row.number for row, _ in failed}
    print(f"faults: {len(whole)} of {len(rows)} rows hold, in {runs} runs; {len(failed)} runs failed, {len(missing)} rows were not run")
    print(f"{runs - len(failed)} passed, {len(failed)} failed")
    return 1 if failed or missing else 0


if __name__ == "__main__":
    sys.exit(main())

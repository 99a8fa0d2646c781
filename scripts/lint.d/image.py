#!/usr/bin/env python3
"""Reads the charsets as scripts/image-root does, which takes their table from the sources: an image is built at night at the earliest,
and a table that can't be read any more is to be seen before."""
import runpy
import sys

charsets = runpy.run_path("scripts/image-root")["charsets"]()
if len(charsets) < 30:
    sys.exit(f"image: {len(charsets)} charsets are read, of some forty")

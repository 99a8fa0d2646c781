#!/usr/bin/env python3
"""Reads the charsets as scripts/image-root does, which takes their table from the sources: an image is built at night at the earliest,
and a table that can't be read any more is to be seen before."""
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

sys.dont_write_bytecode = True
loader = SourceFileLoader("image_root", "scripts/image-root")
image_root = module_from_spec(spec_from_loader(loader.name, loader))
loader.exec_module(image_root)
charsets = image_root.charsets()
if len(charsets) < 30:
    sys.exit(f"image: {len(charsets)} charsets are read, of some forty")

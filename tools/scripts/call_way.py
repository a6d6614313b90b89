#!/usr/bin/env python3
"""How far a call goes from its wrapper to its kernel: functions that are entered, the files and folders they stand in, and how often the way
leaves a file, counted by callgrind in products that bench_products makes.

usage: call_way.py LIBRARY [PROGRAM]    (a door, libtessera-door7.so, or libtessera.so of a commit before there were doors;
                                         PROGRAM: build/bench/bench_products)
Functions are placed by their names in the sources of the library's checkout; what macros make counts without a file.
SPDX-License-Identifier: Apache-2.0"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = (('sparse x dense', 'op=spmm add=plus mul=times type=fp32 n=64'),
         ('masked product', 'op=masked add=plus mul=pair type=int64 values=bool form=lut order=given'))
FUNCTION = re.compile(r'^[A-Za-z_][\w \t*]*?\b(\w+)\((?:[^;{}]*)\)\s*\{', re.M)


def places(checkout):
    """function -> source file."""
    found = {}
    for tree in ('src', 'backends', 'kernels'):
        for path in sorted((checkout / tree).rglob('*.[ch]')):
            for name in FUNCTION.findall(path.read_text(encoding='utf-8', errors='replace')):
                found.setdefault(name, path.relative_to(checkout).as_posix())
    return found


def trace(library, program, case):
    """What callgrind wrote of all that happened inside of GrB_mxm."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, 'out')
        environment = dict(os.environ, LD_PRELOAD=str(library), OMP_NUM_THREADS='1', TESSERA_MODE='cpu')
        subprocess.run(['valgrind', '--tool=callgrind', '--compress-strings=no', '--toggle-collect=GrB_mxm', f'--callgrind-out-file={out}',
                        program, 'rmat:12:16', '1'], input=f'open {case}\nrun 1\n', env=environment, text=True, check=True, capture_output=True)
        return pathlib.Path(out).read_text(encoding='utf-8')


def calls_of(text):
    """(caller, callee) -> times, as far as both are in our library."""
    calls, ours, called_ours, own, callee = collections.Counter(), False, False, None, None
    for line in text.splitlines():
        key, _, value = line.partition('=')
        if key == 'ob':
            ours = 'libtessera' in value
        elif key == 'fn':
            own, called_ours = value.split("'")[0], ours
        elif key == 'cob':
            called_ours = 'libtessera' in value
        elif key == 'cfn':
            callee = value.split("'")[0]
        elif key == 'calls':
            if ours and called_ours:
                calls[own, callee] += int(value.split()[0])
            called_ours = ours  # without a `cob`: the same object
    return calls


def figures(calls, known):
    names = {name for pair in calls for name in pair}
    files = {known[name] for name in names if name in known}
    leaving = sum(known.get(a) != known.get(b) for a, b in calls)
    return len(names), len(files), len({os.path.dirname(f) for f in files}), leaving


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__[__doc__.index('usage'):])
    library = pathlib.Path(sys.argv[1]).resolve()
    checkout = next(folder for folder in library.parents if (folder / 'meson.build').exists())
    program = sys.argv[2] if len(sys.argv) > 2 else ROOT / 'build/bench/bench_products'
    known = places(checkout)
    print(f"{'':16} functions  files  folders  ways from file to file")
    for name, case in CASES:
        print('%-16s %9d %6d %8d %9d' % (name, *figures(calls_of(trace(library, program, case)), known)))


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
"""Our parallel regions run on the OpenMP runtime of the program's GraphBLAS: one team of threads, also where that runtime is a renamed one, as
in wheels of Python.

usage: test_openmp.py MODULE LIBRARY CORE PLUGIN FAKE LACKING WRAPPED…
  MODULE of teams.c; PLUGIN '': none; FAKE a runtime that is not ours, LACKING one that lacks a function; WRAPPED what the linker turns over to us
SPDX-License-Identifier: Apache-2.0
"""
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile

RUNTIME, RENAMED = b'libgomp.so.1', b'libgomq.so.1'


def unwrapped(library, wrapped):
    """What of OpenMP the library calls past us: its regions would ask another runtime than the one that runs them."""
    undefined = subprocess.run(['nm', '-D', '--undefined-only', library], stdout=subprocess.PIPE, text=True, check=True).stdout
    names = [line.split()[-1].split('@')[0] for line in undefined.splitlines()]
    past = [name for name in names if name.startswith(('GOMP_', 'omp_', '__kmpc')) and name not in wrapped]
    print('past us:', *past)
    return past


def region(ours):
    """One of two threads."""
    job = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(lambda _context, _job: None)
    ours.tsr_for_jobs(ctypes.c_int64(2), 2, job, None)


def shares(core, fake, lacking):
    """In this process, whose Python has no OpenMP: taken once, whole, and before the first region only."""
    ours, runtime, other = (ctypes.CDLL(path) for path in (core, fake, lacking))
    handle = [ctypes.c_void_p(library._handle) for library in (runtime, other)]
    share, threads = ours.tsr_openmp_share, ours.tsr_native_threads
    share.restype = ctypes.c_bool
    before = threads()
    steps = [before != 77, not share(handle[1]), threads() == before, share(handle[0]), threads() == 77, share(handle[0]), not share(handle[1])]
    region(ours)
    return all(steps) and runtime.fake_regions() > 0


def stays(core, fake):
    """After a region of ours nothing changes."""
    ours, runtime = ctypes.CDLL(core), ctypes.CDLL(fake)
    ours.tsr_openmp_share.restype = ctypes.c_bool
    region(ours)
    return not ours.tsr_openmp_share(ctypes.c_void_p(runtime._handle)) and ours.tsr_native_threads() != 77


def loaded_from(module, name):
    lines = subprocess.run(['ldd', module], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return next((pathlib.Path(line.split()[2]) for line in lines if name in line.split()[0]), None)


def renamed(module, folder):
    """A GraphBLAS as of a wheel: a copy whose runtime has another name of the same length."""
    for name in ('libgraphblas.so', RUNTIME.decode()):
        source = loaded_from(module, name)
        target = folder / (RENAMED.decode() if name.encode() == RUNTIME else source.name)
        target.write_bytes(source.read_bytes().replace(RUNTIME, RENAMED))


def teams(module):
    """In a process of its own: prints the sum and the threads."""
    total = ctypes.c_int64()
    threads = ctypes.CDLL(module).teams(ctypes.byref(total))
    print(total.value, threads)


def run(module, folder, library):
    kept = {k: v for k, v in os.environ.items() if not k.startswith('TESSERA_') and k != 'LD_PRELOAD'}
    environment = dict(kept, OMP_NUM_THREADS='2', LD_LIBRARY_PATH=str(folder), HOME='/nonexistent', **library)
    command = [sys.executable, os.path.abspath(__file__), '--teams', module]
    total, threads = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return total, int(threads)


def one_team(module, library):
    with tempfile.TemporaryDirectory() as name:
        renamed(module, pathlib.Path(name))
        plain = run(module, name, {})
        ours = run(module, name, {'LD_PRELOAD': library, 'TESSERA_MODE': 'cpu', 'TESSERA_MIN_WORK': '0'})
    print(f'sum and threads: plain {plain}, through us {ours}')
    return plain == ours and plain[1] > 1


def main():
    if sys.argv[1] == '--teams':
        return teams(sys.argv[2])
    library, plugin, wrapped = sys.argv[2], sys.argv[4], sys.argv[7:]
    module, core, fake, lacking = (os.path.abspath(sys.argv[n]) for n in (1, 3, 5, 6))
    if os.fork() == 0:
        os._exit(0 if stays(core, fake) else 1)
    checks = {'a runtime that stays': os.wait()[1] == 0, 'a runtime that is shared': shares(core, fake, lacking),
              'nothing past us': not any(unwrapped(part, wrapped) for part in (core, plugin) if part), 'one team': one_team(module, library)}
    for what, good in checks.items():
        print('ok  ' if good else 'FAIL', what)
    return 0 if all(checks.values()) else 1


if __name__ == '__main__':
    sys.exit(main())

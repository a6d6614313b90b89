#!/usr/bin/env python3
"""What a user does with a build folder that has no tests: programs are still made when asked for, packing leaves the list of installed files alone.

usage: test_folders.py BUILD TARBALL_SCRIPT     SPDX-License-Identifier: Apache-2.0"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

build, script = (pathlib.Path(word).resolve() for word in sys.argv[1:3])


def output(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout


with tempfile.TemporaryDirectory() as folder:
    # As tools/demo.sh configures; only configured, so this takes seconds.
    fresh = pathlib.Path(folder, 'build')
    output('meson', 'setup', fresh, build.parent if (build.parent / 'meson.build').exists() else script.parents[1], '-Dtests=false', '-Ddebug=false', '-Dcuda=disabled')
    targets = {target['name']: target for target in json.loads(output('meson', 'introspect', '--targets', fresh))}
    for name in ('pagerank', 'triangles', 'gcn'):
        assert name in targets and not targets[name]['build_by_default'], f'{name}: not a target, or always built'
    assert targets['tessera_suitesparse']['filename'][0].endswith('tools/libtessera_suitesparse.so')
    commands = output('ninja', '-C', fresh, '-t', 'query', 'tools/tessera')
    assert all(f'libtessera_{name}.so' in commands for name in ('suitesparse', 'watch', 'handles')), 'tools/tessera does not bring its modules'

    # With nvcc, compiling takes minutes: that is said before it begins.
    if shutil.which('nvcc') or pathlib.Path('/usr/local/cuda/bin/nvcc').exists():
        said = output('meson', 'setup', pathlib.Path(folder, 'cuda'), script.parents[1], '-Dtests=false')
        assert 'minutes on two cores; -Dcuda=disabled' in said or 'CUDA         : not found' in said, said[-2000:]

    # Packing after an install: `ninja uninstall` still deletes what was installed.
    copy = pathlib.Path(folder, 'copy')
    shutil.copytree(build / 'meson-logs', copy)
    installed = build / 'meson-logs' / 'install-log.txt'
    before = installed.read_bytes() if installed.exists() else None
    output(script, build, pathlib.Path(folder, 'tessera.tar.gz'))
    assert (installed.read_bytes() if installed.exists() else None) == before, 'make_tarball.sh replaced the list of installed files'
print('folders: ok')

#!/usr/bin/env python3
"""The PETSc installations of this machine, a line of JSON: version, scalar, index, name, include directories, SONAME.  One of each kind:
that of PETSC_DIR and PETSC_ARCH, the one pkg-config finds, Debian's.

usage: find_petsc.py          SPDX-License-Identifier: Apache-2.0
"""
import glob
import json
import os
import re
import shlex
import subprocess
import sys


def output(*command, path=''):
    environment = dict(os.environ, PKG_CONFIG_PATH=path + ':' + os.environ.get('PKG_CONFIG_PATH', ''))
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    except OSError:
        return ''
    return done.stdout.strip() if done.returncode == 0 else ''


def pc_folders():
    """Folders that hold a petsc.pc; '' is where pkg-config looks by itself."""
    own = os.path.join(os.environ.get('PETSC_DIR', ''), os.environ.get('PETSC_ARCH', ''), 'lib', 'pkgconfig')
    return [own, ''] + sorted(glob.glob('/usr/lib/petscdir/*/*/lib/pkgconfig'))


def include_directories(name, path):
    words = shlex.split(output('pkg-config', '--cflags', name, path=path))
    compiler = output('pkg-config', '--variable=ccompiler', name, path=path) or 'mpicc'
    words += shlex.split(output(*shlex.split(compiler), '-show'))
    return list(dict.fromkeys(os.path.realpath(word[2:]) for word in words if word.startswith('-I')))


def defined(directories, header):
    """The macros of a header, name -> value."""
    for directory in directories:
        try:
            with open(os.path.join(directory, header), encoding='utf-8') as file:
                return dict(re.findall(r'^#\s*define\s+(\w+)[ \t]*(.*?)[ \t]*$', file.read(), re.M))
        except OSError:
            pass
    return {}


def soname(name, path):
    libraries = shlex.split(output('pkg-config', '--libs', name, path=path))
    stem = next((word[2:] for word in libraries if word.startswith('-lpetsc')), 'petsc')
    version = '.'.join(output('pkg-config', '--modversion', name, path=path).split('.')[:2])
    return f'lib{stem}.so.{version}'


def describe(path):
    name = next((n for n in ('petsc', 'PETSc') if output('pkg-config', '--modversion', n, path=path)), None)
    if not name:
        return None
    directories = include_directories(name, path)
    configured, version = defined(directories, 'petscconf.h'), defined(directories, 'petscversion.h')
    if not configured or not version:
        return None
    scalar = 'complex' if 'PETSC_USE_COMPLEX' in configured else 'real'
    precision = '-single' if 'PETSC_USE_REAL_SINGLE' in configured else ''
    if 'PETSC_USE_REAL___FLOAT128' in configured or 'PETSC_USE_REAL___FP16' in configured:
        return None
    index = '64' if 'PETSC_USE_64BIT_INDICES' in configured else '32'
    number = version['PETSC_VERSION_MAJOR'] + '.' + version['PETSC_VERSION_MINOR']
    return {'name': f'{number}-{scalar}{precision}-int{index}', 'include': directories, 'soname': soname(name, path)}


def main():
    found = {}
    for path in pc_folders():
        if path == '' or os.path.isdir(path):
            one = describe(path)
            if one and output('sh', '-c', 'command -v mpicc'):
                found.setdefault(one['name'], one)
    for one in found.values():
        print(' '.join([one['name'], one['soname']] + one['include']))
    return 0


if __name__ == '__main__':
    sys.exit(main())

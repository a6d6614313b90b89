#!/usr/bin/env python3
"""Make a folder to build against, include/GraphBLAS.h and lib/libgraphblas.so, from an installed suitesparse-graphblas wheel.

usage: wheel_prefix.py SITE_PACKAGES PREFIX [SOURCE_PACKAGE]          (needs cffi; patchelf in PATH)

The wheel has the library and, until 9.4, for cffi its declarations; from 10 on its source package has them.  The values of macros are asked
of the wheel's compiled module.  What the declarations lack is taken from src/graphblas/declarations, the layout of iterators, and from the
system's header: deprecated names that the library still has.

SPDX-License-Identifier: Apache-2.0"""
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

GRAPHBLAS = pathlib.Path(__file__).resolve().parents[2] / 'src' / 'graphblas'
DECLARATIONS = GRAPHBLAS / 'declarations'
sys.path.insert(0, str(GRAPHBLAS / 'intercept' / 'generate'))
import declarations
import prototypes

# What GraphBLAS.h includes, and programs rely on.
INCLUDED = ('complex.h', 'errno.h', 'inttypes.h', 'limits.h', 'math.h', 'stdarg.h', 'stdbool.h', 'stddef.h', 'stdint.h', 'stdio.h', 'stdlib.h', 'string.h')


def compiled_module(package):
    """The wheel's module of cffi, without its Python part and what that imports."""
    name, path = '_graphblas', str(next(package.glob('_graphblas*.so')))
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module.lib


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def iterator(major):
    """The struct that macros look into."""
    types = declarations.read_types(DECLARATIONS / major / 'types.txt')
    return 'struct GB_Iterator_opaque { %s; };\n' % types.structs['GB_Iterator_opaque']


def of_the_system(text, library):
    """Declarations of the system's header for what `text` lacks and the library has."""
    exported = set(re.findall(r' [TDBR] (\w+)', output_of('nm', '-D', '--defined-only', str(library))))
    system = output_of('cc', '-E', '-P', '-include', 'GraphBLAS.h', '-x', 'c', '/dev/null')
    missing = []
    wanted = exported - set(re.findall(r'\w+', text))
    for declaration in prototypes.declarations(prototypes.clean(system)):
        prototype = prototypes.parse_declaration(declaration)
        objects = re.fullmatch(r'((?:GrB|GxB)_\w+) ((?:GrB|GxB)_[\w ,]+)', declaration)
        if prototype and prototype.name in wanted:
            missing.append(declaration)
        elif objects:
            missing += [f'extern {objects[1]} {name}' for name in re.findall(r'\w+', objects[2]) if name in wanted]
    return ''.join(f'{declaration};\n' for declaration in missing)


def header(package, library, source):
    lib = compiled_module(package)
    text = ((source / 'suitesparse_graphblas' if source else package) / 'suitesparse_graphblas.h').read_text(encoding='utf-8')
    text = re.sub(r'^extern char \*\w+_STR;\n', '', text, flags=re.M)
    text = re.sub(r'^(#define (\w+)) \.\.\.$', lambda define: f'{define[1]} ({getattr(lib, define[2])})', text, flags=re.M)
    for part in ('MAJOR', 'MINOR', 'SUB'):  # the build reads them as text
        text = re.sub(rf'(#define GxB_IMPLEMENTATION_{part}) \((\d+)\)', r'\1 \2', text)
    includes = ''.join(f'#include <{name}>\n' for name in INCLUDED)
    return f'#pragma once\n{includes}#define GrB_NULL NULL\n#define GrB_INVALID_HANDLE NULL\n{text}\n{iterator(str(lib.GxB_IMPLEMENTATION_MAJOR))}{of_the_system(text, library)}'


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__.split('\n\n')[1])
    packages, prefix = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    source = pathlib.Path(sys.argv[3]) if len(sys.argv) == 4 else None
    wheels_library = next((packages / 'suitesparse_graphblas.libs').glob('libgraphblas*'))
    text = header(packages / 'suitesparse_graphblas', wheels_library, source)
    major = re.search(r'#define GxB_IMPLEMENTATION_MAJOR (\d+)', text)[1]
    for folder in ('include', 'lib'):
        (prefix / folder).mkdir(parents=True, exist_ok=True)
    (prefix / 'include' / 'GraphBLAS.h').write_text(text, encoding='utf-8')
    # Under its own name again, and with the system's OpenMP: a process has one.
    library, openmp = prefix / 'lib' / f'libgraphblas.so.{major}', next(wheels_library.parent.glob('libgomp*'))
    shutil.copy(wheels_library, library)
    subprocess.run(['patchelf', '--set-soname', library.name, '--replace-needed', openmp.name, 'libgomp.so.1', '--remove-rpath', str(library)],
                   check=True)
    os.symlink(library.name, prefix / 'lib' / 'libgraphblas.so')


if __name__ == '__main__':
    main()

"""What the libraries export: the core our names only, those of the headers with their version, a door the functions of its version, the preloaded library all of them; nothing else.

usage: test_exports.py NM KIND=LIBRARY…          KIND: core, preload, or the major version of a door
SPDX-License-Identifier: Apache-2.0
"""

import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '..', '..')
DECLARATIONS = os.path.join(ROOT, 'src', 'graphblas', 'declarations')
sys.path.insert(0, os.path.join(ROOT, 'src', 'graphblas', 'intercept', 'generate'))
sys.dont_write_bytecode = True

import declarations  # noqa: E402

PUBLIC_HEADERS = [os.path.join(ROOT, 'include', 'tessera', name) for name in ('tessera.h', 'attention.h', 'spgemm.h')]
MARK, REPORTS = 'tsr_door_library', 'tsr_check_reports'


PUBLIC, PRIVATE = 'TESSERA_1', 'TESSERA_PRIVATE_'


def is_version(name):
    return name == PUBLIC or name.startswith(PRIVATE)


def exported(nm, library):
    """The version of each name."""
    text = subprocess.run([nm, '-D', '--defined-only', library], check=True, capture_output=True, text=True).stdout
    names = (line.split()[-1].partition('@@') for line in text.splitlines())
    return {name: version for name, _, version in names if not is_version(name)}


def public():
    names = set()
    for header in PUBLIC_HEADERS:
        with open(header, encoding='utf-8') as source:
            names |= set(re.findall(r'TSR_PUBLIC[^;]*?\b(tsr_\w+)\s*\(', source.read()))
    return names


def functions(major):
    return set(declarations.read_functions(os.path.join(DECLARATIONS, major, 'functions.txt')))


def expected_of(kind):
    if kind == 'preload':
        return set().union(*(functions(major) for major in os.listdir(DECLARATIONS) if major.isdigit())) | public() | {MARK, REPORTS}
    return functions(kind) | {MARK, REPORTS}


def problems(kind, found):
    if kind == 'core':
        accidents = {name for name, version in found.items() if not name.startswith('tsr_') or not is_version(version)}
        missing = {name for name in public() if found.get(name) != PUBLIC}
    else:
        accidents, missing = set(found) - expected_of(kind), expected_of(kind) - set(found)
    return ['exports %s by accident' % name for name in sorted(accidents)] + ['does not export %s' % name for name in sorted(missing)]


def main():
    nm, wrong = sys.argv[1], 0
    for kind, library in (argument.split('=', 1) for argument in sys.argv[2:]):
        for problem in problems(kind, exported(nm, library)):
            print(library, problem)
            wrong += 1
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())

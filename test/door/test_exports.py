"""What the libraries export: the public tsr_ functions, those with a drop-in door every wrapper as well, nothing else.

usage: test_exports.py NM HEADER.i LIBRARY…      (HEADER.i `none`: libraries without a door)
SPDX-License-Identifier: Apache-2.0
"""

import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', 'src', 'graphblas', 'intercept', 'generate'))
sys.dont_write_bytecode = True

import prototypes  # noqa: E402

PUBLIC_HEADER = os.path.join(HERE, '..', '..', 'include', 'tessera', 'tessera.h')
FOR_TESTS = {'tsr_door_mark', 'tsr_check_reports'}


def exported(nm, library):
    text = subprocess.run([nm, '-D', '--defined-only', library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split('@')[0] for line in text.splitlines()}


def declared(path):
    with open(path, encoding='utf-8') as source:
        return set(re.findall(r'TSR_PUBLIC[^;]*?\b(tsr_\w+)\s*\(', source.read()))


def main():
    nm, header, libraries = sys.argv[1], sys.argv[2], sys.argv[3:]
    expected = declared(PUBLIC_HEADER)
    if header != 'none':
        with open(header, encoding='utf-8', errors='replace') as source:
            expected |= set(prototypes.parse_header(source.read())) | FOR_TESTS
    wrong = 0
    for library in libraries:
        found = exported(nm, library)
        for name in sorted(found - expected):
            print('%s exports %s by accident' % (library, name))
            wrong += 1
        for name in sorted(expected - found):
            print('%s does not export %s' % (library, name))
            wrong += 1
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""Writes the version script of the core: what the public headers declare is TESSERA_1; our other names, which the doors built with it use, are
private to one version of the library: a door of another one does not load.  A function whose meaning changes gets a new version; one that is
added goes into a new one (docs/native.md).

usage: core_map.py VERSION core.map HEADER…          SPDX-License-Identifier: Apache-2.0"""
import pathlib
import re
import sys

DECLARED = re.compile(r'TSR_PUBLIC[^;]*?\b(tsr_\w+)\s*\(')


def main():
    names = sorted({name for path in sys.argv[3:] for name in DECLARED.findall(pathlib.Path(path).read_text(encoding='utf-8'))})
    public = ''.join(f'        {name};\n' for name in names)
    pathlib.Path(sys.argv[2]).write_text(f'TESSERA_1 {{\n    global:\n{public}}};\n\nTESSERA_PRIVATE_{sys.argv[1]} {{\n    global:\n        tsr_*;\n    local:\n        *;\n}};\n',
                                         encoding='utf-8')


if __name__ == '__main__':
    main()

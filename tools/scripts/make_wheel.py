#!/usr/bin/env python3
"""Make a wheel of an installed Tessera: core, doors, plug-in when it was built, the command, the Python package.

usage: make_wheel.py INSTALLED_PREFIX VERSION OUTPUT_FOLDER        (prints the file; library folder of the prefix: lib)

SPDX-License-Identifier: Apache-2.0"""
import base64
import hashlib
import pathlib
import sys
import sysconfig
import zipfile

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / 'python' / 'tessera'
METADATA = '''Metadata-Version: 2.1
Name: tessera
Version: {version}
Summary: Sparse products of GraphBLAS, SciPy and NumPy programs on CPUs and Tensor Cores
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy
'''
WHEEL = 'Wheel-Version: 1.0\nGenerator: tessera\nRoot-Is-Purelib: false\nTag: {tag}\n'
ENTRY_POINTS = '[console_scripts]\ntessera = tessera.__main__:command\n'
# What `tessera bench` compares with is not for everybody.
LEFT_OUT = ('libtessera_suitesparse.so', 'libtessera_cusparse.so')


def files_of(prefix):
    """(name in the wheel, file); what is a link there is a file here."""
    yield 'tessera/bin/tessera', prefix / 'bin' / 'tessera'
    for name in ('libtessera.so', 'libtessera-core.so.0'):
        yield f'tessera/lib/{name}', prefix / 'lib' / name
    for path in sorted((prefix / 'lib' / 'tessera').glob('*.so')):
        if path.name not in LEFT_OUT:
            yield f'tessera/lib/tessera/{path.name}', path
    for path in sorted(PACKAGE.glob('*.py')):
        yield f'tessera/{path.name}', path


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__.split('\n\n')[1])
    prefix, version, output = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    tag = 'py3-none-' + sysconfig.get_platform().replace('-', '_').replace('.', '_')
    about = f'tessera-{version}.dist-info'
    contents = [(name, path.read_bytes(), path.stat().st_mode) for name, path in files_of(prefix)]
    contents += [(f'{about}/{name}', text.format(version=version, tag=tag).encode(), 0o644)
                 for name, text in (('METADATA', METADATA), ('WHEEL', WHEEL), ('entry_points.txt', ENTRY_POINTS))]
    record = ''
    for name, data, _ in contents:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()
        record += f'{name},sha256={digest},{len(data)}\n'
    contents.append((f'{about}/RECORD', (record + f'{about}/RECORD,,\n').encode(), 0o644))
    target = output / f'tessera-{version}-{tag}.whl'
    with zipfile.ZipFile(target, 'w', zipfile.ZIP_DEFLATED) as wheel:
        for name, data, mode in contents:
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode & 0o777) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    print(target)


if __name__ == '__main__':
    main()

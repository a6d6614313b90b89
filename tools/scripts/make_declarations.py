#!/usr/bin/env python3
"""Write src/graphblas/declarations/<major> from a GraphBLAS.h, or from the packages of PyPI.

usage: make_declarations.py header [GraphBLAS.h]                      (the system's where none is given)
       make_declarations.py package SITE_PACKAGES [SOURCE_PACKAGE]    (an installed suitesparse-graphblas; needs cffi, nm.  From 10 on
                                                                       the wheel has no declarations, its source package has them)

What a package does not tell stays as it stands in the files: the layout of the iterator.  Names that the library exports
and its declarations lack are taken from the other versions' files.

SPDX-License-Identifier: Apache-2.0"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DECLARATIONS = ROOT / 'src' / 'graphblas' / 'declarations'
sys.path.insert(0, str(ROOT / 'src' / 'graphblas' / 'intercept' / 'generate'))
import classify
import declarations
import prototypes
import wheel_prefix

CONSTANTS = ['GxB_IMPLEMENTATION_' + part for part in ('MAJOR', 'MINOR', 'SUB')] + [
    'GxB_' + name for name in ('HYPERSPARSE', 'SPARSE', 'BITMAP', 'FULL', 'AUTO_SPARSITY', 'NTHREADS', 'CHUNK', 'MAX_NAME_LEN')]
STRUCTS = ('GB_Iterator_opaque', 'GxB_Container_struct')
API = re.compile(r'^G[rx]B_')


def output_of(*command, stdin=None):
    return subprocess.run(command, capture_output=True, text=True, check=True, input=stdin).stdout


# ---- types ----

def _enum(body):
    """[(name, value)], values as C counts them."""
    known, after = {}, 0
    for item in filter(None, (text.strip() for text in body.split(','))):
        name, _, value = (text.strip() for text in item.partition('='))
        if value:
            after = eval(value, {'__builtins__': {}}, known)
        known[name], after = after, after + 1
    return [(name, str(value)) for name, value in known.items()]


def _typedef(types, text):
    callback = re.match(r'^typedef (.*?) ?\( ?\* ?(G[rx]B_\w+) ?\) ?\((.*)\)$', text)
    enum = re.match(r'^typedef enum (?:\w+ )?\{(.*)\} ?(G[rx]B_\w+)$', text)
    handle = re.match(r'^typedef struct (\w+) ?\* ?(G[rx]B_\w+)$', text)
    alias = re.match(r'^typedef ([\w ]+?) (G[rx]B_\w+)$', text)
    if enum:
        types.enums[enum[2]] = _enum(enum[1])
    elif handle:
        types.handles[handle[2]] = handle[1]
    elif callback:
        types.callbacks[callback[2]] = '%s (%s)' % (callback[1], callback[3].strip())
    elif alias:
        types.aliases[alias[2]] = alias[1]


def _struct(types, text):
    match = re.match(r'^struct (\w+) \{(.*)\}$', text)
    if match and match[1] in STRUCTS:
        members = [re.sub(r' ?\brestrict\b ?', '', ' '.join(member.split())) for member in match[2].split(';')]
        types.structs[match[1]] = '; '.join(filter(None, members))


def types_of(text):
    types = declarations.Types()
    for declaration in prototypes.declarations(prototypes.clean(text)):
        declaration = ' '.join(declaration.split())
        _typedef(types, declaration)
        _struct(types, declaration)
    return types


# ---- where from ----

def from_header(path):
    include = ['-include', path or 'GraphBLAS.h', '-x', 'c']
    text = output_of('cc', '-E', '-P', *include, '/dev/null')
    prints = ''.join('#ifdef %s\nprintf("%s %%d\\n", (int) %s);\n#endif\n' % (name, name, name) for name in CONSTANTS)
    program = '#include <stdio.h>\nint main(void)\n{\n%sreturn 0;\n}\n' % prints
    subprocess.run(['cc', *include, '-', '-o', '/tmp/constants'], input=program, text=True, check=True)
    values = dict(line.split() for line in output_of('/tmp/constants').splitlines())
    return text, values, None


def from_package(site, source):
    package = site / 'suitesparse_graphblas'
    text = ((source or site) / 'suitesparse_graphblas' / 'suitesparse_graphblas.h').read_text(encoding='utf-8')
    lib = wheel_prefix.compiled_module(package)
    values = {name: str(getattr(lib, name)) for name in CONSTANTS if hasattr(lib, name)}
    library = next((site / 'suitesparse_graphblas.libs').glob('libgraphblas*'))
    symbols = [line.split()[-2:] for line in output_of('nm', '-D', '--defined-only', str(library)).splitlines()]
    return text, values, {name for kind, name in symbols if kind == 'T' and API.match(name)} | {'GB_Iterator_attach'}


# ---- together ----

def _complete(found, exported, types, folder):
    """What the library has and its declarations lack; and the structs that they do not show."""
    for other in sorted(DECLARATIONS.glob('*'), key=lambda path: path != folder):
        if not (other / 'functions.txt').exists():
            continue
        older_types, older = declarations.read(other)
        for name in exported - set(found) if exported else ():
            if name in older:
                found[name] = older[name]
        if other == folder or max(older_types.version[0], types.version[0]) < 10:
            for name, members in older_types.structs.items():
                types.structs.setdefault(name, members)


def main():
    mode, arguments = (sys.argv[1:2] + [''])[0], sys.argv[2:]
    if mode == 'header' and len(arguments) <= 1:
        text, values, exported = from_header(*arguments or [None])
    elif mode == 'package' and 1 <= len(arguments) <= 2:
        text, values, exported = from_package(pathlib.Path(arguments[0]), pathlib.Path(arguments[1]) if arguments[1:] else None)
    else:
        sys.exit(__doc__.split('\n\n')[1])
    types, found = types_of(text), prototypes.parse_header(text)
    types.constants = values
    folder = DECLARATIONS / str(types.version[0])
    folder.mkdir(parents=True, exist_ok=True)
    _complete(found, exported, types, folder)
    missing = sorted(exported - set(found)) if exported else []
    if missing:
        sys.exit('make_declarations.py: exported and not declared: %s' % ' '.join(missing))
    if 'GB_Iterator_opaque' not in types.structs:
        sys.exit('make_declarations.py: the layout of GB_Iterator_opaque is not known; write it to %s/types.txt' % folder)
    for prototype in found.values():
        prototype.roles = classify.classify(prototype)
    note = 'SuiteSparse:GraphBLAS %d.%d.%d, made by tools/scripts/make_declarations.py' % types.version
    declarations.write_types(folder / 'types.txt', types, note)
    declarations.write_functions(folder / 'functions.txt', found, note)
    print('%s: %d functions' % (folder, len(found)))


if __name__ == '__main__':
    main()

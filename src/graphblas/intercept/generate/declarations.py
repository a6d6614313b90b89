"""Declarations of one major version of GraphBLAS, kept as data in src/graphblas/declarations/<major>.

types.txt, a line each:
    constant NAME VALUE | enum NAME CONSTANT=VALUE … | handle NAME STRUCT | alias NAME TYPE | callback NAME RETURNS (PARAMETERS)
    struct NAME MEMBER; MEMBER; …
functions.txt, a line each, `GrB_Info` is left out:
    [RETURNS] NAME (ROLE: DECLARATION, …)      ROLE is what the call does to the object behind a handle, see classify.py

SPDX-License-Identifier: Apache-2.0
"""

import os
import re

import prototypes

LINE = re.compile(r'^(?:(?P<returns>[\w *]+?) )?(?P<name>\w+) \((?P<parameters>.*)\)$')


class Types:
    """What is declared beside functions; rows of strings, in the order of the file."""

    def __init__(self):
        self.constants, self.enums, self.handles, self.aliases, self.callbacks, self.structs = {}, {}, {}, {}, {}, {}

    @property
    def version(self):
        return tuple(int(self.constants['GxB_IMPLEMENTATION_' + part]) for part in ('MAJOR', 'MINOR', 'SUB'))


def _lines(path):
    with open(path, encoding='utf-8') as source:
        return [line.strip() for line in source if line.strip() and not line.startswith('#')]


def read_types(path):
    types = Types()
    for line in _lines(path):
        kind, name, rest = (line.split(' ', 2) + [''])[:3]
        if kind == 'enum':
            types.enums[name] = [tuple(pair.split('=')) for pair in rest.split()]
        else:
            {'constant': types.constants, 'handle': types.handles, 'alias': types.aliases, 'callback': types.callbacks,
             'struct': types.structs}[kind][name] = rest
    return types


def write_types(path, types, note):
    with open(path, 'w', encoding='utf-8') as target:
        target.write('# %s\n' % note)
        for kind, rows in (('constant', types.constants), ('alias', types.aliases), ('handle', types.handles),
                           ('callback', types.callbacks), ('struct', types.structs)):
            for name, rest in sorted(rows.items()):
                target.write('%s %s %s\n' % (kind, name, rest))
        for name, pairs in sorted(types.enums.items()):
            target.write('enum %s %s\n' % (name, ' '.join('%s=%s' % pair for pair in pairs)))


def _read_parameter(text, where):
    role, separator, declaration = text.partition(': ')
    parameter = prototypes.parse_parameter(declaration if separator else text, where)
    return (role if separator else None), parameter


def read_functions(path):
    """Prototypes by name, each with .roles: [(argument number, role, handle type)]."""
    found = {}
    for line in _lines(path):
        match = LINE.match(line)
        if not match:
            raise prototypes.HeaderError('%s: cannot read "%s"' % (path, line))
        pairs = [_read_parameter(text, match['name']) for text in prototypes.split_parameters(match['parameters'])]
        prototype = prototypes.Prototype(match['name'], match['returns'] or 'GrB_Info', [parameter for _, parameter in pairs])
        prototype.roles = [(n, role, p.base) for n, (role, p) in enumerate(pairs) if role]
        found[prototype.name] = prototype
    return found


def _write_function(prototype):
    roles = {number: role for number, role, _ in prototype.roles}
    texts = []
    for number, parameter in enumerate(prototype.parameters):
        text = parameter.declare(parameter.name).strip()
        texts.append('%s: %s' % (roles[number], text) if number in roles else text)
    returns = '' if prototype.returns == 'GrB_Info' else prototype.returns + ' '
    return '%s%s (%s)\n' % (returns, prototype.name, ', '.join(texts))


def write_functions(path, found, note):
    with open(path, 'w', encoding='utf-8') as target:
        target.write('# %s\n' % note)
        for name in sorted(found):
            target.write(_write_function(found[name]))


def read(folder):
    return read_types(os.path.join(folder, 'types.txt')), read_functions(os.path.join(folder, 'functions.txt'))

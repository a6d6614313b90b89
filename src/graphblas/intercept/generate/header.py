"""Writes GraphBLAS.h as the door sees it: the types, constants and prototypes of one version's declarations.

SPDX-License-Identifier: Apache-2.0
"""

GUARD = 'TSR_GRAPHBLAS_OF_THE_DOOR_H'


def _enum(name, pairs):
    return 'typedef enum {\n%s\n} %s;' % (',\n'.join('    %s = %s' % pair for pair in pairs), name)


def _callback(name, text):
    returns, _, parameters = text.partition(' (')
    return 'typedef %s (*%s)(%s;' % (returns, name, parameters)


def _struct(name, members):
    return 'struct %s {\n%s\n};' % (name, '\n'.join('    %s;' % member for member in members.split('; ')))


def _prototype(p):
    parameters = ', '.join(q.declare(q.name).strip() for q in p.parameters) or 'void'
    return '%s %s(%s);' % (p.returns, p.name, parameters)


def text(types, found):
    out = ['/* What the door uses of SuiteSparse:GraphBLAS %d.%d.%d.' % types.version,
           ' * Made by src/graphblas/intercept/generate from src/graphblas/declarations/%d.' % types.version[0],
           ' * SPDX-License-Identifier: Apache-2.0 */', '#ifndef ' + GUARD, '#define ' + GUARD, '',
           '#include <stdbool.h>', '#include <stddef.h>', '#include <stdint.h>', '#include <stdio.h>', '']
    out += ['#define %s %s' % pair for pair in types.constants.items()]
    out += ['typedef %s %s;' % (rest, name) for name, rest in types.aliases.items()]
    out += ['typedef struct %s *%s;' % (rest, name) for name, rest in types.handles.items()]
    out += [_callback(*pair) for pair in types.callbacks.items()]
    out += [_enum(*pair) for pair in types.enums.items()]
    out += [_struct(*pair) for pair in types.structs.items()]
    out += [_prototype(p) for p in found.values()]
    return '\n'.join(out + ['', '#endif', ''])

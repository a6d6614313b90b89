"""Says for every argument of every GraphBLAS function what the call does to the object behind it.

By constness, and a small table of exceptions.  Whatever carries a handle (Matrix, Vector, Scalar; through pointers,
void * or a type not known here) and fits no rule raises Unclassified: the build stops, because a wrapper that misses
a write would leave stale representations behind without a sign.
SPDX-License-Identifier: Apache-2.0
"""

import re

HANDLES = {'GrB_Matrix', 'GrB_Vector', 'GrB_Scalar'}
OPERATORS = {'GrB_UnaryOp', 'GrB_BinaryOp', 'GrB_IndexUnaryOp', 'GxB_IndexBinaryOp', 'GxB_SelectOp', 'GrB_Monoid',
             'GrB_Semiring'}
# Types that hold no contents of a matrix, vector or scalar.
PLAIN = OPERATORS | {
    'GrB_Type', 'GrB_Descriptor', 'GrB_Global', 'GxB_Context', 'GxB_Iterator',
    'GrB_Index', 'GrB_Info', 'GrB_Mode', 'GrB_Format', 'GrB_WaitMode', 'GrB_Field', 'GrB_Desc_Field', 'GrB_Desc_Value',
    'GxB_Option_Field', 'GxB_Format_Value', 'GxB_Print_Level', 'GxB_Context_Field', 'GxB_FC32_t', 'GxB_FC64_t',
    'GrB_Type_Code', 'GxB_unary_function', 'GxB_binary_function', 'GxB_index_unary_function',
    'GxB_index_binary_function', 'GxB_select_function',
    '_Bool', 'bool', 'char', 'int', 'unsigned int', 'float', 'double', 'size_t', 'FILE',
    'int8_t', 'int16_t', 'int32_t', 'int64_t', 'uint8_t', 'uint16_t', 'uint32_t', 'uint64_t'}

# Functions whose void pointers are values, index arrays, blobs or callbacks, never handles.
VOID_IS_VALUE = re.compile(
    r'_UDT$|_VOID$|_FUNCTION$|^GxB_init$|^GxB_Monoid_(identity|terminal)$|serialize|^GxB_Serialized_'
    r'|^GxB_(Matrix|Vector)_(import|export|pack|unpack)_|^GxB_Vector_(load|unload)$|^GxB_IndexBinaryOp_new$'
    r'|^GxB_BinaryOp_new_IndexOp$')

# Non-const handles whose contents the call keeps, though it may move or convert the arrays.
KEEPS_CONTENTS = re.compile(
    r'_wait$|_Option_set(_\w+)?$|^G[rx]B_(Matrix|Vector|Scalar)_set_(Scalar|String|INT32|VOID|arenas)$|Iterator_attach$'
    r'|_serialize(Size|_arena)?$|^GrB_Matrix_(export(Size|Hint)|export_\w+)$|^GxB_Matrix_export_FC(32|64)$'
    r'|^GxB_Matrix_reshapeDup(_arena)?$')
# ... where only the first argument keeps them: GrB_Matrix_get_Scalar (A, value, field) writes its second.
KEEPS_FIRST = re.compile(r'^G[rx]B_(Matrix|Vector|Scalar)_get_(Scalar|String|INT32|SIZE|VOID)$|_Option_get(_\w+)?$')

# What was known of an operator or a descriptor ends with these calls.
REMEMBERED = {'GrB_BinaryOp', 'GrB_IndexUnaryOp', 'GrB_Semiring', 'GrB_Descriptor'}
MAKES = re.compile(r'^G[rx]B_(Binary|IndexUnary)Op_new(_arena)?$')
ENDS = re.compile(r'_free$|_set(_\w+)?$')

FREES = re.compile(r'^G[rx]B_(Matrix|Vector|Scalar)_free$')
# ... also by a move of the object itself to another handle.
EXPORTS = re.compile(r'^GxB_(Matrix|Vector)_export_\w+$|^GxB_pack_HyperHash$|^GxB_(Matrix|Vector|Scalar)_set_arenas$')
WAITS = re.compile(r'^GxB_(Matrix|Vector|Scalar)_wait$')
CREATES = re.compile(
    r'^G[rx]B_(Matrix|Vector|Scalar)_(new|dup)(_arena)?$|^G[rx]B_(Matrix|Vector)_import_\w+$'
    r'|^G[rx]B_(Matrix|Vector)_deserialize(_arena)?$'
    r'|^G[rx]B_Matrix_diag(_arena)?$|^GxB_Matrix_reshapeDup(_arena)?$|^GxB_unpack_HyperHash$')

READ, WRITE, MOVE, NEW, FREE, EXPORT, MOVE_AT, READ_ARRAY, NEW_ARRAY = (
    'read', 'write', 'move', 'new', 'free', 'export', 'move-at', 'read-array', 'new-array')
# GxB_Container (from 10.0) holds five vectors and a matrix: loading from it and unloading into it write them all.
CONTAINER, NEW_CONTAINER, FREE_CONTAINER = 'container', 'new-container', 'free-container'
CONTAINER_CALLS = {r'_(from|into)_Container$': (0, CONTAINER), r'^GxB_Container_new(_arena)?$': (1, NEW_CONTAINER),
                   r'^GxB_Container_free$': (1, FREE_CONTAINER)}


class Unclassified(Exception):
    """An argument may carry a handle and fits no rule."""


def _fail(prototype, parameter, why):
    raise Unclassified('%s (%s): %s; add a rule to src/graphblas/intercept/generate/classify.py'
                       % (prototype.name, parameter.declare(parameter.name).strip(), why))


def _pointer(prototype, parameter):
    name = prototype.name
    if parameter.const:
        if name == 'GxB_Matrix_concat':
            return READ_ARRAY
        _fail(prototype, parameter, 'array of const handles of unknown length')
    if name in ('GxB_Matrix_split', 'GxB_Matrix_split_arena'):
        return NEW_ARRAY
    for rule, role in ((FREES, FREE), (WAITS, MOVE_AT)):
        if rule.match(name):
            return role
    if EXPORTS.match(name):
        return EXPORT
    if CREATES.match(name):
        return NEW
    _fail(prototype, parameter, 'pointer to a handle')


def _handle(prototype, parameter):
    if parameter.const:
        return READ
    if KEEPS_CONTENTS.search(prototype.name):
        return MOVE
    if KEEPS_FIRST.search(prototype.name) and parameter is prototype.parameters[0]:
        return READ
    return WRITE


def _callback(prototype, parameter):
    text = ' '.join(parameter.callback)
    if any(re.search(r'\b%s\b' % h, text) for h in HANDLES):
        _fail(prototype, parameter, 'callback that gets a handle')


def _container(prototype, parameter):
    for rule, (stars, role) in CONTAINER_CALLS.items():
        if re.search(rule, prototype.name) and parameter.stars == stars:
            return role
    _fail(prototype, parameter, 'container of handles')


def _value(prototype, parameter):
    if parameter.base == 'GxB_Container':
        return _container(prototype, parameter)
    if parameter.base in HANDLES:
        if parameter.stars == 0:
            return _handle(prototype, parameter)
        if parameter.stars == 1:
            return _pointer(prototype, parameter)
        _fail(prototype, parameter, 'pointer to pointers of handles')
    if parameter.base == 'void':
        if parameter.stars == 0:
            _fail(prototype, parameter, 'void by value')
        if not VOID_IS_VALUE.search(prototype.name):
            _fail(prototype, parameter, 'void pointer that may be a handle')
        return None
    if parameter.base not in PLAIN:
        _fail(prototype, parameter, 'type not known here, it may hold a handle')
    return None


def classify(prototype):
    """[(argument number, role, handle type)] of the arguments that are handles."""
    roles = []
    for number, parameter in enumerate(prototype.parameters):
        if parameter.kind == 'callback':
            _callback(prototype, parameter)
            continue
        if parameter.kind == 'varargs':
            continue
        role = _value(prototype, parameter)
        if role:
            roles.append((number, role, parameter.base))
    return roles


def handed_out(prototype):
    """Numbers of the arguments through which arrays may become the program's."""
    return [number for number, p in enumerate(prototype.parameters)
            if p.kind == 'value' and p.stars == 2 and not p.const and p.base not in HANDLES | {'GxB_Container'}]


def tells_allocator(prototype):
    """Numbers of the arguments through which the program may get the functions that GraphBLAS allocates with."""
    return [1] if prototype.name == 'GrB_Global_get_VOID' else []


def outdates(prototype):
    """Number of the argument that is an operator, a semiring or a descriptor which the call frees or sets, or None."""
    for number, p in enumerate(prototype.parameters):
        if p.base in REMEMBERED and not p.const and ENDS.search(prototype.name):
            return number
    return None


def runs_operators(prototype, roles):
    """May the call run a user's operator (and so re-enter GraphBLAS)?"""
    return bool(roles) and any(p.base in OPERATORS and p.stars == 0 for p in prototype.parameters)

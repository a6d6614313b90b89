"""Which functions may be computed or answered from values that a backend keeps, and what their wrappers then ask.

SPDX-License-Identifier: Apache-2.0
"""

import re

TYPES = 'BOOL|INT8|INT16|INT32|INT64|UINT8|UINT16|UINT32|UINT64|FP32|FP64'
OBJECT = r'^G[rx]B_(?P<object>Matrix|Vector)_'


def _output(match, prototype, desc):
    return '&(tsr_output){"%s", (GrB_Matrix) a0, (GrB_Matrix) a1, a2, a%d, %s, HOST}' % (
        prototype.name, desc, 'true' if match['object'] == 'Vector' else 'false')


def _object(number):
    return 'TSR_OBJECT(a%d)' % number


def _scalar(match, number):
    if 'type' not in match.re.groupindex:
        return 'TSR_THUNK(a%d)' % number
    if match['type'] == 'Scalar':
        return 'TSR_BOXED(a%d)' % number
    return 'TSR_PLAIN(a%d, TSR_%s)' % (number, match['type'])


def _apply(match, prototype):
    return 'tsr_try_unary(&early, %s, a3, (GrB_Matrix) a4)' % _output(match, prototype, 5)


def _bind(match, prototype):
    operands = [_scalar(match, 4), _object(5)] if match['side'] == '1st' else [_object(4), _scalar(match, 5)]
    return 'tsr_try_binary(&early, %s, a3, %s, TSR_PAIR_MULT)' % (_output(match, prototype, 6), ', '.join(operands))


def _ewise(match, prototype):
    operator = {'BinaryOp': 'a3', 'Monoid': 'tsr_operator_of_monoid(a3)',
                'Semiring': 'tsr_operator_of_%s(a3)' % ('add' if match['kind'] == 'Add' else 'multiply')}[match['operator']]
    return 'tsr_try_binary(&early, %s, %s, %s, %s, TSR_PAIR_%s)' % (
        _output(match, prototype, 6), operator, _object(4), _object(5), match['kind'].upper())


def _union(match, prototype):
    return 'tsr_try_union(&early, %s, a3, (GrB_Matrix) a4, a5, (GrB_Matrix) a6, a7)' % _output(match, prototype, 8)


def _select(match, prototype):
    return 'tsr_try_select(&early, %s, a3, (GrB_Matrix) a4, %s)' % (_output(match, prototype, 6), _scalar(match, 5))


def _index(match, prototype):
    return 'tsr_try_index(&early, %s, a3, (GrB_Matrix) a4, %s)' % (_output(match, prototype, 6), _scalar(match, 5))


def _transpose(_, prototype):
    return 'tsr_try_transpose(&early, &(tsr_output){"%s", a0, a1, a2, a4, false, false}, a3)' % prototype.name


def _assign(match, prototype):
    vector = match['object'] == 'Vector'
    if vector and not match['type']:
        return 'tsr_try_assign_to(&early, %s, (GrB_Matrix) a3, (tsr_list){a4, a5})' % _output(match, prototype, 6)
    source = _scalar(match, 3) if match['type'] else _object(3)
    return 'tsr_try_assign(&early, %s, %s, a4, %s)' % (
        _output(match, prototype, 6 if vector else 8), source, 'a4' if vector else 'a6')


def _of_entries(make):
    """The same arguments, for sparse matrices that a device has."""
    def on_device(match, prototype):
        return re.sub(r'^tsr_try_(row_sums|\w+)', lambda name: 'tsr_try_%s_on_device' % {'row_sums': 'rows'}.get(name[1], name[1]),
                      make(match, prototype))
    return on_device


def _select_on_device(match, prototype):
    return 'tsr_try_select_on_device(&early, %s, a3, (GrB_Matrix) a4, %s)' % (_output(match, prototype, 6), _scalar(match, 5))


def _extract_on_device(match, prototype):
    return 'tsr_try_extract_on_device(&early, %s, (GrB_Matrix) a3, (tsr_list){a4, a5}, (tsr_list){a6, a7})' % _output(match, prototype, 8)


def _select_sparse(match, prototype):
    return 'tsr_try_select_sparse(&early, %s, a3, (GrB_Matrix) a4, %s)' % (_output(match, prototype, 6), _scalar(match, 5))


def _selected(match, prototype):
    return 'tsr_selected(&%s, a3, (GrB_Matrix) a4, %s)' % (_output(match, prototype, 6)[1:], _scalar(match, 5))


def _old_select(make):
    """Of an operator of the version before."""
    return lambda match, prototype: make(match, prototype).replace(' a3,', ' tsr_match_old_select(a3),')


def _extracted(match, prototype):
    return 'tsr_extracted(&%s, (GrB_Matrix) a3, (tsr_list){a4, a5}, (tsr_list){a6, a7})' % _output(match, prototype, 8)[1:]


def _extract_listed(match, prototype):
    """By lists of indices, on the host's arrays."""
    vector = match['object'] == 'Vector'
    return 'tsr_try_extract(&early, %s, (GrB_Matrix) a3, (tsr_list){a4, a5}, (tsr_list){%s})' % (
        _output(match, prototype, 6 if vector else 8), 'NULL, 0' if vector else 'a6, a7')


def _assign_listed(match, prototype):
    """By a list of indices, to a vector."""
    source = _scalar(match, 3) if match['type'] else _object(3)
    return 'tsr_try_scatter_here(&early, %s, %s, (tsr_list){a4, a5})' % (_output(match, prototype, 6), source)


def _build(match, prototype):
    """Of tuples; an object that the program makes this way has nothing that a backend could have."""
    vector = match['object'] == 'Vector'
    values, count = (2, 3) if vector else (3, 4)
    given = 'TSR_BOXED(a%d)' % values if match['type'] == 'Scalar' else '(tsr_argument){.scalar = a%d, .type = TSR_%s}' % (values, match['type'])
    return 'tsr_try_build(&early, &(tsr_output){"%s", (GrB_Matrix) a0, NULL, NULL, NULL, %s, HOST}, a1, %s, %s, a%d, %s)' % (
        prototype.name, 'true' if vector else 'false', 'NULL' if vector else 'a2', given, count,
        'NULL' if match['type'] == 'Scalar' else 'a%d' % (count + 1))


def _kronecker(match, prototype):
    operator = {'Monoid': 'tsr_operator_of_monoid(a3)', 'Semiring': 'tsr_operator_of_multiply(a3)'}.get(match['operator'], 'a3')
    return 'tsr_try_kronecker(&early, %s, %s, a4, a5)' % (_output(match, prototype, 6), operator)


def _extract(match, prototype):
    """Of all of a matrix it is an assignment."""
    if match['object'] == 'Vector':
        return 'tsr_try_gather(&early, %s, (GrB_Matrix) a3, (tsr_list){a4, a5})' % _output(match, prototype, 6)
    return 'tsr_try_assign(&early, %s, %s, a4, a6)' % (_output(match, prototype, 8), _object(3))


def _reduce_rows(match, prototype):
    operator = 'a3' if match['operator'] == 'BinaryOp' else 'tsr_operator_of_monoid(a3)'
    return 'tsr_try_row_sums(&early, &(tsr_output){"%s", (GrB_Matrix) a0, (GrB_Matrix) a1, a2, a5, true, HOST}, %s, a4)' % (
        prototype.name, operator)


def _control(match, _):
    return 'tsr_try_control(&early, (GrB_Matrix) a0, %s, a1, %s)' % (
        'true' if match['object'] == 'Vector' else 'false', 'a2' if match['typed'] else '(int32_t) i')


def _dup(match, prototype):
    return 'tsr_try_dup(&early, "%s", (GrB_Matrix *) a0, (GrB_Matrix) a1, %s)' % (
        prototype.name, 'true' if match['object'] == 'Vector' else 'false')


# What the wrapper of a matching function asks before its hooks; true: `early` is the result.
STEPS = [(re.compile(pattern), make) for pattern, make in (
    (OBJECT + r'apply$', _apply),
    (OBJECT + r'apply_BinaryOp(?P<side>1st|2nd)_(?P<type>%s|Scalar)$' % TYPES, _bind),
    (OBJECT + r'eWise(?P<kind>Mult|Add)_(?P<operator>BinaryOp|Monoid|Semiring)$', _ewise),
    (OBJECT + r'eWiseUnion$', _union),
    (OBJECT + r'apply_IndexOp_(?P<type>%s|Scalar)$' % TYPES, _index),
    (r'^GrB_transpose$', _transpose),
    (OBJECT + r'select_(?P<type>%s|Scalar)$' % TYPES, _select),
    (OBJECT + r'(?:sub)?assign(?:_(?P<type>%s|Scalar))?$' % TYPES, _assign),
    (OBJECT + r'extract$', _extract),
    (r'^GrB_Matrix_reduce_(?P<operator>Monoid|BinaryOp)$', _reduce_rows),
    (OBJECT + r'Option_set(?P<typed>_INT32)?$', _control),
    (OBJECT + r'dup$', _dup),
    (OBJECT + r'wait$', lambda match, prototype: 'tsr_try_wait(&early, (GrB_Matrix) a0)'))]

KRONECKER = re.compile(r'^G(?:rB_(?P<object>Matrix)_kronecker_(?P<operator>BinaryOp|Monoid|Semiring)|xB_kron)$')

# Asked before these: of sparse matrices that a device has.
ON_DEVICE = [(re.compile(r'^GrB_(?P<object>Matrix)_select_(?P<type>%s|Scalar)$' % TYPES), _select_on_device),
         (re.compile(r'^GxB_(?P<object>Matrix)_select$'), _old_select(_select_on_device)),
         (re.compile(r'^GrB_(?P<object>Matrix)_extract$'), _extract_on_device),
         (re.compile(r'^GrB_(?P<object>Matrix)_apply$'), _of_entries(_apply)),
         (re.compile(r'^GrB_(?P<object>Matrix)_apply_BinaryOp(?P<side>1st|2nd)_(?P<type>%s|Scalar)$' % TYPES), _of_entries(_bind)),
         (re.compile(r'^GrB_(?P<object>Matrix)_eWise(?P<kind>Mult|Add)_(?P<operator>BinaryOp|Monoid|Semiring)$'), _of_entries(_ewise)),
         (re.compile(r'^GrB_transpose$'), _of_entries(_transpose)), (KRONECKER, _of_entries(_kronecker)),
         (re.compile(r'^GrB_Matrix_reduce_(?P<operator>Monoid|BinaryOp)$'), _of_entries(_reduce_rows))]

BUILD = re.compile(OBJECT + r'build_(?P<type>%s|Scalar)$' % TYPES)
ROWS = re.compile(r'^GrB_Matrix_reduce_(Monoid|BinaryOp)$')
LISTED = re.compile(r'^G[rx]B_(?P<object>Vector)_(?:sub)?assign(?:_(?P<type>%s|Scalar))?$' % TYPES)

# Told what the host has done, be it by our kernels.
MADE = [(re.compile(r'^GrB_(?P<object>Matrix)_select_(?P<type>%s|Scalar)$' % TYPES), _selected),
        (re.compile(r'^GxB_(?P<object>Matrix)_select$'), _old_select(_selected)), (re.compile(r'^GrB_(?P<object>Matrix)_extract$'), _extracted)]

# Asked of the host's arrays where the step is declined.
PICKED = [(re.compile(OBJECT + r'extract$'), _extract_listed),
          (re.compile(OBJECT + r'select_(?P<type>%s|Scalar)$' % TYPES), _select_sparse),
          (re.compile(r'^GxB_(?P<object>Matrix|Vector)_select$'), _old_select(_select_sparse)), (LISTED, _assign_listed), (BUILD, _build),
          (KRONECKER, _kronecker)]

KNOWN_OPTION = 'tsr_knows_setting((GrB_Matrix) a0, (int) a1) && tsr_real.{name}'

# ... true: the answer is written, or there is nothing to do.  With the object that is asked.
ANSWERS = [(re.compile(pattern), asked, call) for pattern, asked, call in (
    (r'^GrB_(Matrix|Vector)_nvals$', 'a1', 'tsr_try_nvals(a0, (GrB_Matrix) a1)'),
    (r'^GrB_(Matrix_nrows|Vector_size)$', 'a1', 'tsr_try_nrows(a0, (GrB_Matrix) a1)'),
    (r'^GrB_Matrix_ncols$', 'a1', 'tsr_try_ncols(a0, (GrB_Matrix) a1)'),
    (r'^GxB_(Matrix|Vector)_type$', 'a1', 'tsr_try_type(a0, (GrB_Matrix) a1)'),
    (r'^(?P<name>GxB_(Matrix|Vector)_type_name)$', 'a1', 'tsr_knows((GrB_Matrix) a1) && tsr_real.{name}(a0, a1) == GrB_SUCCESS'),
    (r'^(?P<name>GxB_(Matrix|Vector)_Option_get)$', 'a0', KNOWN_OPTION + '(a0, a1, i, d) == GrB_SUCCESS'),
    (r'^(?P<name>GxB_(Matrix|Vector)_Option_get_INT32)$', 'a0', KNOWN_OPTION + '(a0, a1, a2) == GrB_SUCCESS'),
    (r'^(?P<name>GrB_(Matrix|Vector)_get_INT32)$', 'a0', 'tsr_knows_setting((GrB_Matrix) a0, a2) && tsr_real.{name}(a0, a1, a2) == GrB_SUCCESS'),
    (r'^GrB_Vector_extractTuples_(?P<type>%s)$' % TYPES, 'a3', 'tsr_try_tuples(a0, a1, TSR_{type}, a2, (GrB_Matrix) a3)'))]

# One entry more or other: where the rest is held as it is, that may stay so.
EDITS = re.compile(r'^GrB_(Matrix|Vector)_setElement_')

# One scalar everywhere: SuiteSparse writes it once.
SCALAR_ASSIGN = re.compile(r'^G[rx]B_(Matrix|Vector)_(?:sub)?assign_(%s|Scalar)$' % TYPES)

# With a mask or an accumulator SuiteSparse (7.4 to 10.5) makes a shallow copy of a jumbled operand and sorts that: the operand's indices,
# not its values; 10.5 may refuse, and does so for a transpose that is none.
SHALLOW = [(re.compile(OBJECT + r'apply(?:_(?:BinaryOp2nd|IndexOp)_(?:%s|Scalar))?$' % TYPES), 4),
           (re.compile(OBJECT + r'apply_BinaryOp1st_(?:%s|Scalar)$' % TYPES), 5), (re.compile(r'^GrB_transpose$'), 3)]

# Matrices: A, B, C, a mask?  Vectors: A, u.
SMALL = {'GrB_mxm': 'tsr_is_small(a4, a5, a0, a1)', 'GrB_mxv': 'tsr_is_small_with(a4, a5)', 'GrB_vxm': 'tsr_is_small_with(a5, a4)'}

# Old contents need not be downloaded first.
REPLACES = re.compile(r'^GrB_(Matrix|Vector)_clear$')

REDUCE = re.compile(r'^GrB_(Matrix|Vector)_reduce_(%s|Monoid_Scalar)$' % TYPES)


def _expression(prototype):
    for pattern, make in STEPS:
        match = pattern.match(prototype.name)
        if match and prototype.parameters[0].stars == (1 if prototype.name.endswith('_dup') else 0):
            return make(match, prototype)
    return ''


def step(prototype):
    """C expression, or None."""
    first = [make(match, prototype) for match, make in ((pattern.match(prototype.name), make) for pattern, make in ON_DEVICE) if match]
    choices = first + [expression for expression in [_expression(prototype)] if expression]
    joined = ' || '.join(choices).replace(', HOST}', ', false}')
    return ('(%s)' % joined if len(choices) > 1 else joined) or None


def host_step(prototype):
    """The same of a call that may be computed on the host's own arrays, asked after the hooks."""
    choices = _host_choices(prototype)
    if not choices:
        return None
    choice = choices[0] if len(choices) == 1 else '(%s)' % ' || '.join(choices)
    return host_wanted(prototype) + ' && ' + choice.replace(', HOST}', ', true}')


def _host_choices(prototype):
    choices = [_expression(prototype)] + [make(match, prototype) for match, make in _picked(prototype)]
    return [choice for choice in choices if ', HOST}' in choice]


def made(prototype):
    """C call after a success on the host, or None: the result is one that may come again."""
    for pattern, make in MADE:
        match = pattern.match(prototype.name)
        if match:
            return make(match, prototype).replace(', HOST}', ', true}')
    return None


def _picked(prototype):
    found = [(pattern.match(prototype.name), make) for pattern, make in PICKED]
    return [(match, make) for match, make in found if match and prototype.parameters[0].stars == 0]


def host_wanted(prototype):
    """C condition, or None: may that be so?"""
    if not _host_choices(prototype):
        return None
    build = BUILD.match(prototype.name)
    if build:
        return 'tsr_build_wanted(a%d)' % (3 if build['object'] == 'Vector' else 4)
    if KRONECKER.match(prototype.name):
        return 'tsr_kronecker_wanted(a4, a5)'
    match = SCALAR_ASSIGN.match(prototype.name)
    vector = prototype.parameters[0].base == 'GrB_Vector'
    given = '(a1 || a2%s) && ' % (' || !tsr_is_all(a4)' if vector else '') if match else ''
    wanted = 'tsr_host_wanted((GrB_Matrix) a0, %s)' % ('true' if vector else 'false')
    if ROWS.match(prototype.name):
        return 'tsr_rows_wanted(a0)'
    return given + ('(%s || tsr_list_wanted(a4, a5))' % wanted if LISTED.match(prototype.name) else wanted)


def small(prototype):
    """C condition, or None: is it a product of so few entries that it is SuiteSparse's in any case?"""
    return SMALL.get(prototype.name)


def answer(prototype):
    """C expressions: object and condition; or None."""
    for pattern, asked, call in ANSWERS:
        match = pattern.match(prototype.name)
        if match:
            return asked, call.format(**match.groupdict())
    return None


def reduces(prototype):
    """The type of the reduced object, or None: does the call reduce all of it to a scalar?"""
    match = REDUCE.match(prototype.name)
    return match and 'GrB_' + match[1]


def sorts(prototype):
    """Lines before the real call: an operand that ours left jumbled is sorted whole."""
    return ['TSR_SORT_OPERAND(a1, a2, a%d);' % number for pattern, number in SHALLOW if pattern.match(prototype.name)]

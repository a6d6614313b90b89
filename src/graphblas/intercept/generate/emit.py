"""Writes the three C files of the drop-in door: the real library's function table, its initial contents, the wrappers.

SPDX-License-Identifier: Apache-2.0
"""

import re

import classify as roles_of
import steps

NOTE = '/* %s Made by src/graphblas/intercept/generate from src/graphblas/declarations.\n * SPDX-License-Identifier: Apache-2.0 */\n'
INCLUDES = '#include <stdarg.h>\n\n#include "src/graphblas/intercept/memory/block_cache.h"\n#include "src/graphblas/intercept/door.h"\n' \
           '#include "src/graphblas/intercept/hooks.h"\n#include "src/graphblas/intercept/memory/pins.h"\n#include "src/graphblas/build.h"\n#include "src/graphblas/elementwise.h"\n#include "src/graphblas/kronecker.h"\n#include "src/graphblas/match/own_operators.h"\n#include "src/graphblas/selection.h"\n'

# Wrappers written by hand: what they call instead of the real function.
BY_HAND = {'GrB_init': 'tsr_state_init', 'GxB_init': 'tsr_state_init_with', 'GrB_finalize': 'tsr_state_finalize',
           'GxB_Context_engage': 'tsr_context_engage', 'GxB_Context_disengage': 'tsr_context_disengage', 'GxB_Context_free': 'tsr_context_free'}
PRODUCTS = {'GrB_mxm': 'tsr_try_mxm', 'GrB_mxv': 'tsr_try_mxv', 'GrB_vxm': 'tsr_try_vxm'}

# Answered from a deferred product, which stays deferred, where its sum is known.
TOTALS = {'GrB_Matrix_reduce_INT64': 'tsr_try_total_INT64', 'GrB_Matrix_reduce_UINT64': 'tsr_try_total_UINT64'}

# May change whether the real library prints what it does: the field set.
BURBLES = {'GxB_Global_Option_set': 'a0', 'GxB_Global_Option_set_INT32': 'a0', 'GrB_Global_set_INT32': 'a2'}

# May read or set how many threads calls use.
THREADS = re.compile(r'GxB_Global_Option_[gs]et|GrB_Global_[gs]et_|GxB_Context_(new|[gs]et|fprint)')

# Few programs call these.
RARE = re.compile(r'GxB_(?!.*_Option_)|\w+_(U?INT(8|16)|FC(32|64)|UDT)$')

HOOKS = {
    roles_of.READ: 'TSR_HOOK_READ(a{n});',
    roles_of.WRITE: 'TSR_HOOK_WRITE(a{n});',
    roles_of.MOVE: 'TSR_HOOK_MOVE(a{n});',
    roles_of.MOVE_AT: 'TSR_HOOK_MOVE(a{n} ? *a{n} : NULL);',
    roles_of.FREE: 'TSR_HOOK_FREE(a{n});',
    roles_of.EXPORT: 'TSR_HOOK_EXPORTED(a{n} ? *a{n} : NULL);',
    roles_of.READ_ARRAY: 'tsr_hook_read_array((const void *const *) a{n}, {count});',
    roles_of.CONTAINER: 'TSR_HOOK_CONTAINER(TSR_HOOK_WRITE, a{n});',
    roles_of.FREE_CONTAINER: 'if (a{n}) TSR_HOOK_CONTAINER(TSR_HOOK_FREED, *a{n});'}
AFTER = {
    roles_of.NEW: 'TSR_HOOK_NEW(a{n} ? *a{n} : NULL);',
    roles_of.NEW_ARRAY: 'tsr_hook_new_array((const void *const *) a{n}, {count});',
    roles_of.CONTAINER: 'TSR_HOOK_CONTAINER(TSR_HOOK_NEW, a{n});',
    roles_of.NEW_CONTAINER: 'TSR_HOOK_CONTAINER(TSR_HOOK_NEW, *a{n});'}
TOUCH = {
    roles_of.READ: 'TSR_TOUCH_READ', roles_of.WRITE: 'TSR_TOUCH_WRITE', roles_of.MOVE: 'TSR_TOUCH_MOVE',
    roles_of.MOVE_AT: 'TSR_TOUCH_MOVE_AT',
    roles_of.FREE: 'TSR_TOUCH_FREE_AT', roles_of.EXPORT: 'TSR_TOUCH_EXPORT_AT',
    roles_of.READ_ARRAY: 'TSR_TOUCH_READ_ARRAY', roles_of.NEW: 'TSR_TOUCH_NEW_AT',
    roles_of.NEW_ARRAY: 'TSR_TOUCH_NEW_ARRAY'}
# The call cannot be answered when contents it needs are lost.
LOST = {
    roles_of.READ: 'TSR_LOST(a{n})', roles_of.WRITE: 'TSR_LOST(a{n})', roles_of.MOVE: 'TSR_LOST(a{n})',
    roles_of.MOVE_AT: 'TSR_LOST(a{n} ? *a{n} : NULL)', roles_of.EXPORT: 'TSR_LOST(a{n} ? *a{n} : NULL)',
    roles_of.READ_ARRAY: 'tsr_is_lost_array((const void *const *) a{n}, {count})'}
# Number of tiles of GxB_Matrix_concat (C, Tiles, m, n, …) and GxB_Matrix_split (Tiles, m, n, …).
ARRAY_COUNT = {roles_of.READ_ARRAY: 'tsr_tiles(a2, a3)', roles_of.NEW_ARRAY: 'tsr_tiles(a1, a2)'}


def _names(prototype):
    return ['a%d' % n for n, p in enumerate(prototype.parameters) if p.kind != 'varargs']


def _parameters(prototype):
    return ', '.join(p.declare('a%d' % n) for n, p in enumerate(prototype.parameters)) or 'void'


def _pass_on(prototype):
    """Arguments of the forwarding call; a variable argument is passed on twice, see _read_varargs."""
    return ', '.join(_names(prototype) + (['i', 'd'] if prototype.varargs else []))


def _read_varargs(prototype):
    """The one variable argument lies in the first free integer register or in the first floating-point one."""
    if not prototype.varargs:
        return []
    last = _names(prototype)[-1]
    return ['va_list list, copy;', 'va_start(list, %s);' % last, 'va_copy(copy, list);',
            'const intptr_t i = va_arg(list, intptr_t);', 'const double d = va_arg(copy, double);',
            'va_end(copy);', 'va_end(list);']


def _function(head, lines):
    return '%s\n{\n%s\n}\n' % (head, '\n'.join('    ' + line if line else '' for line in lines))


def _signature(prototype, name=None):
    return '%s %s(%s)' % (prototype.returns, name or prototype.name, _parameters(prototype))


def _fixed_signature(prototype, name):
    """What a function that the wrapper calls takes for a variable argument: both registers."""
    return _signature(prototype, name).replace(', ...', ', intptr_t i, double d')


def real_header(prototypes):
    """tsr_functions.h: one function pointer per function, with its exact prototype."""
    out = [NOTE % 'Functions of the real library.',
           '#ifndef TSR_REAL_H\n#define TSR_REAL_H\n\n#include <GraphBLAS.h>\n',
           '/* Never NULL: before its first call every slot resolves itself and calls again. */',
            'struct tsr_real {']
    for p in prototypes.values():
        out.append('    %s (*_Atomic %s)(%s);' % (p.returns, p.name, _parameters(p)))
    out.append('};\nextern struct tsr_real tsr_real __attribute__((visibility("hidden")));\n')
    out.append('/* Ascending.  Rows of characters: pointers would be relocated when a process starts. */\n'
               'enum { TSR_REAL_COUNT = %d, TSR_REAL_LONGEST = %d };\n'
               'extern const char tsr_real_names[TSR_REAL_COUNT][TSR_REAL_LONGEST + 1];\n\n#endif'
               % (len(prototypes), max(map(len, prototypes))))
    return '\n'.join(out) + '\n'


def _lazy(prototype):
    name = prototype.name
    result = '' if prototype.returns == 'void' else 'return '
    missing = {'void': '', 'GrB_Info': ' GrB_PANIC'}.get(prototype.returns, ' (%s) 0' % prototype.returns)
    lines = _read_varargs(prototype)
    lines += ['if (!tsr_real_resolve(&tsr_real.%s, "%s")) {' % (name, name), '    return%s;' % missing, '}']
    lines.append('%stsr_real.%s(%s);' % (result, name, _pass_on(prototype)))
    return _function('static ' + _signature(prototype, 'lazy_' + name), lines)


def real_table(prototypes):
    """tsr_real_table.c: the slots' first contents (resolve, then call again) and their names."""
    out = [NOTE % 'First contents and names of the function table.', INCLUDES]
    out += [_lazy(p) for p in prototypes.values()]
    out.append('struct tsr_real tsr_real = {')
    out += ['    .%s = lazy_%s,' % (name, name) for name in prototypes]
    out.append('};\n\nconst char tsr_real_names[TSR_REAL_COUNT][TSR_REAL_LONGEST + 1] = {')
    out += ['    "%s",' % name for name in sorted(prototypes)]
    out.append('};')
    return '\n'.join(out) + '\n'


def _touches(roles):
    """Rows of the array that describes a call's operands to CHECK mode."""
    rows = []
    for number, role, base in roles:
        if role not in TOUCH:
            continue
        scalar = ' | TSR_TOUCH_SCALAR' if base == 'GrB_Scalar' else ''
        rows.append('{a%d, %s%s, %s}' % (number, TOUCH[role], scalar, ARRAY_COUNT.get(role, '1')))
    return '    const tsr_touch touches[] = {' + ', '.join(rows) + '};'


def _lost(roles):
    """Condition after the hooks: contents that the call needs went with a device."""
    found = [LOST[role].format(n=number, count=ARRAY_COUNT.get(role, '1')) for number, role, _ in roles if role in LOST]
    return 'TSR_UNLIKELY(tsr_busy() & TSR_BUSY_LOST) && (%s)' % ' || '.join(found) if found else None


def _refuse_lost(roles):
    condition = _lost(roles)
    return ['if (%s) {' % condition, '    return GrB_PANIC;', '}'] if condition else []


def _early(prototype):
    """Lines before the hooks: what values of a backend can do for the call, without downloading them."""
    lines = []
    step, answer, reduced = steps.step(prototype), steps.answer(prototype), steps.reduces(prototype)
    if step:
        lines = ['GrB_Info early;', 'if (%s) {' % step, '    return early;', '}']
    elif answer:
        lines = ['if (TSR_UNLIKELY(tsr_filter_hit(%s)) && %s) {' % answer, '    return GrB_SUCCESS;', '}']
    elif reduced:
        lines = ['GrB_Matrix one;', 'if (tsr_filter_hit(a3) && tsr_try_reduce(&one, "%s", a2, (GrB_Matrix) a3)) {' % prototype.name,
                 '    const GrB_Info early = tsr_real.%s(a0, a1, a2, (%s) one, a4);' % (prototype.name, reduced),
                 '    tsr_real.GrB_Matrix_free(&one);', '    return early;', '}']
    return ['if (busy & TSR_BUSY_ARRAYS) {'] + ['    ' + line for line in lines] + ['}'] if lines else []


def _product(prototype, roles, before=()):
    """The product door runs the hooks itself, when it knows what it needs; before the real function they run again."""
    call = 'tsr_real.%s(%s)' % (prototype.name, _pass_on(prototype))
    return (['%s result;' % prototype.returns, 'const bool route = tsr_may_route();', 'tsr_depth++;',
             'if (!route || !%s(&result, %s)) {' % (PRODUCTS[prototype.name], _pass_on(prototype)),
             '    if (TSR_UNLIKELY(tsr_busy())) {']
            + ['    ' + line for line in before]
            + ['    }', '    result = %s ? GrB_PANIC : %s;' % (_lost(roles), call), '}', 'tsr_depth--;'])


def _real_call(prototype, deep):
    """Lines that set `result` from the real function."""
    call = 'tsr_real.%s(%s)' % (prototype.name, _pass_on(prototype))
    before = steps.sorts(prototype)
    if deep:
        return before + ['tsr_depth++;', 'const %s result = %s;' % (prototype.returns, call), 'tsr_depth--;']
    return before + ['const %s result = %s;' % (prototype.returns, call)]


def _handed_out(prototype):
    """Lines after the call: what the program owns from now on is not ours any more."""
    return (['tsr_pins_forget(a%d ? *a%d : NULL);' % (n, n) for n in roles_of.handed_out(prototype)]
            + ['tsr_blocks_hide(a%d);' % n for n in roles_of.tells_allocator(prototype)])


def _forgets(prototype):
    """Lines before the call: what is remembered of an operator or a descriptor ends when it is freed or set."""
    number = roles_of.outdates(prototype)
    if number is None:
        return []
    return ['tsr_memo_forget(%s);' % ('a%d ? *a%d : NULL' % (number, number) if prototype.parameters[number].stars else 'a%d' % number)]


def _made_operator(prototype):
    """Lines after the call: what the program gave for an operator of its own."""
    if not roles_of.MAKES.match(prototype.name):
        return []
    return ['if (result == GrB_SUCCESS) {', '    tsr_own_keep(*a0, (tsr_own_operator){(void (*)(void))a1, a2, a3, a4});', '}']


def _pauses(prototype, roles):
    """Lines around the real call of a function that tells or says how many threads there are; with the program's objects it ends the loan."""
    if not THREADS.match(prototype.name):
        return [], []
    if roles:
        return ['TSR_RETURN_THREADS();'], []
    return ['const bool paused = TSR_THREADS_PAUSE();'], ['if (paused) {', '    tsr_threads_resume();', '}']


def _on_host(prototype):
    """Lines after the hooks: what our kernels do with the host's arrays."""
    step = steps.host_step(prototype)
    made = ['    ' + line for line in _made(prototype, 'early')]
    return ['GrB_Info early;', 'if (%s) {' % step, *made, '    return early;', '}'] if step else []


def _made(prototype, result):
    """Lines after a call on the host, while some device may have use for what it made."""
    call = steps.made(prototype)
    return ['if (TSR_UNLIKELY(tsr_busy()) && %s == GrB_SUCCESS) {' % result, '    %s;' % call, '}'] if call else []


def _checked_call(prototype, roles, deep):
    """In CHECK mode the hooks have run: whatever was device-only is on the host, and results may stay on the device again."""
    step, host = steps.step(prototype), steps.host_step(prototype)
    if prototype.name in PRODUCTS:
        return _product(prototype, roles)
    choices = ['((tsr_busy() & TSR_BUSY_ARRAYS) && %s)' % step] if step and 'tsr_output' in step else []
    choices += ['(%s)' % host] if host else []
    if not choices:
        return _real_call(prototype, deep)
    step = ' || '.join(choices)
    return (['GrB_Info early;', 'const bool done = %s;' % step, *('if (!done) %s' % line for line in steps.sorts(prototype)),
             'tsr_depth += !done;', 'const GrB_Info result = done ? early : tsr_real.%s(%s);' % (prototype.name, _pass_on(prototype)), 'tsr_depth -= !done;'])


def _checked(prototype, roles, deep):
    containers = [r for r in roles if r[1] not in TOUCH]
    lines = [line.strip() for line in _hooks(containers, HOOKS)]
    lines += [_touches(roles)[4:], 'tsr_check_call check;',
             'tsr_check_before(&check, "%s", touches, sizeof touches / sizeof *touches);' % prototype.name]
    lines += _refuse_lost(roles) + _checked_call(prototype, roles, deep)
    lines.append('tsr_check_after(&check);')
    lines += _handed_out(prototype)
    after = _hooks(containers, AFTER)
    if after:
        lines += ['if (result == GrB_SUCCESS) {'] + after + ['}']
    lines.append('return result;')
    return _function('static TSR_NOINLINE ' + _fixed_signature(prototype, 'checked_' + prototype.name), lines)


def _hooks(roles, table):
    return ['    ' + table[role].format(n=number, count=ARRAY_COUNT.get(role, '1'))
            for number, role, _ in sorted(roles, key=lambda r: r[1] != roles_of.WRITE) if role in table]


def _wrapper(prototype, roles):
    head = ('TSR_RARE_WRAPPER ' if RARE.match(prototype.name) else 'TSR_WRAPPER ') + _signature(prototype)
    if prototype.name in BY_HAND:
        return _function(head, ['return %s(%s);' % (BY_HAND[prototype.name], _pass_on(prototype))])
    pause, resume = _pauses(prototype, roles)
    lines = _read_varargs(prototype) + _forgets(prototype) + pause
    call = 'tsr_real.%s(%s)' % (prototype.name, _pass_on(prototype))
    leaves = _handed_out(prototype) + _made_operator(prototype)
    if prototype.name in BURBLES:
        told = ['if ((int) %s == (int) GxB_BURBLE) {' % BURBLES[prototype.name], '    tsr_burble_changed();', '}']
        return _function(head, lines + _real_call(prototype, False) + told + resume + ['return result;'])
    if not roles and (leaves or pause):
        return _function(head, lines + _real_call(prototype, False) + leaves + resume + ['return result;'])
    if not roles:
        return _function(head, lines + [('' if prototype.returns == 'void' else 'return ') + call + ';'])
    deep = roles_of.runs_operators(prototype, roles)
    if leaves or RARE.match(prototype.name):
        return _checked(prototype, roles, deep) + '\n' + _function(head, lines + _whole(prototype, roles, deep, leaves))
    whole = 'whole_' + prototype.name
    short = lines + ['if (%s) {' % _needs_whole(prototype, roles), '    return %s(%s);' % (whole, _pass_on(prototype)), '}']
    short += _real_call(prototype, deep) + ['return result;'] if deep else ['return %s;' % call]
    return '\n'.join((_checked(prototype, roles, deep),
                      _function('static TSR_APART ' + _fixed_signature(prototype, whole), _whole(prototype, roles, deep, leaves)),
                      _function(head, short)))


def _is_busy(roles):
    """Condition: some hook may have something to do.  While only handles have records or wait, those of the call say so."""
    if any(role not in (roles_of.READ, roles_of.WRITE, roles_of.MOVE) for _, role, _ in roles):
        return 'TSR_UNLIKELY(tsr_busy())'
    if len(roles) == 1:
        return 'tsr_busy_with(a%d)' % roles[0][0]
    counts = ' | '.join('tsr_filter_count(a%d)' % number for number, _, _ in roles)
    return 'TSR_BUSY_WITH(%s)' % counts


def _needs_whole(prototype, roles):
    """Condition: more is to be done than the real call.  Most calls find that out with a few loads."""
    conditions = [_is_busy(roles)]
    small, host = steps.small(prototype), steps.host_wanted(prototype)
    if small:
        conditions.append('!%s' % small)
    if host:
        conditions.append('(%s)' % host)
    return ' || '.join(conditions)


def _whole(prototype, roles, deep, leaves):
    """Lines of a call that may have to do with records, values or our kernels."""
    lines, call = [], 'tsr_real.%s(%s)' % (prototype.name, _pass_on(prototype))
    before, after = _hooks(roles, HOOKS), _hooks(roles, AFTER)
    if steps.REPLACES.match(prototype.name):
        before = ['    TSR_HOOK_REPLACE(a0);']
    if steps.EDITS.match(prototype.name):
        before = ['    TSR_HOOK_EDIT(a0);']
    lines += ['const unsigned busy = tsr_busy();', 'if (TSR_UNLIKELY(busy)) {', '    if (busy & TSR_BUSY_CHECK) {',
              '        return checked_%s(%s);' % (prototype.name, _pass_on(prototype)), '    }']
    if prototype.name in TOTALS:
        lines += ['    if (%s(%s)) {' % (TOTALS[prototype.name], _pass_on(prototype)), '        return GrB_SUCCESS;', '    }']
    lines += ['    ' + line for line in _early(prototype)]
    if prototype.name not in PRODUCTS:
        lines += ['    tsr_caller = "%s";' % prototype.name] + before + ['    ' + line for line in _refuse_lost(roles)]
    lines.append('}')
    lines += _on_host(prototype)
    if not (after or deep or leaves or prototype.name in PRODUCTS):
        return lines + ['return %s;' % call]
    lines += (_product(prototype, roles, before) if prototype.name in PRODUCTS else _real_call(prototype, deep)) + leaves
    lines += _made(prototype, 'result')
    if after:
        lines += ['if (TSR_UNLIKELY(busy) && result == GrB_SUCCESS) {'] + after + ['}']
    return lines + ['return result;']


def wrappers(prototypes):
    """tsr_wrappers.c: one exported function per prototype."""
    out = [NOTE % 'Exported wrappers.', INCLUDES]
    for prototype in prototypes.values():
        roles = prototype.roles
        if roles and prototype.returns != 'GrB_Info':
            raise roles_of.Unclassified('%s returns %s and takes a handle' % (prototype.name, prototype.returns))
        out.append(_wrapper(prototype, roles))
    return '\n'.join(out)

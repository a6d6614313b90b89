#!/usr/bin/env python3
"""Writes the names of every door as trampolines: each jumps through a slot, which is filled when it is first called.

usage: trampolines.py ARCHITECTURE TESSERA_H names.h trampolines.S DECLARATIONS_FOLDER…
SPDX-License-Identifier: Apache-2.0
"""

import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'intercept', 'generate'))
import declarations

NOTE = '/* %s  Made by src/graphblas/preload/trampolines.py.\n * SPDX-License-Identifier: Apache-2.0 */\n'

# A trampoline, and what its slot leads to before the first call.  r11, x16, x17: registers that no argument is in and no call keeps.
JUMPS = {
    'x86_64': '    jmp *tsr_slots+{at}(%rip)\n',
    'aarch64': '    adrp x16, tsr_slots+{at}\n    ldr x16, [x16, #:lo12:tsr_slots+{at}]\n    br x16\n'}
FIRSTS = {
    'x86_64': '    movl ${n}, %r11d\n    jmp tsr_fill_slot\n',
    'aarch64': '    mov w17, #{n}\n    b tsr_fill_slot\n'}

# Keeps all that a function may get, asks tsr_choose (number) where to go, goes there.
FILLS = {
    'x86_64': '''    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register rbp
    subq $192, %rsp
    movq %rdi, (%rsp)
    movq %rsi, 8(%rsp)
    movq %rdx, 16(%rsp)
    movq %rcx, 24(%rsp)
    movq %r8, 32(%rsp)
    movq %r9, 40(%rsp)
    movq %rax, 48(%rsp)
''' + ''.join('    movups %%xmm%d, %d(%%rsp)\n' % (n, 64 + 16 * n) for n in range(8)) + '''    movl %r11d, %edi
    call tsr_choose
    movq %rax, %r11
''' + ''.join('    movups %d(%%rsp), %%xmm%d\n' % (64 + 16 * n, n) for n in range(8)) + '''    movq 48(%rsp), %rax
    movq 40(%rsp), %r9
    movq 32(%rsp), %r8
    movq 24(%rsp), %rcx
    movq 16(%rsp), %rdx
    movq 8(%rsp), %rsi
    movq (%rsp), %rdi
    leave
    .cfi_def_cfa rsp, 8
    jmp *%r11
''',
    'aarch64': '''    stp x29, x30, [sp, #-224]!
    .cfi_def_cfa_offset 224
    .cfi_offset x29, -224
    .cfi_offset x30, -216
    mov x29, sp
''' + ''.join('    stp x%d, x%d, [sp, #%d]\n' % (n, n + 1, 16 + 8 * n) for n in range(0, 8, 2)) + '    str x8, [sp, #80]\n'
    + ''.join('    stp q%d, q%d, [sp, #%d]\n' % (n, n + 1, 96 + 16 * n) for n in range(0, 8, 2)) + '''    mov w0, w17
    bl tsr_choose
    mov x16, x0
''' + ''.join('    ldp q%d, q%d, [sp, #%d]\n' % (n, n + 1, 96 + 16 * n) for n in range(0, 8, 2)) + '    ldr x8, [sp, #80]\n'
    + ''.join('    ldp x%d, x%d, [sp, #%d]\n' % (n, n + 1, 16 + 8 * n) for n in range(0, 8, 2)) + '''    ldp x29, x30, [sp], #224
    .cfi_restore x29
    .cfi_restore x30
    .cfi_def_cfa_offset 0
    br x16
'''}


def _function(name, body, exported):
    scope = '.globl %s\n' % name if exported else ''
    return '%s.type %s, %%function\n.p2align 4\n%s:\n    .cfi_startproc\n%s    .cfi_endproc\n.size %s, . - %s\n' % (
        scope, name, name, body, name, name)


def assembly(names, architecture):
    numbers = range(len(names))
    out = [NOTE % 'One function for each name of a door.', '.text', '.hidden tsr_choose',
           _function('tsr_fill_slot', FILLS[architecture], False)]
    out += [_function(name, JUMPS[architecture].format(at=8 * n), True) for n, name in enumerate(names)]
    out += [_function('first_%d' % n, FIRSTS[architecture].format(n=n), False) for n in numbers]
    out += ['.data', '.p2align 3', '.globl tsr_slots', '.hidden tsr_slots', '.type tsr_slots, %object', 'tsr_slots:']
    out += ['    .quad first_%d' % n for n in numbers]
    return '\n'.join(out + ['.size tsr_slots, %d' % (8 * len(names)), '.section .note.GNU-stack, "", %progbits', ''])


def public_names(path):
    """What tessera.h, attention.h and spgemm.h declare: the core's, whoever links with -ltessera finds it as well."""
    names = set()
    for header in (path, *(os.path.join(os.path.dirname(path), name) for name in ('attention.h', 'spgemm.h'))):
        with open(header, encoding='utf-8') as source:
            names |= set(re.findall(r'TSR_PUBLIC[^;]*?\b(tsr_\w+)\s*\(', source.read()))
    return names


def main(arguments):
    if len(arguments) < 5 or arguments[0] not in JUMPS:
        sys.exit(__doc__.strip())
    names = {'tsr_check_reports'} | public_names(arguments[1])
    for folder in arguments[4:]:
        names |= set(declarations.read_functions(os.path.join(folder, 'functions.txt')))
    names = sorted(names)
    rows = ''.join('    "%s",\n' % name for name in names)
    with open(arguments[2], 'w', encoding='utf-8') as target:
        target.write(NOTE % 'Names of the trampolines.' + 'enum { TSR_NAME_COUNT = %d, TSR_NAME_LONGEST = %d };\n'
                     'static const char tsr_names[TSR_NAME_COUNT][TSR_NAME_LONGEST + 1] = {\n%s};\n' % (len(names), max(map(len, names)), rows))
    with open(arguments[3], 'w', encoding='utf-8') as target:
        target.write(assembly(names, arguments[0]))


if __name__ == '__main__':
    main(sys.argv[1:])

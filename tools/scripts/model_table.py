#!/usr/bin/env python3
"""A model file of `tessera train` as a table of the build: tools/scripts/model_table.py MODEL NAME > src/policy/model/model_NAME.c

SPDX-License-Identifier: Apache-2.0
"""
import sys

WIDTHS = ['8', '32', '128', '512']


def enumerator(name):
    return 'TSR_GPU_' + name.upper().replace('-', '_')


def read(path):
    with open(path, encoding='ascii') as file:
        lines = file.read().splitlines()
    if lines[0] != 'tessera-model 3' or lines[-1] != 'end':
        sys.exit(f'{path}: not a whole model')
    about, windows, kernels, making = {}, [], [], []
    for line in lines[1:-1]:
        word, rest = line.split(' ', 1)
        if word == 'window':
            math, width, numbers = rest.split(' ', 2)
            windows.append((f'[{enumerator(math)}][{WIDTHS.index(width)}]', numbers))
        elif word == 'kernel':
            kernel, math, width, numbers = rest.split(' ', 3)
            kernels.append((f'[{enumerator(kernel)}][{enumerator(math)}][{WIDTHS.index(width)}]', numbers))
        elif word == 'making':
            kernel, numbers = rest.split(' ', 1)
            making.append((f'[{enumerator(kernel)}]', numbers))
        else:
            about[word] = rest
    return about, windows, kernels, making


def table(rows):
    return ''.join(f'        {place} = {{{numbers.replace(" ", ", ")}}},\n' for place, numbers in rows)


def main():
    path, name = sys.argv[1:]
    about, windows, kernels, making = read(path)
    print(f'''/* Written by tools/scripts/model_table.py from what `tessera train` measured on an {about['device']}, {about['date']}.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/model/model.h"

const tsr_model tsr_model_{name} = {{
    .arch = {about['arch']}, .device = "{about['device']}", .date = "{about['date']}",
    .window = {{
{table(windows)}    }},
    .kernel = {{
{table(kernels)}    }},
    .making = {{
{table(making)}    }},
}};''')


main()

#!/usr/bin/env python3
"""Generates what a door is compiled with from one version's declarations.

usage: generate.py DECLARATIONS_FOLDER GraphBLAS.h tsr_functions.h tsr_real_table.c tsr_wrappers.c
SPDX-License-Identifier: Apache-2.0
"""

import sys

import classify
import declarations
import emit
import header
import prototypes


def main(arguments):
    if len(arguments) != 5:
        sys.exit(__doc__.strip())
    types, found = declarations.read(arguments[0])
    texts = (header.text(types, found), emit.real_header(found), emit.real_table(found), emit.wrappers(found))
    for path, text in zip(arguments[1:], texts):
        with open(path, 'w', encoding='utf-8') as target:
            target.write(text)


if __name__ == '__main__':
    try:
        main(sys.argv[1:])
    except (classify.Unclassified, prototypes.HeaderError) as problem:
        sys.exit('generate.py: %s' % problem)

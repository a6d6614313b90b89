#!/usr/bin/env python3
"""Generates the wrappers of the drop-in door from the preprocessed GraphBLAS.h.

usage: generate.py HEADER.i tsr_real.h tsr_real_table.c tsr_wrappers.c
SPDX-License-Identifier: Apache-2.0
"""

import sys

import classify
import emit
import prototypes


def main(arguments):
    if len(arguments) != 4:
        sys.exit(__doc__.strip())
    with open(arguments[0], encoding='utf-8', errors='replace') as source:
        found = prototypes.parse_header(source.read())
    texts = (emit.real_header(found), emit.real_table(found), emit.wrappers(found))
    for path, text in zip(arguments[1:], texts):
        with open(path, 'w', encoding='utf-8') as target:
            target.write(text)


if __name__ == '__main__':
    try:
        main(sys.argv[1:])
    except (classify.Unclassified, prototypes.HeaderError) as problem:
        sys.exit('generate.py: %s' % problem)

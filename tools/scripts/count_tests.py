#!/usr/bin/env python3
"""Count the single tests of a `meson test` run: those cmocka reports inside a program, else the program itself.

usage: count_tests.py LOG.json     prints "PASSED FAILED SKIPPED", and the failed programs on stderr
SPDX-License-Identifier: Apache-2.0"""
import json
import re
import sys

PASSED = re.compile(r'^\[  PASSED  \] (\d+) test', re.M)
FAILED = re.compile(r'^\[  FAILED  \] (\d+) test', re.M)


def count(record):
    """(passed, failed, skipped) of one program."""
    text = (record.get('stdout') or '') + '\n' + (record.get('stderr') or '')
    good = sum(map(int, PASSED.findall(text)))
    bad = sum(map(int, FAILED.findall(text)))
    if record['result'] == 'SKIP':
        return 0, 0, 1
    if record['result'] in ('OK', 'EXPECTEDFAIL'):
        return max(good, 1), 0, 0
    return good, max(bad, 1), 0


def main():
    totals = [0, 0, 0]
    with open(sys.argv[1], encoding='utf-8') as file:
        for line in file:
            record = json.loads(line)
            totals = [a + b for a, b in zip(totals, count(record))]
            if record['result'] not in ('OK', 'EXPECTEDFAIL', 'SKIP'):
                print(f"{record['name']}: {record['result']}\n{(record.get('stderr') or '')[-3000:]}", file=sys.stderr)
    print(*totals)


main()

#!/usr/bin/env python3
"""The library that bench/call_times.py makes: a program's calls are counted, and it answers as before.

usage: test_call_times.py LIBRARY TESSERA PROGRAM GRAPH
SPDX-License-Identifier: Apache-2.0"""
import os
import subprocess
import sys
import tempfile

library, tessera, program, graph = sys.argv[1:]


def run(preload, times):
    environment = dict(os.environ, LD_PRELOAD=' '.join(preload), CALL_TIMES=times)
    ran = subprocess.run([program, graph], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return [line for line in ran.stdout.splitlines() if line.startswith('triangles')]


with tempfile.TemporaryDirectory() as place:
    path = os.path.join(place, 'times')
    answer = run([], path)
    assert answer and not os.path.exists(path)
    for preload in ([library], [library, tessera]):
        assert run(preload, path) == answer
        with open(path, encoding='ascii') as file:
            times = {words[0]: [float(word) for word in words[1:]] for words in map(str.split, file)}
        os.remove(path)
        assert times['GrB_mxm'][0] >= 1 and 0 < times['GrB_mxm'][1] and 0 < times['GrB_mxm'][2], times.get('GrB_mxm')
        assert times['GrB_init'][0] == 1 and 'GrB_vxm' not in times

"""What the plug-in shows to the program that loads it: three functions, and no need of a driver.

usage: test_plugin_exports.py NM READELF libtessera_cuda.so
SPDX-License-Identifier: Apache-2.0
"""

import re
import subprocess
import sys


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    nm, readelf, plugin = sys.argv[1:4]
    exported = {line.split()[-1] for line in output(nm, '-D', '--defined-only', plugin).splitlines()}
    needed = re.findall(r'\(NEEDED\).*\[(.*)\]', output(readelf, '-d', plugin))
    wrong = sorted(exported ^ {'tsr_backend_init', 'tsr_backend_score', 'tsr_backend_kernel'})
    drivers = [name for name in needed if name.startswith('libcuda')]
    print('exported or missing:', wrong, 'needed:', needed)
    return 1 if wrong or drivers else 0


if __name__ == '__main__':
    sys.exit(main())

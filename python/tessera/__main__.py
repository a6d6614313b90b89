"""python -m tessera: the tessera command; `run script.py` runs a script with this Python.

SPDX-License-Identifier: Apache-2.0"""

import os
import sys

from tessera._files import COMMAND


def command_line(arguments):
    """`run [OPTION…] SCRIPT …`: this Python before the script.  After `--` stands a program, as without Python."""
    if arguments[:1] != ['run']:
        return arguments
    for n, argument in enumerate(arguments[1:], 1):
        if argument == '--':
            return arguments
        if not argument.startswith('-') or argument in ('-c', '-m'):
            return arguments[:n] + ['--', sys.executable] + arguments[n:]
    return arguments


def command():
    """The command as it is."""
    os.execv(COMMAND, [COMMAND] + sys.argv[1:])


if __name__ == '__main__':
    os.execv(COMMAND, [COMMAND] + command_line(sys.argv[1:]))

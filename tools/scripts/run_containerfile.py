#!/usr/bin/env python3
"""Run packaging/Containerfile where there is no container engine: every step in copies of a bare Debian, and `tessera run` in the last one.

usage: run_containerfile.py ROOT FOLDER     ROOT: made by `debootstrap --variant=minbase bookworm ROOT`; FOLDER: for the copies, which are
removed at the end.  Run as root; a network is needed.      SPDX-License-Identifier: Apache-2.0"""
import pathlib
import re
import shutil
import subprocess
import sys

import bare_root

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# What a user mounts and runs: compiled in the first stage, which has a compiler.
TRIAL = 'cc -O2 examples/own/neighbours.c -lgraphblas -o /packed/neighbours'


def steps():
    """(word, arguments) of every instruction, continued lines joined."""
    text = (REPOSITORY / 'packaging/Containerfile').read_text(encoding='utf-8').replace('\\\n', '')
    return [line.split(None, 1) for line in text.splitlines() if line and not line.startswith('#')]


class Containers:
    """One folder a stage; instructions go to the last."""

    def __init__(self, root, folder):
        self.root, self.folder, self.names, self.work = root, folder, [], '/'

    def place(self, name=None):
        return self.folder / (name or self.names[-1])

    def begin(self, words):
        image, name = re.fullmatch(r'debian:12-slim( AS (\w+))?', words).group(0, 2)
        self.names.append(name or 'last')
        self.work = '/'
        print('FROM', image, flush=True)
        subprocess.run(['cp', '-a', '--reflink=auto', str(self.root), str(self.place())], check=True)
        bare_root.connect(self.place())

    def copy(self, words):
        stage, source, target = re.fullmatch(r'(?:--from=(\w+) )?(\S+) (\S+)', words).groups()
        if stage:
            subprocess.run(['cp', '-a', f'{self.place(stage)}{source}/.', f'{self.place()}{target}'], check=True)
        else:
            bare_root.copy_tree(REPOSITORY, pathlib.Path(f'{self.place()}{target}'))

    def run(self, command):
        status, output, seconds, busy = bare_root.inside(self.place(), self.work, command)
        print(f'{command}\n    status {status}, {seconds:.0f} s, {busy:.0f} processor seconds', flush=True)
        if status:
            sys.exit(output[-3000:])
        return output

    def step(self, word, words):
        if word == 'FROM':
            self.begin(words)
        elif word == 'COPY':
            self.copy(words)
        elif word == 'WORKDIR':
            self.work = words
        elif word == 'RUN':
            self.run(words)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split('\n\n')[1])
    folder = pathlib.Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True)
    containers = Containers(pathlib.Path(sys.argv[1]).resolve(), folder)
    for word, words in steps():
        if word == 'FROM' and containers.names:
            containers.run(TRIAL)
        containers.step(word, words)
    print(containers.run('tessera info; tessera run --savings=1 -- /neighbours'))
    shutil.rmtree(folder)


if __name__ == '__main__':
    main()

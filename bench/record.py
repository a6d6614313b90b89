#!/usr/bin/env python3
"""Records of measurements, bench/results/<machine>/<topic>/<date>T<hhmm>-<commit>.jsonl: a header, then a row on each line.

The header says what was measured where: schema (name/version), device (a GPU or, where none computes, the processor), driver (of the GPU,
or null), commit, command, date; null: not known.  Schemas may add fields of their own.

usage: record.py header SCHEMA COMMAND…    print a header
       record.py keep TOPIC FILE           copy a record to its place in bench/results
SPDX-License-Identifier: Apache-2.0"""
import datetime
import json
import os
import platform
import re
import subprocess
import sys

# Programs that are timed must not know of earlier runs (docs/routing.md, starting CUDA) unless a benchmark says so.
os.environ['XDG_CACHE_HOME'] = '/dev/null'
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIELDS = ('schema', 'device', 'driver', 'commit', 'command', 'date')


def commit(folder=ROOT):
    """Of the checkout that a folder lies in."""
    done = subprocess.run(['git', 'describe', '--always', '--dirty', '--abbrev=12'], cwd=folder, capture_output=True, text=True, check=False)
    if done.stdout.strip():
        return done.stdout.strip()
    try:
        with open(os.path.join(folder, 'COMMIT'), encoding='utf-8') as file:  # a copy without its history
            return file.read().strip()
    except OSError:
        return 'unknown'


def against(library):
    """For the header: at which commit the library was built that takes the place of plain SuiteSparse; nothing without one."""
    return {'against': commit(os.path.dirname(os.path.abspath(library)))} if library else {}


def sides(head):
    """What took turns."""
    return (head['against'], head['commit']) if 'against' in head else ('SuiteSparse', 'Tessera')


def processor():
    try:
        with open('/proc/cpuinfo', encoding='utf-8') as file:
            fields = dict(line.split(':', 1) for line in file if ':' in line)
        named = {key.strip(): value.strip() for key, value in fields.items()}
    except OSError:
        return {'name': platform.processor(), 'cores': os.cpu_count()}
    flags = named.get('flags', '').split()
    return {'name': named.get('model name', platform.processor()), 'cores': os.cpu_count(),
            'vectors': [flag for flag in ('avx2', 'fma', 'avx512f') if flag in flags]}


def gpu():
    """Name and driver of the first GPU; two times None: there is none."""
    try:
        done = subprocess.run(['nvidia-smi', '--query-gpu=name,driver_version', '--format=csv,noheader'], capture_output=True, text=True,
                              check=False)
    except OSError:
        return None, None
    return tuple(done.stdout.splitlines()[0].split(', ')) if done.returncode == 0 and done.stdout else (None, None)


def settings():
    """Of Tessera, OpenMP and the C library.  Where files lie says nothing about a result, and is nobody else's business."""
    return {key: value for key, value in os.environ.items() if key.startswith(('TESSERA_', 'OMP_', 'GLIBC_TUNABLES')) and '/' not in value}


def command_of(words):
    """A command line; of absolute paths the last part only."""
    return ' '.join(os.path.relpath(word, ROOT) if word and os.path.abspath(word).startswith(ROOT + os.sep) else re.sub(r'(^|=)/\S*/', r'\1', word)
                    for word in words)


def header(schema, command=None, uses_gpu=True, **more):
    """Of a measurement that begins now; uses_gpu: where there is one."""
    name, driver = gpu() if uses_gpu else (None, None)
    cpu = processor()
    date = datetime.datetime.now().isoformat(timespec='seconds')
    return {'schema': schema, 'device': name or cpu['name'], 'driver': driver, 'commit': commit(),
            'command': command_of(command or sys.argv), 'date': date, 'cpu': cpu, **more}


def machine(head):
    """Folder of a device: h200, xeon-4core."""
    words = [word for word in re.split(r'[^a-z0-9]+', re.sub(r'\([^)]*\)|@.*', '', head['device'].lower()))
             if word not in ('', 'nvidia', 'geforce', 'intel', 'amd', 'processor', 'cpu', 'core')]
    return '-'.join(words[:2]) + (f"-{head['cpu']['cores']}core" if head['device'] == head['cpu']['name'] else '')


def file_name(head):
    return f"{re.sub(r'[Z:]', '', head['date'])[:15]}-{head['commit']}.jsonl"


def place(head, topic):
    """Where a record belongs."""
    return os.path.join(ROOT, 'bench', 'results', machine(head), topic, file_name(head))


def read(path):
    """(header, rows) of a record."""
    with open(path, encoding='utf-8') as file:
        lines = [json.loads(line) for line in file if line.strip()]
    if not lines or any(field not in lines[0] for field in FIELDS):
        sys.exit(f'{path}: the first line is not the header of a record')
    return lines[0], lines[1:]


def write(path, head, rows):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + '\n' for line in (head, *rows))


def append(path, head, row):
    """Add a row; a new file gets its header first."""
    if not os.path.exists(path):
        write(path, head, [])
    with open(path, 'a', encoding='utf-8') as file:
        file.write(json.dumps(row, ensure_ascii=False) + '\n')


def main():
    if len(sys.argv) > 3 and sys.argv[1] == 'header':
        print(json.dumps(header(sys.argv[2], sys.argv[3:])))
    elif len(sys.argv) == 4 and sys.argv[1] == 'keep':
        head, rows = read(sys.argv[3])
        path = place(head, sys.argv[2])
        write(path, head, rows)
        print(os.path.relpath(path))
    else:
        sys.exit(__doc__[__doc__.index('usage'):])


if __name__ == '__main__':
    main()

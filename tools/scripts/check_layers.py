#!/usr/bin/env python3
"""The walls of docs/architecture.md and its words: what a file includes is compared with tools/scripts/layers.txt, what it says with words.txt.

usage: check_layers.py [--figures] [BUILD]
    --figures  what was looked at and what is wrong, and sizes of folders, files and functions, for a report
    BUILD      a build directory: what its objects call is compared with layers.txt, too, and no two files may call each other
SPDX-License-Identifier: Apache-2.0
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / 'tools' / 'scripts' / 'layers.txt'
SOURCE = re.compile(r'\.(c|h|cu|cuh|cpp)$')
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
WORDS = TABLE.with_name('words.txt')
NAME = re.compile(r'[A-Za-z_]\w*')
PART = re.compile(r'[A-Z]+(?![a-z])|[A-Z]?[a-z]+')
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.S)
TREES = ('include', 'src', 'backends', 'kernels', 'adapters', 'tools', 'bench', 'examples', 'test')


def read_table():
    """folder -> folders and outside headers that its files may include; a name ending in /... stands for all below it."""
    table = {}
    for line in TABLE.read_text(encoding='utf-8').splitlines():
        line = line.split('#')[0].strip()
        if line:
            folder, allowed = line.split(':')
            table[folder.strip()] = allowed.split()
    return table


def sources():
    for tree in TREES:
        for where, _, names in os.walk(ROOT / tree):
            for name in names:
                if SOURCE.search(name):
                    yield (pathlib.Path(where) / name).relative_to(ROOT).as_posix()


def outside(name):
    if re.match(r'(cuda|cu|nv|mma|cooperative_groups|cub/)', name):
        return '<cuda>'
    return '<GraphBLAS>' if name == 'GraphBLAS.h' else None


def included(path, known):
    """What a file of ours includes: our files, and the kinds of outside headers that are walled in."""
    text = (ROOT / path).read_text(encoding='utf-8', errors='replace')
    for _, name in INCLUDE.findall(text):
        beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
        found = next((c for c in (name, 'include/' + name, beside) if c in known), None)
        if found or outside(name):
            yield found or outside(name)


def rule_of(folder, table):
    """The row for a folder: its own, or that of the nearest folder above it."""
    while folder and folder not in table:
        folder = os.path.dirname(folder)
    return folder


def is_allowed(folder, target, table):
    row = rule_of(folder, table)
    there = target if target.startswith('<') else os.path.dirname(target)
    if there == folder or rule_of(there, table) == row:
        return True
    return any(there == a or (a.endswith('/...') and (there + '/').startswith(a[:-3])) for a in table.get(row, ()))


def cycles(graph):
    """Strongly connected components of more than one node (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            part = [stack.pop()]
            while part[-1] != node:
                part.append(stack.pop())
            if len(part) > 1:
                found.append(sorted(part))

    sys.setrecursionlimit(10000)
    for node in list(graph):
        if node not in index:
            visit(node)
    return found


def plain_examples():
    """Examples but those of the native interface know no name of ours."""
    ours = re.compile(r'(tsr_[a-z]+ ?\(|[<"]tessera/)')
    for path in sorted(ROOT.glob('examples/*.c')):
        if path.name != 'graph.c' and ours.search(path.read_text(encoding='utf-8')):
            yield f'{path.name}: a Tessera call in an example that is to be plain GraphBLAS'


def read_words():
    """word -> (what to say, places where it means something else), and the same of expressions in prose."""
    words, prose = {}, {}
    for line in WORDS.read_text(encoding='utf-8').splitlines():
        if not line or line.startswith('#'):
            continue
        word, rest = line.split(': ', 1)
        say, *places = re.split(r' {2,}', rest)
        if word.startswith('prose '):
            prose[re.compile(word[len('prose '):])] = say
        else:
            words[word] = (say, tuple(' '.join(places).split()))
    return words, prose


def names_of(text):
    """Names of the code, literals and comments left out."""
    code = re.sub(r'"(\\.|[^"\\\n])*"', '', COMMENT.sub('', text))
    return set(NAME.findall(code))


def check_words(paths):
    words, prose = read_words()
    for path in paths:
        text = (ROOT / path).read_text(encoding='utf-8', errors='replace')
        for name in sorted(names_of(text) | {os.path.basename(path)}):
            for word in {part.lower() for part in PART.findall(name)} & words.keys():
                say, places = words[word]
                if not path.startswith(places or ('nowhere',)):
                    yield f'{path}: {name}: for "{word}" say: {say}'
        yield from prose_of(path, '\n'.join(COMMENT.findall(text)), prose)
    for page in sorted((ROOT / 'docs').glob('*.md')):
        yield from prose_of(page.relative_to(ROOT).as_posix(), page.read_text(encoding='utf-8'), prose)


def prose_of(path, text, prose):
    for expression, say in prose.items():
        for found in expression.finditer(re.sub(r'\s*\n[ *]*', ' ', text)):
            yield f'{path}: for "{found.group()}" say: {say}'


def check(table, graph):
    folders, units = collections.defaultdict(set), collections.defaultdict(set)
    for path, targets in graph.items():
        folder = os.path.dirname(path)
        if folder and not rule_of(folder, table):
            yield f'{path}: no row for its folder in {TABLE.name}'
        for target in targets:
            if not is_allowed(folder, target, table):
                yield f'{path}: includes {target}'
            if not target.startswith('<') and not path.startswith('test/'):
                folders[folder].add(os.path.dirname(target))
                units[os.path.splitext(path)[0]].add(os.path.splitext(target)[0])
    for name, part in (('folders', folders), ('files', units)):
        for own in part:
            part[own].discard(own)
        yield from (f'cycle of {name}: ' + ', '.join(c) for c in cycles(part))
    yield from plain_examples()
    yield from check_words(graph)


# ---- calls, by the symbols of objects ----

def objects(build):
    """source -> object, of what is compiled for libraries and commands; one of several."""
    found = {}
    for entry in json.loads((pathlib.Path(build) / 'compile_commands.json').read_text(encoding='utf-8')):
        source = os.path.relpath(os.path.join(entry['directory'], entry['file']), ROOT)
        output = os.path.join(entry['directory'], entry['output'])
        if source.startswith(('src/', 'backends/', 'kernels/', 'adapters/', 'tools/')) and os.path.exists(output):
            found.setdefault(source, output)
    return found


def calls_of(build):
    """source -> sources whose symbols it uses, as far as only one defines them."""
    defined, used = collections.defaultdict(set), collections.defaultdict(set)
    for source, path in objects(build).items():
        for line in subprocess.run(['nm', path], capture_output=True, text=True, check=True).stdout.splitlines():
            *place, kind, symbol = line.split()
            if symbol.startswith('tsr_'):
                (defined if place and kind in 'TDBRVW' else used if kind == 'U' else {symbol: set()})[symbol].add(source)
    calls = collections.defaultdict(set)
    for symbol, sources_of in used.items():
        if len(defined.get(symbol, ())) == 1:
            target = next(iter(defined[symbol]))
            for source in sources_of:
                calls[source].add(target)
    return calls


def may_call(folder, target, table):
    row = rule_of(folder, table)
    return is_allowed(folder, target, table) or is_allowed(row + ' calls', target, {row + ' calls': table.get(row + ' calls', [])})


def check_calls(calls, table):
    for source in sorted(calls):
        for target in sorted(calls[source]):
            if not may_call(os.path.dirname(source), target, table):
                yield f'{source}: calls {target}'
    yield from ('cycle of calls: ' + ', '.join(c) for c in cycles(calls))


def functions(path):
    """(lines of the body, first line of the declaration) of each function of a C or CUDA file."""
    lines, start = (ROOT / path).read_text(encoding='utf-8', errors='replace').splitlines(), None
    for number, line in enumerate(lines):
        if line == '{':
            start = number
        elif line == '}' and start is not None:
            yield number - start - 1, lines[start - 1].strip()
            start = None


def figures(graph, calls, problems):
    between = sum(os.path.dirname(path) != os.path.dirname(target) for path, targets in graph.items() for target in targets)
    crossing = sum(os.path.dirname(path) != os.path.dirname(target) for path, targets in calls.items() for target in targets)
    found = collections.Counter(next((kind for kind in (': includes ', 'cycle of folders', 'cycle of files', ': calls ', 'cycle of calls',
                                                        ' say: ') if kind in problem), 'other') for problem in problems)
    print(f'{between} includes of other folders, {found[": includes "]} against the table; cycles of folders {found["cycle of folders"]}, '
          f'of files {found["cycle of files"]}')
    print(f'{crossing} files called from other folders, {found[": calls "]} against the table; cycles of calls {found["cycle of calls"]}'
          + ('' if calls else ' (no BUILD: not looked at)'))
    words, prose = read_words()
    print(f'{len(words)} words and {len(prose)} expressions given up, found again {found[" say: "]} times')
    sizes = {path: len((ROOT / path).read_text(encoding='utf-8', errors='replace').splitlines()) for path in graph}
    folders = collections.Counter(os.path.dirname(path) for path in graph)
    print('largest folders:', ', '.join(f'{f} {n}' for f, n in folders.most_common(8)))
    print('largest files:', ', '.join(f'{p} {sizes[p]}' for p in sorted(sizes, key=sizes.get)[-8:][::-1]))
    bodies = sorted((n, path, name) for path in graph for n, name in functions(path))
    print(f'{len(bodies)} functions: median {bodies[len(bodies) // 2][0]} lines, of 100 the 90th {bodies[len(bodies) * 9 // 10][0]}, '
          f'the 99th {bodies[len(bodies) * 99 // 100][0]}')
    print('longest functions:', ', '.join(f'{path}: {name[:60]} {n}' for n, path, name in bodies[-8:][::-1]))


def main():
    known = set(sources())
    graph = {path: set(included(path, known)) for path in sorted(known)}
    table = read_table()
    problems, calls = list(check(table, graph)), {}
    for build in (argument for argument in sys.argv[1:] if not argument.startswith('-')):
        calls = calls_of(build)
        problems += check_calls(calls, table)
    print('\n'.join(problems))
    print(f'{len(graph)} files, {len(problems)} problems')
    if '--figures' in sys.argv[1:]:
        figures(graph, calls, problems)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""Run one example on the karate club, plain and (when a library is given) preloaded; compare with plain Python.

usage: test_examples.py PROGRAM [LIBTESSERA]
SPDX-License-Identifier: Apache-2.0"""
import math
import os
import re
import subprocess
import sys
import tempfile
from array import array
from collections import deque

HERE = os.path.dirname(os.path.abspath(__file__))


def karate():
    """The edge list in graph.c, checked against the published size and degrees."""
    with open(os.path.join(HERE, 'graph.c'), encoding='utf-8') as source:
        table = re.search(r'karate\[\]\[2\] = \{(.*?)\};', source.read(), re.S).group(1)
    neighbours = [set() for _ in range(34)]
    for i, j in re.findall(r'\{(\d+), (\d+)\}', table):
        neighbours[int(i)].add(int(j))
        neighbours[int(j)].add(int(i))
    degrees = [len(s) for s in neighbours]
    assert sum(degrees) == 156 and sorted(degrees)[-4:] == [10, 12, 16, 17] and degrees.count(1) == 1, degrees
    return neighbours


def run(program, arguments=(), library=None):
    """(standard output, saved steps as lists of dicts position -> value)."""
    with tempfile.TemporaryDirectory() as folder:
        saved = os.path.join(folder, 'answers')
        environment = dict(os.environ, TESSERA_MODE=os.environ.get('TEST_MODE', 'cpu'), TESSERA_MIN_WORK='0')
        if library:
            environment['LD_PRELOAD'] = library + (' ' + environment['LD_PRELOAD'] if 'LD_PRELOAD' in environment else '')
        done = subprocess.run([program, '--save', saved, *arguments, 'karate'], env=environment, capture_output=True,
                              text=True, check=False)
        assert done.returncode == 0, f'{program}: status {done.returncode}\n{done.stderr}'
        return done.stdout, read_answers(saved)


def read_answers(path):
    numbers = array('d')
    with open(path, 'rb') as file:
        numbers.frombytes(file.read())
    steps, at = [], 0
    while at < len(numbers):
        count = int(numbers[at])
        part = numbers[at + 1:at + 1 + count]
        steps.append(dict(zip((int(p) for p in part[0::2]), part[1::2])))
        at += 1 + count
    return steps


def assert_near(got, expected, tolerance, what):
    assert got.keys() == expected.keys(), f'{what}: entries at {sorted(got)[:8]}…, expected {sorted(expected)[:8]}…'
    for place, value in expected.items():
        assert abs(got[place] - value) <= tolerance * max(1.0, abs(value)), f'{what}[{place}]: {got[place]}, not {value}'


def check_pagerank(graph, program, library):
    n, d = len(graph), 0.85
    rank = [1 / n] * n
    for _ in range(20):
        rank = [(1 - d) / n + d * sum(rank[u] / len(graph[u]) for u in graph[v]) for v in range(n)]
    text, (answer,) = run(program, library=library)
    assert_near(answer, dict(enumerate(rank)), 1e-6, 'pagerank')
    best = sorted(range(n), key=lambda v: -rank[v])[:5]
    assert [int(v) for v in re.findall(r'vertex (\d+)', text)] == best, text


def check_triangles(graph, program, library):
    total = sum(1 for u in range(34) for v in graph[u] for w in graph[v] & graph[u] if u < v < w)
    assert total == 45
    times = {'lut': 1, 'll': 1, 'ul': 1, 'cohen': 2, 'burkhardt': 6}
    for form, each in times.items():
        text, (_, counts) = run(program, ['--form', form], library)
        assert 'triangles 45\n' in text, f'{form}: {text}'
        assert sum(counts.values()) == 45 * each, form


def truss(graph, k):
    edges = {(u, v) for u in range(len(graph)) for v in graph[u]}
    while True:
        near = {u: {v for w, v in edges if w == u} for u in range(len(graph))}
        support = {(u, v): len(near[u] & near[v]) for u, v in edges}
        kept = {e for e in edges if support[e] >= k - 2}
        if kept == edges:
            return {u * len(graph) + v: support[u, v] for u, v in edges if support[u, v]}
        edges = kept


def check_ktruss(graph, program, library):
    for k in (3, 4, 5, 6):
        text, (answer,) = run(program, ['--k', str(k)], library)
        expected = truss(graph, k)
        assert_near(answer, expected, 0, f'ktruss {k}')
        assert f'truss k {k} edges {len(expected) // 2} ' in text, text


def check_clustering(graph, program, library):
    closed = [sum(len(graph[u] & graph[v]) for v in graph[u]) for u in range(34)]
    expected = {u: closed[u] / (len(graph[u]) * (len(graph[u]) - 1)) for u in range(34) if closed[u]}
    text, (answer,) = run(program, library=library)
    assert_near(answer, expected, 1e-15, 'clustering')
    assert 'mean clustering coefficient 0.570638\n' in text, text


def distances(graph, source):
    level, queue = {source: 0}, deque([source])
    while queue:
        u = queue.popleft()
        for v in graph[u]:
            if v not in level:
                level[v] = level[u] + 1
                queue.append(v)
    return level


def check_bfs(graph, program, library):
    text, (answer,) = run(program, library=library)
    assert_near(answer, distances(graph, 33), 0, 'bfs')
    assert 'reached 34 levels 5' in text, text


def dependencies(graph, source):
    """Brandes' accumulation: (paths, dependency) of every vertex; the source has none."""
    level = distances(graph, source)
    order = sorted(level, key=level.get)
    paths, dependency = {v: 0.0 for v in order}, {v: 0.0 for v in order}
    paths[source] = 1.0
    for v in order[1:]:
        paths[v] = sum(paths[u] for u in graph[v] if level[u] == level[v] - 1)
    for v in reversed(order):
        for u in graph[v]:
            if level[u] == level[v] - 1 and u != source:
                dependency[u] += paths[u] / paths[v] * (1 + dependency[v])
    return paths, dependency


def check_betweenness(graph, program, library):
    for count in (4, 16, 32):
        sources = [s * 34 // count for s in range(count)]
        results = [dependencies(graph, s) for s in sources]
        _, (paths, total) = run(program, ['--columns', str(count)], library)
        assert_near(paths, {s * 34 + v: r[0][v] for s, r in enumerate(results) for v in r[0]}, 0, 'paths')
        assert_near(total, {v: sum(r[1][v] for r in results) for v in range(34)}, 1e-12, 'betweenness')


def random64(seed, index):
    mask = (1 << 64) - 1
    z = (seed + (index + 1) * 0x9e3779b97f4a7c15) & mask
    z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & mask
    z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & mask
    return z ^ (z >> 31)


def dense(rows, columns, seed):
    """As graph_dense."""
    return [[(random64(seed, r * columns + c) % 17 - 8) / 8 for c in range(columns)] for r in range(rows)]


def check_sddmm(graph, program, library):
    for width in (3, 64):
        x, y = dense(34, width, 3), dense(34, width, 4)
        _, (answer,) = run(program, ['--columns', str(width)], library)
        assert_near(answer, {u * 34 + v: sum(map(lambda a, b: a * b, x[u], y[v])) for u in range(34) for v in graph[u]}, 0,
                    'sddmm')


def check_gcn(graph, program, library):
    for width in (7, 64):
        h, w = dense(34, width, 1), dense(width, width, 2)
        root = [(len(near) + 1) ** -0.5 for near in graph]
        _, answers = run(program, ['--columns', str(width)], library)
        for layer in range(2):
            t = [[root[u] * sum(root[v] * h[v][c] for v in graph[u] | {u}) for c in range(width)] for u in range(34)]
            h = [[max(0.0, sum(t[u][k] * w[k][c] for k in range(width))) for c in range(width)] for u in range(34)]
            for name, got, want in (('aggregate', answers[2 * layer], t), ('transform', answers[2 * layer + 1], h)):
                flat = {u * width + c: want[u][c] for u in range(34) for c in range(width)}
                scale = max(map(abs, flat.values()))
                assert_near({k: v / scale for k, v in got.items()}, {k: v / scale for k, v in flat.items()}, 1e-5, name)


def check_attention(graph, program, library):
    for width in (7, 64):
        h = dense(34, width, 1)
        _, answers = run(program, ['--columns', str(width)], library)
        for layer in range(2):
            lengths = [math.hypot(*row) for row in h]
            scores = [{v: math.exp(sum(map(lambda a, b: a * b, h[u], h[v])) / (lengths[u] * lengths[v])) for v in graph[u]}
                      for u in range(34)]
            weights = {u * 34 + v: x / sum(row.values()) for u, row in enumerate(scores) for v, x in row.items()}
            assert_near(answers[2 * layer], weights, 1e-5, 'weights')
            h = [[sum(weights[u * 34 + v] * h[v][c] for v in graph[u]) for c in range(width)] for u in range(34)]
            flat = {u * width + c: h[u][c] for u in range(34) for c in range(width)}
            assert_near(answers[2 * layer + 1], flat, 1e-5, 'features')


def main():
    program = sys.argv[1]
    check = globals()['check_' + os.path.basename(program)]
    for library in [None] + [path for path in sys.argv[2:] if path]:
        check(karate(), program, library)


main()

#!/usr/bin/env python3
"""Run one example on small graphs, plain and (when a library is given) preloaded; compare with plain Python.

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


def islands():
    """Sixty vertices in several components, some alone."""
    neighbours = [set() for _ in range(60)]
    for edge in range(45):
        i, j = random64(5, 2 * edge) % 60, random64(5, 2 * edge + 1) % 60
        if i != j:
            neighbours[i].add(j)
            neighbours[j].add(i)
    return neighbours


def write_graph(path, graph):
    edges = [(u, v) for u in range(len(graph)) for v in graph[u] if u > v]
    with open(path, 'w', encoding='utf-8') as file:
        file.write(f'%%MatrixMarket matrix coordinate pattern symmetric\n{len(graph)} {len(graph)} {len(edges)}\n')
        file.writelines(f'{u + 1} {v + 1}\n' for u, v in edges)


def run(program, arguments=(), library=None, graph=None):
    """(standard output, saved steps as lists of dicts position -> value): on a graph, or the karate club.  Two turns: the program
    itself compares the second with the first."""
    with tempfile.TemporaryDirectory() as folder:
        saved, file = os.path.join(folder, 'answers'), os.path.join(folder, 'graph.mtx')
        if graph:
            write_graph(file, graph)
        environment = dict(os.environ, TESSERA_MODE=os.environ.get('TEST_MODE', 'cpu'), TESSERA_MIN_WORK='0')
        if library:
            environment['LD_PRELOAD'] = library + (' ' + environment['LD_PRELOAD'] if 'LD_PRELOAD' in environment else '')
        done = subprocess.run([program, '--save', saved, '--repeat', '2', *arguments, file if graph else 'karate'], env=environment, capture_output=True,
                              text=True, check=False)
        assert done.returncode == 0, f'{program}: status {done.returncode}\n{done.stderr}'
        turns = r'^turns (\S+) 2 first [\d.]+ later [\d.]+ read first [\d.]+ later [\d.]+$'
        steps = re.findall(r'^step (\S+) ', done.stdout, re.M)
        assert re.findall(turns, done.stdout, re.M) == steps[:len(steps) // 2], done.stdout
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


def ranks(graph, start, jump, steps):
    """Ranks after so many steps, and by how much they changed in the last."""
    rank, change = start, 0
    for _ in range(steps):
        old = rank
        rank = [jump[v] + 0.85 * sum(old[u] / len(graph[u]) for u in graph[v]) for v in range(len(graph))]
        change = sum(map(lambda x, y: abs(x - y), rank, old))
    return rank, change


def check_steps(text, wanted, change_after, tolerance, what):
    """The program stopped at the first step whose change is at most the tolerance; FP32 may see one as good as equal to it."""
    steps = int(re.search(r'iterations (\d+)', text).group(1))
    assert change_after(steps) <= 1.001 * tolerance and change_after(steps - 1) > 0.999 * tolerance, f'{what}: {text}'
    assert steps < wanted, text


def check_pagerank(graph, program, library):
    n = len(graph)
    after = lambda steps: ranks(graph, [1 / n] * n, [0.15 / n] * n, steps)  # noqa: E731
    text, (answer,) = run(program, library=library)
    assert_near(answer, dict(enumerate(after(20)[0])), 1e-6, 'pagerank')
    assert 'iterations 20\n' in text, text
    best = sorted(range(n), key=lambda v: -after(20)[0][v])[:5]
    assert [int(v) for v in re.findall(r'vertex (\d+)', text)] == best, text
    text, _ = run(program, ['--iterations', '100', '--tolerance', '1e-4'], library)
    check_steps(text, 100, lambda steps: after(steps)[1], 1e-4, 'pagerank')


def check_ppr(graph, program, library):
    n = len(graph)
    for count in (3, 64):
        seeds = [s * n // count for s in range(count)]
        jumps = [[0.15 * (v == seed) for v in range(n)] for seed in seeds]
        after = lambda steps: [ranks(graph, [float(x > 0) for x in jump], jump, steps) for jump in jumps]  # noqa: E731
        arguments = ['--columns', str(count)]
        _, (answer,) = run(program, arguments, library)
        assert_near(answer, {v * count + s: r[v] for s, (r, _) in enumerate(after(20)) for v in range(n)}, 1e-6, 'ppr')
        text, _ = run(program, arguments + ['--iterations', '100', '--tolerance', '1e-2'], library)
        check_steps(text, 100, lambda steps: sum(change for _, change in after(steps)) / count, 1e-2, 'ppr')


def check_triangles(graph, program, library):
    total = sum(1 for u in range(34) for v in graph[u] for w in graph[v] & graph[u] if u < v < w)
    assert total == 45
    for form in ('lut', 'll', 'ul', 'cohen', 'burkhardt'):
        text, (_, answer) = run(program, ['--form', form], library)
        assert 'triangles 45\n' in text and answer == {0: 45}, f'{form}: {text}'


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


def times(A, B):
    """Product of matrices as dicts row -> dict column -> value."""
    product = {}
    for i, row in A.items():
        for k, a in row.items():
            for j, b in B.get(k, {}).items():
                product.setdefault(i, {})[j] = product.get(i, {}).get(j, 0) + a * b
    return product


def normalized(M):
    return {i: {j: x / sum(row.values()) for j, x in row.items()} for i, row in M.items()}


def flat(M, columns):
    return {i * columns + j: x for i, row in M.items() for j, x in row.items()}


def check_markov(graph, program, library):
    M = normalized({u: {v: 1.0 for v in [u, *graph[u]]} for u in range(34)})
    for _ in range(6):
        M = normalized({i: {j: x * x for j, x in row.items()} for i, row in times(M, M).items()})
        M = normalized({i: {j: x for j, x in row.items() if x >= 1e-3} for i, row in M.items()})
    text, (answer,) = run(program, library=library)
    assert_near(answer, flat(M, 34), 1e-12, 'markov')
    assert f'{len({j for row in M.values() for j in row})} vertices attract flow\n' in text, text


def check_galerkin(graph, program, library):
    for k in (2, 5):
        A = {u: {v: -1.0 for v in graph[u]} | {u: len(graph[u]) + 1.0} for u in range(34)}
        T = {u: {u // k: 1.0} for u in range(34)}
        P = {u: {j: -2 / 3 * x / A[u][u] for j, x in row.items()} for u, row in times(A, T).items()}
        for u in range(34):
            P[u][u // k] = P[u].get(u // k, 0) + 1
        R = {}
        for u, row in P.items():
            for j, x in row.items():
                R.setdefault(j, {})[u] = x
        coarse = times(R, times(A, P))
        text, (answer,) = run(program, ['--k', str(k)], library)
        assert_near(answer, flat(coarse, (34 + k - 1) // k), 1e-12, f'galerkin {k}')
        assert f'{len(answer)} entries in a coarse operator of {(34 + k - 1) // k} rows\n' in text, text


def distances(graph, source):
    level, queue = {source: 0}, deque([source])
    while queue:
        u = queue.popleft()
        for v in graph[u]:
            if v not in level:
                level[v] = level[u] + 1
                queue.append(v)
    return level


def hub(graph):
    return max(range(len(graph)), key=lambda v: (len(graph[v]), -v))


def check_bfs(graph, program, library):
    for some in (graph, islands()):
        level = distances(some, hub(some))
        text, (answer,) = run(program, library=library, graph=some)
        assert_near(answer, level, 0, 'bfs')
        assert f'source {hub(some)} reached {len(level)} levels {max(level.values()) + 1}\n' in text, text


def dependencies(graph, source):
    """Brandes' accumulation: dependency of every vertex; the source has none."""
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
    return dependency


def check_betweenness(graph, program, library):
    for count in (4, 16, 32, 64):
        results = [dependencies(graph, s * 34 // count) for s in range(count)]
        _, (total,) = run(program, ['--columns', str(count)], library)
        assert_near(total, {v: sum(r[v] for r in results) for v in range(34)}, 1e-12, 'betweenness')


def path_lengths(graph, source):
    length, again = {source: 0}, True
    while again:
        again = False
        for u in list(length):
            for v in graph[u]:
                through = length[u] + 1 + random64(min(u, v), max(u, v)) % 255
                if v not in length or through < length[v]:
                    length[v], again = through, True
    return length


def check_sssp(graph, program, library):
    for some in (graph, islands()):
        expected = path_lengths(some, hub(some))
        for arguments in (['--delta', '1'], ['--delta', '32'], ['--delta', '1000'], ['--form', 'bellman']):
            text, (answer,) = run(program, arguments, library, some)
            assert_near(answer, expected, 0, f'sssp {arguments}')
            assert f'source {hub(some)} reached {len(expected)} ' in text, text


def check_components(graph, program, library):
    for some in (graph, islands()):
        expected = {v: min(distances(some, v)) for v in range(len(some))}
        for form in ('label', 'fastsv'):
            text, (answer,) = run(program, ['--form', form], library, some)
            assert_near(answer, expected, 0, form)
            assert f'components {len(set(expected.values()))} ' in text, text


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
    for width in (7, 128):
        h, w = dense(34, width, 1), dense(width, width, 2)
        root = [(len(near) + 1) ** -0.5 for near in graph]
        _, (answer,) = run(program, ['--columns', str(width)], library)
        for _ in range(2):
            t = [[root[u] * sum(root[v] * h[v][c] for v in graph[u] | {u}) for c in range(width)] for u in range(34)]
            h = [[max(0.0, sum(t[u][k] * w[k][c] for k in range(width))) for c in range(width)] for u in range(34)]
        flat = {u * width + c: h[u][c] for u in range(34) for c in range(width)}
        scale = max(map(abs, flat.values()))
        assert_near({k: v / scale for k, v in answer.items()}, {k: v / scale for k, v in flat.items()}, 1e-5, 'gcn')


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

#!/usr/bin/env python3
"""Is what README and docs say true?  Their shell blocks run, their figures come from bench/results, what they name is there.

usage: check_docs.py BUILD_DIR

  - Commands stand in blocks ```sh, nowhere else.  Every one is run, with the installed build in PATH, in a folder that holds `graph.mtx.gz`,
    a program `prog`, the sources of examples/ and the scripts of bench/; those marked `large` on less (SMALLER).  Blocks of one file share the folder; a block that fails is an error.  What follows
    `#=> ` in a block must be in its output.  Only ```sh MARK is not run, with a mark of NOT_HERE; what is left out is printed, and why.
  - Every row of figures is one that the records named on its page give, by bench/table.py, bench/cuda/table.py, spgemm_table.py or rounded.  Where a
    section says that it has "no record", its rows are counted and that is printed.
  - Every record in bench/results is named as bench/record.py says, and something cites it.
  - docs/native-reference.md, docs/benchmarks.md, the picture and the table of README.md are what their scripts in tools/scripts make.
  - docs/kernels.md names the kernels that `tessera info --kernels` lists.
  - Links, files in backquotes, TESSERA_ variables, options of the command and messages of the library exist.

SPDX-License-Identifier: Apache-2.0"""
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'bench'))
import record  # pylint: disable=wrong-import-position

PAGES = [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', ROOT / 'SECURITY.md', *sorted((ROOT / 'docs').glob('*.md'))]
FOLDERS = ('backends/', 'bench/', 'debian/', 'docs/', 'examples/', 'include/', 'kernels/', 'packaging/', 'python/', 'src/', 'test/', 'tools/')
TEST_VARIABLES = {'TESSERA_TEST_SEED', 'TESSERA_TEST_DATA', 'TESSERA_CONFIG', 'TESSERA_PLUGIN_DIR', 'TESSERA_CPU_ISA'}
# Why a block ```sh MARK is not run.  Those of NETWORK are, where packages can be had.
NOT_HERE = {
    'whole': 'tools/check.sh itself, or a part of it',
    'gpu': 'needs a GPU',
    'root': 'installs; tools/scripts/check_install.sh does, into a folder',
    'script': 'tools/scripts/check_graphblas.sh runs it',
    'wheel': 'tools/scripts/check_wheel.sh runs it',
    'source': 'needs the source of another project',
    'mpi': 'needs MPI; tools/check_petsc.sh runs its like',
}
NETWORK = 'network'
# What makes a block ```sh LARGE one of seconds.
LARGE = 'large'
SMALLER = ((r'--scale \d+', '--scale 8'), (r'(bench/run\.py .*)', r'\1 --turns 1 --warm-ms 20'),
           (r'bench/pipelines\.py', 'bench/pipelines.py pagerank bfs triangles'))
# What a line of commands begins with.
COMMAND = re.compile(r' {4}(?:\$ |sudo |[A-Z_]+=\S+ )*(?:(?:tools|bench)/\w|\./|(?:tessera|meson|ninja|cc|pip|python3?|apt-get|dpkg\S*|git|make) )')
problems, remarks = [], []


def complain(page, what):
    problems.append(f'{page.relative_to(ROOT)}: {what}')


def output_of(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, **options).stdout


# ---- figures ----

def figures_of(row):
    """The numbers of a table row; words and units are left out."""
    cells = (cell.strip().replace(',', '').replace('−', '-') for cell in row.strip().strip('|').split('|'))
    return tuple(float(cell) for cell in cells if re.fullmatch(r'-?\d+(\.\d+)?', cell))


def three_digits(x):
    return float(f'{x:.3g}') if x < 100 else round(x)


def rows_of_masked(_, content):
    """Times of bench_masked's SDDMM: a row for each width and kernel, for cuSPARSE and for gathering."""
    rows = {}
    for r in (row for row in content if row['what'] == 'sddmm'):
        rows.setdefault((r['n'], r['kernel'], r['math']), []).append(r['ms'])
        if (r['kernel'], r['math']) == ('csr', 'exact'):
            rows.setdefault((r['n'], 'cusparse'), []).append(r['cusparse_ms'])
            rows.setdefault((r['n'], 'gather'), []).append(r['gather_ms'])
    return ['|'.join(str(three_digits(ms)) for ms in row) for row in rows.values()]


def rows_of_elementwise(_, content):
    """Times of bench/elementwise.py: a row for each call; many columns in ms, one of 16,384 in µs on one thread."""
    rows = {}
    for case in content:
        if case['columns'] == 1 and (case['rows'], case['threads']) != (16384, 1):
            continue
        for key in ('plain', 'forwarded', 'tessera'):
            rows.setdefault(case['call'], []).append(f'{case[key]:.1f}' if case['columns'] > 1 else f'{1e3 * case[key]:.0f}')
    return ['|'.join(row) for row in rows.values()]


def rows_of_pipelines(path, _):
    return output_of('python3', 'bench/pipelines.py', '--markdown', path).splitlines()


def rows_of_products(path, content):
    """Of bench/run.py: by its table, and the times of a case with three digits or rounded."""
    rows = [row for form in ('--all', '--summary') for row in output_of('python3', 'bench/table.py', form, path).splitlines()]
    keys = ('plain_ms', 'tessera_ms', 'ratio', 'tessera_first_ms')
    for case in (case for case in content if all(case.get(key) is not None for key in keys)):
        rows.append('|'.join(str(three_digits(case[key])) for key in keys))
        rows.append('|'.join(f'{case[key]:.{digits}f}' for key, digits in zip(keys, (0, 1, 1, 0))))
    return rows


def rows_of_spmm(path, _):
    return [row for matrices in ([], ['--generated'], ['--orders'], ['--hybrid'])
            for row in output_of('python3', 'bench/cuda/table.py', '--markdown', *matrices, path).splitlines()]


def rows_of_spgemm(path, content):
    """What the table of products shows, and FP64 values only: with places, without, and cuSPARSE's reuse."""
    kinds = {}
    for row in content:
        kinds.setdefault(row['product'], {})[row['what'], row['type']] = row
    again = [(rows.get(('ours', 'fp64')), rows.get(('reuse', 'fp64'))) for rows in kinds.values()]
    return [*output_of('python3', 'bench/cuda/spgemm_table.py', path).splitlines(), *output_of('python3', 'bench/cuda/spgemm_table.py', '--tiles', path).splitlines(),
            *('|'.join(f'{ms:.3g}' for ms in (ours['numeric_ms'], ours.get('without_ms', -1), theirs['numeric_ms']) if ms > 0)
              for ours, theirs in again if ours and theirs)]


def rows_of_graphs(_, content):
    """Of bench/graphs.py: entries, and the geometric mean, least and greatest ratio of the forms."""
    rows = []
    for row in content:
        ratios = [form['ratio'] for form in row['forms']]
        rows.append(f"{row['entries']}|{statistics.geometric_mean(ratios):.1f}|{min(ratios):.1f}|{max(ratios):.1f}")
    return rows


def rows_of_selection(_, content):
    """Of bench/elementwise.py --topic selection: the first size in ms, the others in microseconds; plain, forwarded, computed."""
    calls = {}
    for case in content:
        sides = [case[side] for side in ('plain', 'forwarded', 'tessera')]
        cells = calls.setdefault(case['call'], [])
        cells += [f'{ms * 1000:.0f}' for ms in sides] if cells else [f'{ms:.1f}' if ms >= 1 else f'{ms:.2f}' for ms in sides]
    return ['|'.join(cells) for cells in calls.values()]


def rows_of_petsc(_, content):
    """Of bench/petsc_products.c: PETSc's time by ours, the widths side by side."""
    rows = {}
    for case in content:
        rows.setdefault((case['matrix'], case['processes']), []).append(f"{case['petsc_ms'] / case['tessera_ms']:.2f}")
    return ['|'.join(cells) for cells in rows.values()]


GAP = ('bfs', 'sssp', 'bc', 'cc', 'tc', 'pr')


def rows_of_graphs_and_drivers(content):
    """Ratios of all calls of one thread, a row for each graph; geometric means of all and of first calls in GAP's order, a row for each number
    of threads."""
    graphs, drivers = {}, {}
    for case in content:
        if case['threads'] == 1 and case.get('ratio'):
            graphs.setdefault(case['graph'], []).append(f"{case['ratio']:.2f}")
        for key in (key for key in ('ratio', 'ratio_first') if case.get(key)):
            drivers.setdefault((case['threads'], key), {}).setdefault(case['driver'], []).append(case[key])
    means = [[f'{statistics.geometric_mean(ratios[name]):.2f}' for name in GAP if name in ratios] for ratios in drivers.values()]
    return ['|'.join(cells) for cells in (*graphs.values(), *means)]


def rows_of_clients(_, content):
    """Of bench/clients.py; with auto and gpu: calls of SuiteSparse in ms, the later ones and those from the third on, and that by ours, the graphs
    side by side."""
    if not any(case.get('ratio_gpu_later') for case in content):
        return rows_of_graphs_and_drivers(content)
    rows = {}
    for case in content:
        if not case.get('ratio_gpu_later'):
            continue
        for kind in (kind for kind in ('later', 'third') if f'ratio_gpu_{kind}' in case):
            ratios = [f'{case[key]:.2f}' for key in (f'ratio_{kind}', f'ratio_gpu_{kind}')]
            rows.setdefault((case['driver'], case['threads'], kind), []).extend([f"{statistics.median(case[f'plain_{kind}_ms']):.1f}", *ratios])
    return ['|'.join(cells) for cells in rows.values()]


def rows_of_algorithms(_, content):
    """Of bench/algorithms.py: SuiteSparse in ms, and that by ours, all calls and later ones with gpu and auto, or of auto alone all calls and the
    first one."""
    return ['|'.join([f"{case['plain_ms']:.1f}", *(f'{ratio:.2f}' for ratio in (
        (case['ratio'], case['ratio_later'], case['ratio_auto'], case['ratio_auto_later']) if 'ratio_auto' in case
        else (case['ratio'], case['plain_first_ms'] / case['auto_first_ms'])))]) for case in content if 'ratio' in case]


def rows_of_layers(_, content):
    """Of bench_device --layers: fused, with one pass and with two over C, of a matrix."""
    times = {}
    for row in content:
        times.setdefault((row['n'], row['matrix'], row['note']), []).append(f"{row['ms']:.3f}")
    return ['|'.join([str(key[0]), key[2], *cells]) for key, cells in times.items()]


def rows_of_sparse_petsc(_, content):
    """Of bench/petsc_sparse_products.c: PETSc's time by ours, first and again, of both products of a matrix."""
    rows = {}
    for case in content:
        rows.setdefault(case['matrix'], []).extend(f"{case[f'petsc_{when}_ms'] / case[f'tessera_{when}_ms']:.2f}" for when in ('first', 'again'))
    return ['|'.join(cells) for cells in rows.values()]


def rows_of_scale_model(_, content):
    """Of tools/scripts/scale_model.py: rows that travel and ms of the three ways, graphs side by side."""
    rows = {}
    for case in content:
        cells = rows.setdefault(case['parts'], [str(case['parts'])])
        cells += [str(case['rows_received'])] + [f'{case[way]:.1f}' for way in ('needed_rows_ms', 'columns_ms', '1.5d_ms')]
    return ['|'.join(cells) for cells in rows.values()]


def rows_of_python(_, content):
    """Of bench/python_products.py: ratios of the cases, a row for each GraphBLAS."""
    rows = {}
    for case in content:
        rows.setdefault(case['graphblas'], []).append(f"{case['ratio']:.1f}")
    return ['|'.join(cells) for cells in rows.values()]


def rows_of_python_programs(_, content):
    """Of bench/python_programs.py: ratios of the times of all threads, a row for each GraphBLAS."""
    rows = {}
    for case in content:
        rows.setdefault(case['graphblas'], []).append(f"{case['ratio_cpu']:.2f}")
    return ['|'.join(cells) for cells in rows.values()]


def rows_of_sparse_products(_, content):
    """Of bench/spgemm.py: processor times, by themselves and with the GrB_wait that follows."""
    rows = []
    for case in content:
        plain, ours = case['plain'], case['tessera']
        whole = (plain['cpu_ms'] + plain['wait_ms']) / (ours['cpu_ms'] + ours['wait_ms'])
        rows.append(f"{case['case']}|{plain['cpu_ms']:.0f}|{plain['wait_ms']:.0f}|{ours['cpu_ms']:.0f}|{case['cpu_ratio']:.2f}|{whole:.2f}")
    return rows


def rows_of_conformance(_, content):
    """Tests of other projects: a row for each part of a suite and each memory."""
    return ['|'.join(str(case[key]) for key in ('tests', 'passed', 'failed', 'not_applicable')) for case in content]


def rows_of_complex(_, content):
    """Of bench_device --complex 1: of both types the door's time, and cuSPARSE's over it."""
    rows = {}
    for case in content:
        rows.setdefault((case['matrix'], case['n']), {})[case['math'], case['kernel'] == 'cusparse'] = case['ms']
    return ['|'.join([str(n)] + [cell for math in ('fc32', 'fc64') for cell in (f'{of[math, False]:.3f}', f'{of[math, True] / of[math, False]:.2f}')])
            for (_, n), of in rows.items()]


def rows_of_kronecker(_, content):
    """A row a call: by size, most entries first, plain and computed by one thread, and by two but for the last size."""
    sizes, calls = sorted({case['rows'] for case in content}, reverse=True), {}
    for case in content:
        digits = (1, 3, 4)[sizes.index(case['rows'])]
        calls.setdefault(case['call'], {})[case['rows'], case['threads']] = [f"{case[side]:.{digits}f}" for side in ('plain', 'tessera')]
    kinds = [(size, threads) for size in sizes for threads in (1, 2)][:5]
    return ['|'.join(cell for kind in kinds for cell in of[kind]) for of in calls.values()]


def rows_of_attention_door(_, content):
    """Of bench_device --attention: one pass and three calls."""
    return [f"{case['heads']}|{case['n']}|{case['pass_ms']:.3f}|{case['three_ms']:.3f}" for case in content]


# By the schema of a record; figures of others are not compared.
ROWS_OF = {'algorithms/1': rows_of_algorithms, 'attention-door/1': rows_of_attention_door, 'complex/1': rows_of_complex, 'conformance/1': rows_of_conformance, 'clients/1': rows_of_clients, 'elementwise/1': rows_of_elementwise, 'entries/1': rows_of_selection, 'graphs/1': rows_of_graphs, 'kronecker/1': rows_of_kronecker,
           'layers/1': rows_of_layers,
           'masked/1': rows_of_masked, 'petsc-products/1': rows_of_petsc, 'petsc-sparse-products/2': rows_of_sparse_petsc,
           'pipelines/1': rows_of_pipelines, 'products/1': rows_of_products, 'python-products/1': rows_of_python,
           'python-programs/1': rows_of_python_programs,
           'scale-model/1': rows_of_scale_model, 'selection/1': rows_of_selection, 'spgemm/1': rows_of_sparse_products, 'spgemm_gpu/1': rows_of_spgemm, 'spmm/1': rows_of_spmm}


def recorded_figures(page):
    """Figures of every row that the records named by a page give, in each form that pages use."""
    rows = []
    for name in sorted(set(re.findall(r'bench/results/[\w./-]+\.jsonl', page.read_text(encoding='utf-8')))):
        head, content = record.read(ROOT / name)
        rows += ROWS_OF.get(head['schema'], lambda *_: [])(str(ROOT / name), content)
    return {figures_of(row) for row in rows}


def check_figures(page):
    known, section, unrecorded = None, '', 0
    for row in page.read_text(encoding='utf-8').splitlines():
        section = row if row.startswith('#') else f'{section} {row}'
        figures = figures_of(row) if row.startswith('|') else ()
        if len(figures) < 3:
            continue
        known = recorded_figures(page) if known is None else known
        if figures not in known and 'no record' in section:
            unrecorded += 1
        elif figures not in known:
            complain(page, f'no record has the figures of this row: {row}')
    if unrecorded:
        remarks.append(f'{page.relative_to(ROOT)}: {unrecorded} rows of figures without a record, as the page says')


def check_records():
    """Records have a header and the name that it asks for, and something cites them."""
    citing = ''.join(path.read_text(encoding='utf-8') for path in (*PAGES, ROOT / 'test' / 'unit' / 'replay_times.h'))
    for path in sorted(path for path in (ROOT / 'bench' / 'results').rglob('*') if path.is_file()):
        head, _ = record.read(path)
        if path.name != record.file_name(head):
            complain(path, 'is not named by the date and the commit of its header')
        if '/'.join(path.parts[-2:]) not in citing:
            complain(path, 'is a record that nothing cites')


# ---- names ----

def check_names(page, variables):
    text = page.read_text(encoding='utf-8')
    for link in re.findall(r'\]\(([^)#:]+)(?:#[^)]*)?\)', text):
        if not (page.parent / link).exists():
            complain(page, f'link to {link}, which is not there')
    for name in re.findall(r'`([\w./-]+)`', text):
        if name.startswith(FOLDERS) and '*' not in name and not (ROOT / name).exists() and not list(ROOT.glob(name + '.*')):
            complain(page, f'names {name}, which is not there')
    for variable in set(re.findall(r'TESSERA_[A-Z_]*[A-Z]\b', text)) - variables:
        complain(page, f'{variable} is no setting')


def messages():
    """The text of the library and the command, adjacent string literals joined."""
    sources = (path.read_text(encoding='utf-8') for folder in ('src', 'tools') for path in (ROOT / folder).rglob('*.c'))
    return re.sub(r'"\s*"', '', '\n'.join(sources))


def check_messages(page, sources):
    """Messages that a table lists in its first column are ones that the library prints."""
    for cell in re.findall(r'^\| ([^|]*) \|', page.read_text(encoding='utf-8'), re.M):
        for part in (part.strip() for message in re.findall(r'`([^`]*)`', cell) for part in re.split(r'[\d…]+', message)):
            if part not in sources:
                complain(page, f'no source prints "{part}"')


def check_scripts(page, text):
    """Scripts named with arguments are there and know these."""
    for script, rest in re.findall(r'`((?:tools|bench)/[\w./-]+\.\w+)((?: [^`]*)?)`', text):
        source = ROOT / script
        for option in re.findall(r'--[a-z-]+', rest) if source.exists() else ['']:
            if not source.exists() or option not in source.read_text(encoding='utf-8'):
                complain(page, f'{script} {option} is not there')


def check_options(page, tool, helps):
    text = page.read_text(encoding='utf-8')
    check_scripts(page, text)
    for command, rest in re.findall(r'\btessera ([a-z]+)((?: +--[a-z-]+(?:=\S+)?)+)', text):
        if command not in helps:
            helps[command] = output_of(tool, command, '--help')
        for option in re.findall(r' (--[a-z-]+)', rest):
            if option not in helps[command]:
                complain(page, f'tessera {command} has no {option}')


def check_kernels(tool, environment):
    """docs/kernels.md names every kernel of every backend that is built, and says which are chosen by name only."""
    page = ROOT / 'docs' / 'kernels.md'
    chosen, named = page.read_text(encoding='utf-8').split('## What is not chosen by itself')
    for line in output_of(tool, 'info', '--kernels', env=environment).splitlines():
        _, operation, name, trace, automatic = line.split()[:5]
        if f'`{trace}`' not in chosen:
            complain(page, f'{operation} by {name} (`{trace}`) is not in the tables')
        if (automatic == 'by') != (f'| `{name}` |' in named):
            complain(page, f'`{name}` is chosen {"by name only" if automatic == "by" else "by itself"}')


# ---- commands ----

def prepare(folder, build):
    """What blocks find: a small graph, the plain GraphBLAS programs to compile, the benchmark and the build."""
    entries = sorted({(max(a, b), min(a, b)) for i in range(400) for a, b in ((i, (i * 7 + 3) % 400), (i, (i * i + 1) % 400)) if a != b})
    lines = ['%%MatrixMarket matrix coordinate pattern symmetric', f'400 400 {len(entries)}', *(f'{a + 1} {b + 1}' for a, b in entries)]
    subprocess.run(['gzip', '-c'], input='\n'.join(lines).encode() + b'\n', stdout=open(folder / 'graph.mtx.gz', 'wb'), check=True)
    for name in ('examples', 'src', 'tools'):
        os.symlink(ROOT / name, folder / name)
    os.mkdir(folder / 'docs')
    os.mkdir(folder / 'bench')
    for script in (ROOT / 'bench').glob('*.py'):
        shutil.copy(script, folder / 'bench')  # a link would be followed back to this tree
    os.symlink(os.path.realpath(build), folder / 'build')
    sources = [*(ROOT / f'examples/{name}.c' for name in ('triangles', 'graph', 'program')), *(ROOT / 'src' / 'mtx').glob('*.c')]
    subprocess.run(['cc', '-O1', '-I', str(ROOT), *sources, '-lgraphblas', '-lz', '-lm', '-o', folder / 'karate'], check=True)
    (folder / 'prog').write_text('#!/bin/sh\nexec ./karate karate\n', encoding='ascii')
    os.chmod(folder / 'prog', 0o755)


def have_packages(answer=[]):  # pylint: disable=dangerous-default-value
    """Can a new virtual environment fetch a package?  Asked once."""
    if not answer:
        with tempfile.TemporaryDirectory() as folder:
            ask = f'python3 -m venv {folder}/env && {folder}/env/bin/pip download -q --no-deps -d {folder} wheel'
            try:
                answer.append(subprocess.run(ask, shell=True, capture_output=True, timeout=90, check=False).returncode == 0)
            except subprocess.TimeoutExpired:
                answer.append(False)
    return answer[0]


def is_run(page, mark, block):
    """What is not run is said."""
    if mark and mark not in (NETWORK, LARGE, *NOT_HERE):
        complain(page, f'```sh {mark}: no mark of tools/scripts/check_docs.py')
    why = NOT_HERE.get(mark, '') or ('no packages can be had: no pip, or no network' if mark == NETWORK and not have_packages() else '')
    if why:
        remarks.append(f'{page.relative_to(ROOT)}: not run ({why}): {block.splitlines()[0]}')
    return not why


def run_block(page, block, folder, environment):
    done = subprocess.run(['bash', '-eo', 'pipefail', '-c', block], cwd=folder, env=environment, capture_output=True, text=True, timeout=600,
                          check=False)
    if done.returncode:
        complain(page, f'a block fails ({done.returncode}):\n{block}{done.stdout[-500:]}{done.stderr[-1500:]}')
    for wanted in re.findall(r'#=> (.*)', block):
        if wanted not in done.stdout + done.stderr:
            complain(page, f'a block does not print "{wanted}", but:\n{done.stdout[-800:]}{done.stderr[-800:]}')


def smaller(block):
    for large, small in SMALLER:
        block = re.sub(large, small, block)
    return block


def run_blocks(page, environment, build):
    text = page.read_text(encoding='utf-8')
    for line in filter(COMMAND.match, re.sub(r'^```.*?^```', '', text, flags=re.S | re.M).splitlines()):
        complain(page, f'a command outside of a block ```sh: {line.strip()}')
    blocks = [smaller(block) if mark == LARGE else block for mark, block in re.findall(r'^```sh *(\w*)\n(.*?)^```', text, re.S | re.M) if is_run(page, mark, block)]
    if blocks:
        with tempfile.TemporaryDirectory() as folder:
            prepare(pathlib.Path(folder), build)
            for block in blocks:
                run_block(page, block, folder, environment)
    return len(blocks)


def installed(build, folder):
    """The build, installed: (environment with it in front, path of the command)."""
    subprocess.run(['meson', 'install', '-C', build, '--no-rebuild'], env={**os.environ, 'DESTDIR': folder}, capture_output=True, check=True)
    tool, library, pc = (next(str(path) for path in pathlib.Path(folder).rglob(name)) for name in ('bin/tessera', 'libtessera.so', 'tessera.pc'))
    kept = {name: value for name, value in os.environ.items() if not name.startswith('TESSERA_')}
    kept.update(PATH=f'{os.path.dirname(tool)}:{os.environ["PATH"]}', PKG_CONFIG_PATH=os.path.dirname(pc), PKG_CONFIG_SYSROOT_DIR=folder,
                LIBRARY_PATH=os.path.dirname(library), LD_LIBRARY_PATH=os.path.dirname(library))
    return kept, tool


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split('\n\n')[1])
    with tempfile.TemporaryDirectory() as folder:
        environment, tool = installed(sys.argv[1], folder)
        settings = json.loads(output_of(tool, 'info', '--json', env=environment))['configuration']
        variables = {'TESSERA_' + name.upper() for name in settings} | TEST_VARIABLES
        helps, blocks = {}, 0
        check_kernels(tool, environment)
        for page in PAGES:
            check_names(page, variables)
            check_options(page, tool, helps)
            blocks += run_blocks(page, environment, sys.argv[1])
            check_figures(page)
            if page.name == 'troubleshooting.md':
                check_messages(page, messages())
    check_records()
    for name, script in (('native-reference.md', 'make_reference.py'), ('benchmarks.md', 'make_benchmarks.py')):
        page = ROOT / 'docs' / name
        if output_of('python3', f'tools/scripts/{script}') != page.read_text(encoding='utf-8'):
            complain(page, f'is not what tools/scripts/{script} > docs/{name} makes now')
    if subprocess.run(['python3', 'tools/scripts/make_pictures.py', '--check'], cwd=ROOT, capture_output=True, check=False).returncode:
        complain(ROOT / 'README.md', 'its table or picture is not what tools/scripts/make_pictures.py makes now')
    for remark in remarks:
        print(remark)
    for problem in problems:
        print(f'check_docs: {problem}', file=sys.stderr)
    print(f'{len(PAGES)} pages, {blocks} blocks run, {len(problems)} problems')
    sys.exit(bool(problems))


if __name__ == '__main__':
    main()

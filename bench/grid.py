"""The grid of benchmark cases, as descriptions that bench_products understands (keys in bench/cases.h).

SPDX-License-Identifier: Apache-2.0"""

WIDTHS = (1, 4, 16, 64, 256)
TYPES = ('fp32', 'fp64', 'int32', 'int64')
SEMIRINGS = ('plus_times', 'plus_first', 'plus_second', 'plus_pair', 'min_plus', 'min_second', 'max_plus', 'max_times',
             'max_second', 'any_second', 'any_pair')
BOOL_SEMIRINGS = ('lor_and', 'lor_first', 'lor_second', 'lor_pair', 'any_pair', 'any_second')
OTHER_TYPES = ('int8', 'int16', 'uint8', 'uint16', 'uint32', 'uint64')


def case(op='spmm', semiring='plus_times', **keys):
    add, mul = semiring.split('_')
    pairs = dict(op=op, add=add, mul=mul, **keys)
    return ' '.join(f'{key}={value}' for key, value in pairs.items())


def semirings(widths):
    """sparse x full by row: every type and semiring."""
    for n in widths:
        for kind in TYPES:
            for semiring in SEMIRINGS:
                yield case(semiring=semiring, type=kind, n=n)
        for semiring in BOOL_SEMIRINGS:
            yield case(semiring=semiring, type='bool', n=n)
        for kind in OTHER_TYPES:
            yield case(type=kind, n=n)
            yield case(type=kind, n=n, semiring='min_plus')


def layouts(widths):
    """sparse x dense: how each operand and the result are held, what happens at the end."""
    variants = [dict(b='col'), dict(b='col', c='col'), dict(c='col'), dict(a='col'), dict(a='col', b='col', c='col'),
                dict(t='a'), dict(t='a', a='col'), dict(t='b'), dict(t='ab', b='col'), dict(dense='bitmap'),
                dict(dense='bitmap', b='col'), dict(values='bool'), dict(finish='accum'), dict(finish='mask'),
                dict(finish='notmask')]
    for n in widths:
        for kind, semiring in (('fp32', 'plus_times'), ('fp64', 'plus_times'), ('fp32', 'min_plus'), ('fp32', 'plus_second')):
            for variant in variants:
                yield case(semiring=semiring, type=kind, n=n, **variant)


def dense_first(widths):
    """dense x sparse, as betweenness uses it."""
    for n in widths:
        for kind, semiring in (('fp64', 'plus_first'), ('fp32', 'plus_times'), ('fp32', 'min_plus')):
            for variant in (dict(), dict(b='col'), dict(dense='bitmap'), dict(t='b'), dict(a='col'), dict(finish='accum')):
                yield case('dspmm', semiring, type=kind, n=n, **variant)


def few_rows(widths=(2, 4, 8)):
    """A few sparse rows x sparse: frontiers of so many searches."""
    for n in widths:
        for semiring, kind in (('plus_first', 'fp64'), ('plus_times', 'fp32'), ('plus_pair', 'int64')):
            for finish in ('none', 'notmask', 'mask'):
                yield case('dspmm', semiring, type=kind, n=n, dense='sparse', finish=finish)


def vectors():
    """mxv and vxm; the case with accum is PageRank's product."""
    for op in ('mxv', 'vxm'):
        for variant in (dict(), dict(finish='accum'), dict(dense='bitmap'), dict(a='col')):
            for kind, semiring in (('fp32', 'plus_times'), ('fp64', 'plus_times'), ('int32', 'min_plus'), ('int64', 'plus_times')):
                yield case(op, semiring, type=kind, n=1, **variant)
            mul = 'second' if op == 'mxv' else 'first'
            for kind, add in (('fp32', 'plus'), ('fp64', 'plus'), ('uint32', 'min')):
                yield case(op, f'{add}_{mul}', type=kind, n=1, values='bool', **variant)


def sampled(widths):
    """C<A> = X Y'."""
    for n in widths:
        for kind in ('fp32', 'fp64', 'int32'):
            for variant in (dict(t='b'), dict(b='col'), dict(), dict(t='b', a='col')):
                yield case('sddmm', type=kind, n=n, **variant)
        yield case('sddmm', 'min_plus', type='fp32', n=n, t='b')


def masked():
    """Triangle counting in its forms and k-truss support."""
    for form in ('lut', 'll', 'burkhardt', 'cohen', 'ktruss'):
        for order in ('given', 'degree'):
            yield case('masked', 'plus_pair', type='int64', values='bool', form=form, order=order)
    for semiring, kind, values in (('plus_pair', 'uint32', 'bool'), ('plus_times', 'fp64', 'typed'), ('plus_first', 'fp32', 'typed'),
                                   ('plus_second', 'fp32', 'typed'), ('min_plus', 'int32', 'typed'), ('any_pair', 'bool', 'bool')):
        for form in ('lut', 'ktruss'):
            yield case('masked', semiring, type=kind, values=values, form=form, order='degree')


def graphs():
    """What LAGraph asks of a graph: its six ways to count triangles, support of edges (k-truss), clustering, triangle centrality."""
    for form in ('burkhardt', 'cohen', 'll', 'uu', 'lut', 'ult'):
        yield case('masked', 'plus_pair', type='int64', values='bool', form=form)
    for kind in ('uint32', 'int64', 'fp64'):
        yield case('masked', 'plus_pair', type=kind, values='bool', form='ktruss')


def full():
    yield from semirings(WIDTHS)
    yield from layouts(WIDTHS)
    yield from dense_first((1, 4, 16, 32))
    yield from few_rows()
    yield from vectors()
    yield from sampled(WIDTHS)
    yield from masked()


def headline():
    """The rows of the README's table."""
    for kind, semiring, variant in (('fp32', 'plus_times', {}), ('fp32', 'plus_times', {'b': 'col'}), ('fp32', 'min_plus', {}),
                                    ('fp64', 'plus_times', {})):
        yield case(semiring=semiring, type=kind, n=64, **variant)
    yield case('sddmm', type='fp32', n=64, t='b')
    yield case('dspmm', 'plus_first', type='fp64', n=16)
    yield case('mxv', 'plus_second', type='fp32', n=1, values='bool', finish='accum')
    for form, order in (('lut', 'given'), ('lut', 'degree'), ('ll', 'degree'), ('ktruss', 'given')):
        yield case('masked', 'plus_pair', type='int64', values='bool', form=form, order=order)


def quick():
    """A sample of every kind, small."""
    yield from headline()
    yield from list(semirings((1, 16)))[::7]
    yield from list(layouts((4,)))
    yield from list(dense_first((4,)))
    yield from list(few_rows((4,)))
    yield from list(vectors())[::3]
    yield from list(sampled((16,)))
    yield from list(masked())[10:]
    yield from graphs()


def gpu():
    """Sparse times full, wide enough for a GPU behind PCIe."""
    for kind, semiring, n, variant in (('fp32', 'plus_times', 128, {}), ('fp32', 'plus_times', 128, {'b': 'col'}),
                                       ('fp32', 'plus_times', 32, {}), ('fp64', 'plus_times', 64, {}), ('fp32', 'min_plus', 128, {}),
                                       ('fp32', 'plus_second', 128, {'values': 'bool'}), ('int64', 'plus_times', 64, {})):
        yield case(semiring=semiring, type=kind, n=n, **variant)
    yield case('dspmm', 'plus_first', type='fp32', n=64)
    yield from gpu_masked()


def gpu_masked():
    """Triangles, summed up only, and downloaded of operands that are new: few, SuiteSparse takes seconds.  Values of edges."""
    for variant in (dict(finish='reduce'), dict(first='yes')):
        yield case('masked', 'plus_pair', type='int64', values='bool', form='lut', **variant)
    for n in (32, 128):
        yield case('sddmm', type='fp32', n=n, t='b')


GRIDS = {'full': full, 'gpu': gpu, 'graphs': graphs, 'headline': headline, 'quick': quick}

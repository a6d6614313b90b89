// The entry of masked products of sparse matrices: what the products are, and which kernels add them up.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/masked/masked_sets.cuh"
#include "kernels/cuda/common/semiring.cuh"

namespace {

template <class T> T value_of(uint64_t bits)
{
    T x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

template <class T> uint64_t bits_of(T x)
{
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof x);
    return bits;
}

template <class T> uint64_t one_product(tsr_semiring s, uint64_t a_bits, uint64_t b_bits)
{
    T a = value_of<T>(a_bits), b = value_of<T>(b_bits), x;
    switch (s.mul) {
    case TSR_MUL_TIMES: x = T(a * b); break;
    case TSR_MUL_FIRST: x = a; break;
    case TSR_MUL_SECOND: x = b; break;
    case TSR_MUL_PAIR: x = T(1); break;
    case TSR_MUL_PLUS: x = T(a + b); break;
    default: x = T(a != T(0) && b != T(0)); break;
    }
    return bits_of(s.add == TSR_ADD_LOR ? T(x != T(0)) : x);
}

/* Of a type in which products of integers modulo 2^bits can be formed without overflow of signed numbers. */
uint64_t product_of(const tsr_cuda_masked *q)
{
    uint64_t a = q->a_iso, b = q->b_iso;
    switch (q->semiring.type) {
    case TSR_BOOL: {
        tsr_semiring s = q->semiring;
        uint64_t x = one_product<uint8_t>(s, (a & 0xff) != 0, (b & 0xff) != 0);
        return x != 0;
    }
    case TSR_FP32: return one_product<float>(q->semiring, a, b);
    case TSR_FP64: return one_product<double>(q->semiring, a, b);
    case TSR_INT8:
    case TSR_UINT8: return one_product<uint8_t>(q->semiring, a, b);
    case TSR_INT16:
    case TSR_UINT16: return one_product<uint16_t>(q->semiring, a, b);
    case TSR_INT32:
    case TSR_UINT32: return one_product<uint32_t>(q->semiring, a, b);
    default: return one_product<uint64_t>(q->semiring, a, b);
    }
}

masked_result result_of(const tsr_cuda_masked *q)
{
    masked_result r = {};
    tsr_type type = q->semiring.type;
    r.size = int(size_of(type));
    r.product = product_of(q);
    r.kind = q->semiring.add != TSR_ADD_PLUS || type == TSR_BOOL ? masked_result::ONE
             : type == TSR_FP32                                      ? masked_result::FP32
             : type == TSR_FP64                                      ? masked_result::FP64
                                                                     : masked_result::INTEGER;
    return r;
}

/* Is an entry's result zero only where there is no product?  Then what is present is found from the results in one pass, rather
 * than by scattered stores of single bytes. */
bool shows_presence(const masked_result &r)
{
    return (r.kind == masked_result::INTEGER && r.size >= 4 && r.product == 1) ||
           (r.kind == masked_result::FP32 && r.product == bits_of(1.0f)) ||
           (r.kind == masked_result::FP64 && r.product == bits_of(1.0));
}

constexpr int threads = 256;

template <class T> __global__ void __launch_bounds__(threads) mark_present(int8_t *present, const T *x, int64_t n)
{
    for (int64_t at = blockIdx.x * int64_t(threads) + threadIdx.x; at < n; at += int64_t(gridDim.x) * threads)
        present[at] = __ldcs(x + at) != 0;
}

tsr_status mark(const tsr_cuda_masked *q, int size)
{
    int64_t n = q->end - q->begin, wanted = (n + threads - 1) / threads, most = int64_t(q->device->sms) * 64;
    auto narrow = mark_present<uint32_t>;
    auto wide = mark_present<unsigned long long>;
    unsigned blocks = unsigned(wanted < most ? wanted : most);
    if (size == 4)
        TSR_LAUNCH(narrow, blocks, threads, 0, q->stream, q->present, static_cast<const uint32_t *>(q->x), n);
    else
        TSR_LAUNCH(wide, blocks, threads, 0, q->stream, q->present, static_cast<const unsigned long long *>(q->x), n);
    return launch_status();
}

masked_bits bits_of_plan(const tsr_cuda_masked_plan *plan, const tsr_cuda_masked *product)
{
    masked_bits bits = {};
    bits.quads = uint32_t((product->a->ncols + quad_columns - 1) / quad_columns);
    bits.a = static_cast<const uint4 *>(plan->bits);
    bits.a_rows = uint32_t(product->a->nrows);
    bits.b_rows = uint32_t(product->b->nrows);
    bits.a_span = static_cast<const uint2 *>(plan->spans);
    bool same = same_lists(product);
    bits.b = same ? bits.a : bits.a + tile_rows(product->a->nrows) * int64_t(bits.quads);
    bits.b_span = same ? bits.a_span : bits.a_span + product->a->nrows;
    bits.row = static_cast<const uint32_t *>(plan->rows);
    return bits;
}

masked_args args_of(const tsr_cuda_masked_plan *plan, const tsr_cuda_masked *product)
{
    masked_args q = {};
    q.lists = lists_of(product);
    if (plan) {
        q.records = static_cast<const masked_record *>(plan->records);
        q.pairs = static_cast<const masked_pair *>(plan->pairs);
        q.npairs = plan->npairs;
        q.mirrors = static_cast<const uint32_t *>(plan->mirrors);
        q.pair_mirrors = q.mirrors ? q.mirrors + plan->nrecords : nullptr;
        if (plan->bits)
            q.bits = bits_of_plan(plan, product);
    }
    if (product->mask->x)
        q.mask = static_cast<const char *>(product->mask->x) + product->begin * product->mask_size;
    q.mask_size = product->mask_size;
    q.result = result_of(product);
    q.x = product->x;
    q.present = product->present;
    q.products = product->products;
    q.ax = tsr_mul_reads_a(product->semiring.mul) ? product->a->x : nullptr;
    q.bx = tsr_mul_reads_b(product->semiring.mul) ? product->b->x : nullptr;
    q.a_iso = product->a_iso;
    q.b_iso = product->b_iso;
    q.add = product->semiring.add;
    q.mul = product->semiring.mul;
    return q;
}

} // namespace

extern "C" bool tsr_cuda_masked_reads(const tsr_cuda_masked *product)
{
    tsr_mul mul = product->semiring.mul;
    return (tsr_mul_reads_a(mul) && product->a->x) || (tsr_mul_reads_b(mul) && product->b->x);
}

extern "C" tsr_status tsr_cuda_masked_dot(const tsr_cuda_masked_plan *plan, const tsr_cuda_masked *product)
{
    bool reads = tsr_cuda_masked_reads(product);
    int64_t n = product->end - product->begin;
    if (n >= UINT32_MAX || product->mask->nrows + product->mask->ncols >= UINT32_MAX - 1 || product->a->ncols >= UINT32_MAX ||
        (plan && (plan->begin != product->begin || plan->end != product->end || plan->positions < reads)) ||
        (reads && product->products))
        return TSR_DECLINED;
    tsr_status status = TSR_OK;
    if (product->x)
        status = tsr_cuda_set(product->x, 0, size_t(n) * size_of(product->semiring.type), product->stream);
    bool empty = n == 0 || product->a->nvals == 0 || product->b->nvals == 0;
    masked_args q = args_of(plan, product);
    bool marked = !empty && !reads && product->x && product->present && shows_presence(q.result);
    if (marked)
        q.present = nullptr;
    else if (status == TSR_OK && product->present)
        status = tsr_cuda_set(product->present, 0, size_t(n), product->stream);
    if (status != TSR_OK || empty)
        return status;
    void *queues;
    status = tsr_cuda_malloc(&queues, MASKED_FORMS * sizeof *q.queue, product->stream);
    if (status != TSR_OK)
        return status;
    q.queue = static_cast<uint32_t *>(queues);
    status = tsr_cuda_set(queues, 0, MASKED_FORMS * sizeof *q.queue, product->stream);
    if (status == TSR_OK)
        status = reads ? tsr_cuda_masked_fold(q, plan, product) : tsr_cuda_masked_count(q, plan, product);
    if (status == TSR_OK && marked)
        status = mark(product, q.result.size);
    tsr_cuda_free(queues, product->stream);
    return status;
}

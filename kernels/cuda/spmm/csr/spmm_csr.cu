// SpMM and SpMV by row: which kernel, and how the product is cut among threads.
//
// The shape: V elements of B per lane (at most 16 bytes; what alignment and n allow), groups of G lanes, blocks of some warps.
// Variants of SpMM: 0 = choose; -1 = the same, but B is not marked, for which scratch may have no room; warps * 100 + G, with 1 to 32 warps per block and G in {4, 8, 16, 32}: 832, 416, ...
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm/csr/spmm_csr.cuh"

namespace {

int element_size(const tsr_cuda_csr_spmm *product)
{
    const tsr_type type = product->semiring.type;
    return product->half ? 2 : int(size_of(type));
}

int sum_size(const tsr_cuda_csr_spmm *product)
{
    return product->half ? 4 : element_size(product);
}

/* The most elements that one load can bring, and at least four lanes with something to do. */
int choose_vector(const tsr_cuda_csr_spmm *product, int size)
{
    int vector = 16 / size < 8 ? 16 / size : 8;
    while (vector > 1
        && (product->n % vector != 0 || product->ldb % vector != 0
            || reinterpret_cast<uintptr_t>(product->b) % size_t(vector * size) != 0 || product->n <= 2 * vector))
        vector /= 2;
    return vector;
}

/* Lanes for all n columns, at most 32, in blocks of 4 warps.  Where B's part for one tile of columns is larger than 0.7 of L2 and
 * halving the tile brings it to 1.2 of L2 or below, the tile is halved (not below 256 bytes of a row), and blocks are of 8 warps,
 * which share more rows of B in L1. */
csr_shape choose_shape(const tsr_cuda_csr *a, const tsr_cuda_csr_spmm *product)
{
    int size = element_size(product), vector = choose_vector(product, size);
    if (product->variant > 0)
        return { vector, product->variant % 100, product->variant / 100 };
    csr_shape shape = { vector, 32, 4 };
    while (shape.lanes > 4 && product->n <= shape.lanes / 2 * vector)
        shape.lanes /= 2;
    double l2 = double(product->device->l2_bytes), part = double(a->ncols) * shape.lanes * vector * size;
    if (shape.lanes * vector * size >= 512 && part > 0.7 * l2 && part / 2 <= 1.2 * l2) {
        shape.lanes /= 2;
        shape.warps = 8;
    }
    return shape;
}

bool shape_exists(const csr_shape &shape)
{
    bool lanes = shape.lanes == 4 || shape.lanes == 8 || shape.lanes == 16 || shape.lanes == 32;
    return lanes && shape.warps >= 1 && shape.warps <= 32;
}

void set_batch(csr_args *q, const tsr_cuda_csr_list *list, const tsr_cuda_csr_spmm *product)
{
    const int64_t size = element_size(product);
    q->products = product->batch.count;
    q->x_period = product->batch.values * size;
    q->b_period = product->batch.b * size;
    q->c_period = product->batch.c * size;
    q->partial_period = list->npartials * product->n * size;
    q->a_vectors = q->a_vectors && q->x_period % 16 == 0;
}

csr_args make_args(const tsr_cuda_csr *a, const tsr_cuda_csr_list *list, const tsr_cuda_csr_spmm *product)
{
    csr_args q = {};
    q.items = static_cast<const csr_item *>(list->items);
    q.nitems = list->nitems;
    q.split = static_cast<const csr_split *>(list->split);
    q.nsplit = list->nsplit;
    q.p = a->p;
    q.i = a->i;
    q.x = a->x;
    q.iso = product->iso;
    q.iso_rest = product->iso_rest;
    q.n = product->n;
    q.b = product->b;
    q.b_present = product->b_present;
    q.b_stride = product->ldb * element_size(product);
    q.ldb = product->ldb;
    q.c = product->c;
    q.c_present = product->c_present;
    q.ldc = product->ldc;
    q.alpha = product->alpha;
    q.beta = product->beta;
    q.alpha_im = product->alpha_im;
    q.beta_im = product->beta_im;
    q.conjugate = product->conjugate;
    q.bias = product->bias;
    q.rectified = product->rectified;
    q.partial = product->partial;
    q.partial_present = static_cast<int8_t *>(product->partial) + list->npartials * product->n * sum_size(product);
    q.reads_a = tsr_mul_reads_a(product->semiring.mul) && a->x != nullptr;
    q.reads_b = tsr_mul_reads_b(product->semiring.mul);
    q.ops = { product->semiring.add, product->semiring.mul };
    q.nrows = a->nrows;
    q.a_vectors = reinterpret_cast<uintptr_t>(a->i) % 16 == 0 && reinterpret_cast<uintptr_t>(a->x) % 16 == 0;
    q.ends = static_cast<const csr_ends *>(a->ends);
    q.rows = a->rows;
    q.filled = a->filled;
    if (product->batch.count > 1)
        set_batch(&q, list, product);
    return q;
}

template <class T> uint64_t raw_bits(T x)
{
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof x);
    return bits;
}

uint64_t one(tsr_type type)
{
    return type == TSR_FP32 ? raw_bits(1.0f) : type == TSR_FP64 ? raw_bits(1.0) : 1;
}

/* Semirings with kernels of their own.  `second` is `times` with ones, and `plus` with zeros. */
enum class family { any, half, complex, plus_times, min_plus };

bool is_complex_type(tsr_type type) { return type == TSR_FC32 || type == TSR_FC64; }

family family_of(const tsr_cuda_csr_spmm *product)
{
    const tsr_semiring s = product->semiring;
    const bool second = s.mul == TSR_MUL_SECOND;
    if (product->half)
        return family::half;
    if (is_complex_type(s.type))
        return family::complex;
    if (s.add == TSR_ADD_PLUS && (second || s.mul == TSR_MUL_TIMES))
        return family::plus_times;
    return s.add == TSR_ADD_MIN && (second || s.mul == TSR_MUL_PLUS) ? family::min_plus : family::any;
}

void set_factor(const tsr_cuda_csr_spmm *product, family kind, csr_args *q)
{
    if (product->semiring.mul == TSR_MUL_SECOND)
        q->iso = kind == family::plus_times ? one(product->semiring.type) : kind == family::min_plus ? 0 : q->iso;
}

family choose_family(const tsr_cuda_csr_spmm *product, csr_args *q)
{
    const family kind = product->b_present && !product->half ? family::any : family_of(product);
    set_factor(product, kind, q);
    return kind;
}

/* A bitmap of few columns that is marked first.  Variants are SpMM's. */
bool is_marked(const tsr_cuda_csr *a, const tsr_cuda_csr_spmm *product)
{
    const family kind = family_of(product);
    const bool takes = kind == family::plus_times || kind == family::min_plus, plain = product->alpha == 1 && product->beta == 0;
    return takes && plain && product->b_present && product->variant == 0 && a->nvals > 0 &&
        tsr_csr_takes_marked(product->semiring.type, product->n);
}

size_t partial_bytes(const tsr_cuda_csr *a, const tsr_cuda_csr_spmm *product)
{
    int64_t most = a->spmm.npartials > a->spmv.npartials ? a->spmm.npartials : a->spmv.npartials;
    const size_t products = product->batch.count > 1 ? size_t(product->batch.count) : 1;
    return size_t(most) * size_t(product->n) * size_t(sum_size(product) + (product->b_present != nullptr)) * products;
}

tsr_status run_marked(const tsr_cuda_csr *a, const tsr_cuda_csr_spmm *product, const csr_shape &shape)
{
    const tsr_type type = product->semiring.type;
    const family kind = family_of(product);
    const bool least = kind == family::min_plus;
    csr_args q = make_args(a, product->n == 1 ? &a->spmv : &a->spmm, product);
    set_factor(product, kind, &q);
    tsr_status status = tsr_csr_mark(&q, tsr_csr_marked_rows(product->partial, partial_bytes(a, product), a->ncols, product->n), type,
        product->device, product->stream);
    if (status != TSR_OK)
        return status;
    return product->n == 1 ? tsr_csr_spmv_marked(type, least, q, product->stream) : tsr_csr_marked(type, least, q, shape, product->stream);
}

tsr_status run_spmv(family kind, const csr_args &q, const tsr_cuda_csr_spmm *product)
{
    switch (kind) {
    case family::half: return tsr_csr_spmv_half(product->number, q, product->stream);
    case family::complex: return tsr_csr_spmv_complex(product->semiring.type, q, product->stream);
    case family::plus_times: return tsr_csr_spmv_plus_times(product->semiring.type, q, product->stream);
    case family::min_plus: return tsr_csr_spmv_min_plus(product->semiring.type, q, product->stream);
    default: return TSR_DECLINED;
    }
}

tsr_status run_plus_times(tsr_type type, const csr_args &q, const csr_shape &shape, void *stream)
{
    switch (type) {
    case TSR_FP32: return tsr_csr_fp32(q, shape, stream);
    case TSR_FP64: return tsr_csr_fp64(q, shape, stream);
    default: return tsr_csr_plus_times(type, q, shape, stream);
    }
}

tsr_status run_spmm(family kind, const csr_args &q, const csr_shape &shape, const tsr_cuda_csr_spmm *product)
{
    tsr_type type = product->semiring.type;
    switch (kind) {
    case family::half:
        return product->number == TSR_NUMBER_FP16 ? tsr_csr_fp16(q, shape, product->stream)
                                                  : tsr_csr_bf16(q, shape, product->stream);
    case family::complex: return tsr_csr_complex(type, q, shape, product->stream);
    case family::plus_times: return run_plus_times(type, q, shape, product->stream);
    case family::min_plus: return tsr_csr_min_plus(type, q, shape, product->stream);
    default: return TSR_DECLINED;
    }
}

csr_bits bits_of(const tsr_cuda_csr *a, const tsr_cuda_csr_spmm *product)
{
    return tsr_csr_bits_of(product->semiring, product->b_present != nullptr, product->n, a->nvals, a->nrows, a->ncols);
}

} // namespace

namespace {

bool complex_fits(const tsr_cuda_csr *a, const tsr_cuda_csr_spmm *product)
{
    const size_t size = size_t(element_size(product));
    const auto apart = [size](const void *p) { return reinterpret_cast<uintptr_t>(p) % size != 0; };
    const bool sums = product->semiring.add == TSR_ADD_PLUS && product->semiring.mul == TSR_MUL_TIMES;
    return sums && !product->b_present && !product->c_present && !apart(a->x) && !apart(product->b) && !apart(product->c);
}

/* One launch, in which each product has the bits that it has alone: elements of B come in vectors of the same length.  Where B lies in 16 bytes comes
 * again after at most four products. */
bool batch_fits(const tsr_cuda_csr_spmm *product)
{
    const tsr_type type = product->semiring.type;
    const bool sums = product->semiring.add == TSR_ADD_PLUS && product->semiring.mul == TSR_MUL_TIMES;
    const bool typed = type == TSR_FP32 || type == TSR_FP64 || is_complex_type(type);
    if (!sums || !typed || product->half || product->b_present || product->c_present || product->bias || product->rectified)
        return false;
    const int size = element_size(product), vector = choose_vector(product, size);
    tsr_cuda_csr_spmm other = *product;
    for (int64_t k = 1; k < 4 && k < product->batch.count; k++) {
        other.b = static_cast<const char *>(product->b) + k * product->batch.b * size;
        if (choose_vector(&other, size) != vector)
            return false;
    }
    return product->batch.count <= most_of_batch;
}

} // namespace

/* Enough for any list, and for fewer columns. */
extern "C" size_t tsr_cuda_csr_partial_bytes(const tsr_cuda_csr *a, const tsr_cuda_csr_spmm *product)
{
    const csr_bits bits = bits_of(a, product);
    const size_t by_bits = bits.taken ? tsr_csr_bits_bytes(bits, product->n, a->nrows, a->ncols) : 0;
    size_t partial = partial_bytes(a, product);
    if (is_marked(a, product))
        partial = tsr_csr_marked_bytes(partial, a->ncols, product->n, product->semiring.type);
    return by_bits > partial ? by_bits : partial;
}

extern "C" tsr_status tsr_cuda_spmm_csr(const tsr_cuda_csr *a, const tsr_cuda_csr_spmm *product)
{
    if (a->nrows == 0 || product->n == 0)
        return TSR_OK;
    csr_shape shape = choose_shape(a, product);
    if (!shape_exists(shape) || (is_complex_type(product->semiring.type) && !complex_fits(a, product))
        || (product->batch.count > 1 && !batch_fits(product)))
        return TSR_DECLINED;
    csr_args vector = make_args(a, &a->spmv, product),
             matrix = make_args(a, &a->spmm, product), any = matrix;
    const csr_bits bits = bits_of(a, product);
    if (bits.taken)
        return tsr_csr_by_bits(product->semiring.type, bits, any, a->ncols, a->nvals, product->stream);
    if (is_marked(a, product))
        return run_marked(a, product, shape);
    tsr_status status = TSR_DECLINED;
    if (product->n == 1)
        status = run_spmv(choose_family(product, &vector), vector, product);
    if (product->n == 1 && product->b_present == nullptr && status == TSR_DECLINED)
        status = tsr_csr_spmv_any(product->semiring.type, make_args(a, &a->spmv, product), product->stream);
    if (product->n == 1 && product->b_present != nullptr && product->semiring.add == TSR_ADD_ANY)
        status = tsr_csr_spmv_any(product->semiring.type, any, product->stream);
    if (status == TSR_DECLINED)
        status = run_spmm(choose_family(product, &matrix), matrix, shape, product);
    return status == TSR_DECLINED ? tsr_csr_any(product->semiring.type, any, shape, product->stream) : status;
}

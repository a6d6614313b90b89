/* The BMat kernel against its reference executor.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/cuda/tensor_test.h"

static tsr_status make(tensor_any *out, const tsr_source *in, int shape, double iso)
{
    (void)iso;
    return tsr_make_bmat(&out->bmat, in, shape, 1);
}

static void free_bmat(tensor_any *a) { tsr_free_bmat(&a->bmat); }

static int arrays(tensor_any *a, tsr_number number, tensor_array out[TENSOR_ARRAYS])
{
    tsr_bmat *m = &a->bmat;
    out[0] = (tensor_array){ (void **)&m->mask, sizeof(uint64_t) * (size_t)(m->w.nblocks * m->w.height / 8) };
    out[1] = (tensor_array){ &m->value, tsr_number_size(number) * (size_t)m->w.nvals };
    return 2;
}

static const uint64_t *mask(const tensor_any *a) { return a->bmat.mask; }

static tsr_status run(const tensor_any *a, const tsr_work *work, const tsr_cuda_spmm *product)
{
    return tsr_cuda_spmm_bmat(&a->bmat, work, product);
}

static tsr_status reference(const tensor_any *a, tsr_number number, double iso, int64_t n, const double *b, int64_t ldb,
                            double *c, int64_t ldc, double alpha, double beta, double *magnitude)
{
    return tsr_ref_spmm_bmat(&a->bmat, number, iso, n, b, ldb, c, ldc, alpha, beta, magnitude);
}

int main(int argc, char **argv)
{
    static const tensor_format format = { .name = "test_bmat", .nshapes = 2, .shapes = { 8, 16 }, .nvariants = 17,
        .maths = (1u << TSR_CUDA_MATH_COUNT) - 1, .make = make, .free = free_bmat, .arrays = arrays, .mask = mask, .run = run,
        .reference = reference };
    return tensor_main(argc, argv, &format, 400);
}

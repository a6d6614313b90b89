/* The HRPB kernel against its reference executor.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/cuda/tensor_test.h"

static tsr_status make(tensor_any *out, const tsr_source *in, int shape, double iso)
{
    (void)iso;
    return tsr_make_hrpb(&out->hrpb, in, shape, 1);
}

static void free_format(tensor_any *a) { tsr_free_hrpb(&a->hrpb); }

static int arrays(tensor_any *a, tsr_number number, tensor_array out[TENSOR_ARRAYS])
{
    tsr_hrpb *m = &a->hrpb;
    out[0] = (tensor_array){ (void **)&m->brick, sizeof(int64_t) * (size_t)(m->w.nwindows + 1) };
    out[1] = (tensor_array){ (void **)&m->block_brick, sizeof(uint32_t) * (size_t)m->w.nblocks };
    out[2] = (tensor_array){ (void **)&m->position, (size_t)m->nbricks };
    out[3] = (tensor_array){ (void **)&m->pattern, sizeof(uint64_t) * (size_t)m->nbricks };
    out[4] = (tensor_array){ (void **)&m->brick_entry, sizeof(uint32_t) * (size_t)m->nbricks };
    out[5] = (tensor_array){ &m->value, tsr_number_size(number) * (size_t)m->w.nvals };
    return 6;
}

static tsr_status run(const tensor_any *a, const tsr_work *work, const tsr_cuda_spmm *product)
{
    return tsr_cuda_spmm_hrpb(&a->hrpb, work, product);
}

static tsr_status reference(const tensor_any *a, tsr_number number, double iso, int64_t n, const double *b, int64_t ldb,
                            double *c, int64_t ldc, double alpha, double beta, double *magnitude)
{
    return tsr_ref_spmm_hrpb(&a->hrpb, number, iso, n, b, ldb, c, ldc, alpha, beta, magnitude);
}

int main(int argc, char **argv)
{
    static const tensor_format format = { .name = "test_hrpb", .nshapes = 3, .shapes = { 16, 32, 64 }, .nvariants = 24,
        .maths = (1u << TSR_CUDA_MATH_COUNT) - 1, .make = make, .free = free_format, .arrays = arrays, .run = run,
        .reference = reference };
    return tensor_main(argc, argv, &format, 400);
}

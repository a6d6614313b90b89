/* The ME-BCRS kernel against its reference executor.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/cuda/tensor_test.h"

/* The kernel takes one width per number. */
static tsr_status make(tensor_any *out, const tsr_source *in, int shape, double iso)
{
    (void)shape;
    return tsr_make_me_bcrs(&out->me_bcrs, in, tsr_number_size(in->number) == 2 ? 16 : 8, iso, 1);
}

static void free_me_bcrs(tensor_any *a) { tsr_free_me_bcrs(&a->me_bcrs); }

static int arrays(tensor_any *a, tsr_number number, tensor_array out[TENSOR_ARRAYS])
{
    tsr_me_bcrs *m = &a->me_bcrs;
    out[0] = (tensor_array){ &m->value, 8 * tsr_number_size(number) * (size_t)m->w.nvectors };
    return 1;
}

static tsr_status run(const tensor_any *a, const tsr_work *work, const tsr_cuda_spmm *product)
{
    return tsr_cuda_spmm_me_bcrs(&a->me_bcrs, work, product);
}

static tsr_status reference(const tensor_any *a, tsr_number number, double iso, int64_t n, const double *b, int64_t ldb,
                            double *c, int64_t ldc, double alpha, double beta, double *magnitude)
{
    (void)iso;
    return tsr_ref_spmm_me_bcrs(&a->me_bcrs, number, n, b, ldb, c, ldc, alpha, beta, magnitude);
}

/* Small matrices are split more finely, large ones less. */
static bool most_is_right(void)
{
    static const int64_t nblocks[] = { 0, 24 * 100 * 50, 24 * 100 * 64, 24 * 100 * 2000 }, most[] = { 32, 50, 64, 200 };
    tsr_cuda_device device = { .sms = 100 };
    for (int k = 0; k < 4; k++)
        if (tsr_cuda_me_bcrs_most(&(tsr_windows){ .nblocks = nblocks[k] }, &device) != most[k])
            return false;
    return true;
}

int main(int argc, char **argv)
{
    if (!most_is_right()) {
        fprintf(stderr, "tsr_cuda_me_bcrs_most: unexpected\n");
        return 1;
    }
    static const tensor_format format = { .name = "test_me_bcrs", .nshapes = 1, .shapes = { 0 }, .nvariants = 9,
        .maths = (1u << TSR_CUDA_MATH_COUNT) - 1, .make = make, .free = free_me_bcrs, .arrays = arrays, .run = run,
        .reference = reference };
    return tensor_main(argc, argv, &format, 400);
}

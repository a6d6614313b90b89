/* The ME-TCF kernel against its reference executor.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/cuda/tensor_test.h"

static tsr_status make(tensor_any *out, const tsr_source *in, int shape, double iso)
{
    (void)iso;
    (void)shape;
    return tsr_make_me_tcf(&out->me_tcf, in, 1);
}

static void free_format(tensor_any *a) { tsr_free_me_tcf(&a->me_tcf); }

static int arrays(tensor_any *a, tsr_number number, tensor_array out[TENSOR_ARRAYS])
{
    tsr_me_tcf *m = &a->me_tcf;
    out[0] = (tensor_array){ (void **)&m->block_entry, sizeof(uint32_t) * (size_t)m->w.nblocks };
    out[1] = (tensor_array){ (void **)&m->local, (size_t)m->w.nvals };
    out[2] = (tensor_array){ &m->value, tsr_number_size(number) * (size_t)m->w.nvals };
    return 3;
}

static tsr_status run(const tensor_any *a, const tsr_work *work, const tsr_cuda_spmm *product)
{
    return tsr_cuda_spmm_me_tcf(&a->me_tcf, work, product);
}

static tsr_status reference(const tensor_any *a, tsr_number number, double iso, int64_t n, const double *b, int64_t ldb,
                            double *c, int64_t ldc, double alpha, double beta, double *magnitude)
{
    return tsr_ref_spmm_me_tcf(&a->me_tcf, number, iso, n, b, ldb, c, ldc, alpha, beta, magnitude);
}

/* Windows of which window `at` has `longest` blocks, the others at most one.  0: what the device finds and what is made of it are
 * right. */
static int check_most(const tsr_cuda_device *device, int64_t nwindows, int64_t at, int64_t longest, int64_t height)
{
    tsr_windows w = { .height = (int32_t)height, .nwindows = nwindows };
    int64_t *block = tensor_alloc(sizeof(int64_t) * (size_t)(nwindows + 1)), found = -1;
    for (int64_t v = 0; v < nwindows; v++)
        block[v + 1] = block[v] + (v == at ? longest : longest > 0 && v % 2);
    w.nblocks = block[nwindows];
    w.block = tensor_upload(block, sizeof(int64_t) * (size_t)(nwindows + 1), NULL);
    tensor_check(tsr_cuda_longest_window(&found, &w, NULL), "tsr_cuda_longest_window");
    int64_t most = tsr_cuda_me_tcf_most(&w, found, device), waves = tsr_cuda_hrpb_most(&w, found, device);
    bool good = found == (nwindows ? longest : 0) && most >= 1 && waves >= 1 && most <= (longest > 32 ? longest : 32);
    if (!good)
        fprintf(stderr, "%lld windows, longest %lld at %lld: found %lld, most %lld and %lld\n", (long long)nwindows,
                (long long)longest, (long long)at, (long long)found, (long long)most, (long long)waves);
    tsr_cuda_free(w.block, NULL);
    free(block);
    return !good;
}

static int check_mosts(void)
{
    tsr_cuda_device device;
    tensor_check(tsr_cuda_open(0, &device), "tsr_cuda_open");
    static const int64_t counts[] = { 0, 1, 2, 31, 33, 257, 5000 }, longests[] = { 0, 1, 7, 64, 1000, 1000000 };
    int failed = 0;
    for (int k = 0; k < 7; k++)
        for (int j = 0; j < 6; j++)
            for (int64_t height = 16; height <= 64; height *= 2)
                failed += check_most(&device, counts[k], counts[k] * j / 6, longests[j], height);
    return failed;
}

int main(int argc, char **argv)
{
    static const tensor_format format = { .name = "test_me_tcf", .nshapes = 1, .shapes = { 16 }, .nvariants = 24,
        .maths = (1u << TSR_CUDA_MATH_COUNT) - 1, .make = make, .free = free_format, .arrays = arrays, .run = run,
        .reference = reference };
    if (tsr_cuda_count() > 0 && argc == 1 && check_mosts() != 0)
        return 1;
    return tensor_main(argc, argv, &format, 400);
}

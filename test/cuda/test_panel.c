/* The panel kernel against its reference executor; B may hold anything.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/cuda/tensor_test.h"

/* The number of A's values: B alone may have 16 bits. */
static tsr_number stored_number(tsr_number number)
{
    return tsr_number_size(number) == 2 ? TSR_NUMBER_FP32 : number;
}

/* shape: height and width */
static tsr_status make(tensor_any *out, const tsr_source *in, int shape, double iso)
{
    tsr_source source = *in;
    float *wide = NULL;
    source.number = stored_number(in->number);
    if (in->x && source.number != in->number) {
        source.x = wide = tensor_alloc(sizeof *wide * (size_t)in->nvals);
        for (int64_t k = 0; k < in->nvals; k++)
            wide[k] = (float)tsr_ref_number(in->x, in->number, k);
    }
    tsr_status status = tsr_make_panel(&out->panel, &source, shape / 100, shape % 100, iso, 1);
    free(wide);
    return status;
}

static void free_format(tensor_any *a) { tsr_free_panel(&a->panel); }

static int arrays(tensor_any *a, tsr_number number, tensor_array out[TENSOR_ARRAYS])
{
    tsr_panel *m = &a->panel;
    (void)number;
    out[0] = (tensor_array){ (void **)&m->begin, sizeof(int64_t) * (size_t)(m->w.nblocks + 1) };
    out[1] = (tensor_array){ (void **)&m->first, sizeof(int64_t) * (size_t)(m->w.nblocks + 1) };
    out[2] = (tensor_array){ &m->data, TSR_PANEL_UNIT * (size_t)(m->nunits + 1) };
    return 3;
}

static tsr_status run(const tensor_any *a, const tsr_work *work, const tsr_cuda_spmm *product)
{
    return tsr_cuda_spmm_panel(&a->panel, work, product);
}

static tsr_status reference(const tensor_any *a, tsr_number number, double iso, int64_t n, const double *b, int64_t ldb, double *c,
                            int64_t ldc, double alpha, double beta, double *magnitude)
{
    (void)iso;
    return tsr_ref_spmm_panel(&a->panel, stored_number(number), n, b, ldb, c, ldc, alpha, beta, magnitude);
}

int main(int argc, char **argv)
{
    static const tensor_format format = { .name = "test_panel", .nshapes = 2, .shapes = { 3224, 6448 }, .nvariants = 2,
        .maths = (1u << TSR_CUDA_MATH_COUNT) - 1, .any_b = true, .finishes = true, .make = make, .free = free_format,
        .arrays = arrays, .run = run, .reference = reference };
    return tensor_main(argc, argv, &format, 400);
}

/* The kernels for sparse times full products on a GPU, by the names of TESSERA_KERNEL: the one list of them, which the model, the plug-in's table
 * (backends/cuda/spmm/kernel_table.c), tools, benchmarks and tests read.  tsr_backend_kernel lists them with those of other operations.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_GPU_KERNELS_H
#define TSR_GPU_KERNELS_H

#include <stdbool.h>

/* X (format, its name).  The functions of each are in backends/cuda/spmm/formats. */
#define TSR_GPU_FORMAT_LIST(X) \
    X(csr, "csr") X(panel, "panel") X(me_tcf, "me-tcf") X(me_bcrs, "me-bcrs") X(hrpb, "hrpb") X(bmat, "bmat") X(hybrid, "hybrid") \
    TSR_GPU_CSR_LIST(TSR_GPU_CSR_FORMAT, X)
#define TSR_GPU_CSR_FORMAT(X, id, format, name) X(format, name)

/* X (identifier, name, format, its name, rows of a window, condensed columns of a block, automatic).  The name of a format alone means its
 * first line.  automatic: false for what was never the fastest on a recorded matrix (docs/kernels.md): computed with only when it is named. */

/* Those that models have coefficients for. */
#define TSR_GPU_MODEL_LIST(X) \
    X(CSR,      "csr",      csr,     "csr",     1,  0,  true) \
    X(PANEL_32, "panel-32", panel,   "panel",   32, 24, true) \
    X(PANEL_64, "panel-64", panel,   "panel",   64, 48, true) \
    X(ME_TCF,   "me-tcf",   me_tcf,  "me-tcf",  16, 8,  false) \
    X(ME_BCRS,  "me-bcrs",  me_bcrs, "me-bcrs", 8,  8,  true) \
    X(HRPB_16,  "hrpb-16",  hrpb,    "hrpb",    16, 16, true) \
    X(HRPB_32,  "hrpb-32",  hrpb,    "hrpb",    32, 16, false) \
    X(BMAT_8,   "bmat-8",   bmat,    "bmat",    8,  8,  true) \
    X(BMAT_16,  "bmat-16",  bmat,    "bmat",    16, 8,  true)

/* Hybrid is priced by its two halves, and has windows of the height of one. */
#define TSR_GPU_OTHER_LIST(X) \
    X(HYBRID,   "hybrid",   hybrid,  "hybrid",  0,  8,  true) \
    X(HRPB_64,  "hrpb-64",  hrpb,    "hrpb",    64, 16, false)

/* Row (X, identifier, format, its name).  Other kernels for A as csr has it, by name only.  Each is tsr_cuda_spmm_<format>, a
 * tsr_cuda_csr_kernel (kernels/cuda/common/cuda_kernels.h). */
#define TSR_GPU_CSR_LIST(Row, X) \
    Row(X, ROW_SPLIT, row_split, "row-split")
#define TSR_GPU_CSR_FORM(X, id, format, name) X(id, name, format, name, 1, 0, false)

#define TSR_GPU_FORM_LIST(X) TSR_GPU_MODEL_LIST(X) TSR_GPU_OTHER_LIST(X) TSR_GPU_CSR_LIST(TSR_GPU_CSR_FORM, X)

#define TSR_GPU_ENUMERATOR(id, name, format, format_name, height, width, automatic) TSR_GPU_##id,
typedef enum tsr_gpu_kernel {
    TSR_GPU_MODEL_LIST(TSR_GPU_ENUMERATOR)
    TSR_GPU_KERNELS, /* of models */
    TSR_GPU_LAST_OF_MODELS = TSR_GPU_KERNELS - 1,
    TSR_GPU_OTHER_LIST(TSR_GPU_ENUMERATOR)
    TSR_GPU_CSR_LIST(TSR_GPU_CSR_FORM, TSR_GPU_ENUMERATOR)
    TSR_FORMS
} tsr_gpu_kernel;
#undef TSR_GPU_ENUMERATOR

/* Sets of them are bits. */
#define TSR_FORM_BIT(form) (1u << (form))
#define TSR_ALL_FORMS (TSR_FORM_BIT(TSR_FORMS) - 1)

#define TSR_GPU_AUTOMATIC_BIT(id, name, format, format_name, height, width, automatic) | ((automatic) ? TSR_FORM_BIT(TSR_GPU_##id) : 0u)
enum { TSR_AUTOMATIC_FORMS = 0u TSR_GPU_FORM_LIST(TSR_GPU_AUTOMATIC_BIT) };
#undef TSR_GPU_AUTOMATIC_BIT

extern const char *const tsr_gpu_kernel_names[TSR_FORMS];  /* "csr", "panel-32", … */
extern const char *const tsr_gpu_format_names[TSR_FORMS];  /* "csr", "panel", … */
int tsr_gpu_kernel_height(tsr_gpu_kernel kernel);

/* The kernel of that name: "panel-64"; "panel", the first of its format; "csr-…" and "hybrid-…" as well.  -1: there is none. */
int tsr_gpu_find_kernel(const char *name);

#endif

/* What the GPU plug-in asks for its work.  Its price is its own (backends/cuda/price): the library has that part linked in, so that asking
 * neither loads the plug-in nor starts CUDA.  Pure functions.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_GPU_PRICE_H
#define TSR_GPU_PRICE_H

#include "src/policy/price/route.h"
#include "src/policy/price/selection.h"
#include "src/policy/price/sparse_product.h"

/* Once per process: the driver is loaded, the device opened, staging memory made. */
#define TSR_GPU_START_MS 250.0

/* Beside the program that takes 100 ms from it: 10 or so for pages that wait for the driver's, and 90 at its end (H200: a process that sleeps for a
 * second takes .09 more). */
#define TSR_GPU_START_BESIDE_MS 100.0
/* Of the time that a program has run already: nobody notices that much.  Something must have been lost in any case, and not by the first call
 * alone. */
#define TSR_GPU_START_SHARE 0.03
/* Calls that gain less than this share of the time that passes do not count. */
#define TSR_GPU_START_GAIN 0.1
#define TSR_GPU_START_LEAST_MS 12.0

double tsr_predict_gpu_ms(const tsr_features *f);      /* B and C across PCIe, and A unless a_on_device */
double tsr_predict_download_ms(const tsr_features *f); /* B, which only the GPU has, is downloaded for another route */

double tsr_compressed_download_ms(double bytes);       /* sparse contents that only the GPU has */

/* Sparse times sparse, C being unmasked, and downloaded in the end unless it stays. */
double tsr_sparse_product_gpu_ms(const tsr_sparse_product_features *f);

/* A selection or an extraction whose result stays. */
double tsr_pick_gpu_ms(const tsr_pick_features *f);

/* Pinned memory across the bus, both ways at once. */
double tsr_gpu_crossing_ms(double up_bytes, double down_bytes);

#endif

/* The picture of a matrix: its entries, its row windows, its degrees.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_INSPECT_PLOT_H
#define TSR_INSPECT_PLOT_H

#include "tools/tessera/matrix/inspect.h"
#include "tools/tessera/common/plot.h"

/* Three parts: the spy picture, coloured by the route of each row window; the windows by sparsity and nonzero columns, with the border
 * between the routes (after Fig. 8 of HC-SpMM); rows by number of entries.  Exit codes as tsr_plot_begin. */
int tsr_inspect_plot(const tsr_inspection *inspection, const tsr_mm_csr *a, const char *path_of_matrix, const char *path);

#endif

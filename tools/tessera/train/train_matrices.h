/* The matrices that models are trained on: many equal row windows, and graphs and meshes of several kinds.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_TRAIN_MATRICES_H
#define TSR_TRAIN_MATRICES_H

#include "tools/tessera/train/fit/sample.h"
#include "src/format/blocks/formats.h"

/* A matrix by row; its arrays are by malloc.  Columns ascend in every row. */
typedef struct tsr_train_matrix {
    tsr_sample_role role;
    char name[48];
    int height; /* of its equal windows; 0: it has none */
    int64_t nrows, ncols, nvals;
    int64_t *p;
    uint32_t *i;
} tsr_train_matrix;

/* A window of rows without its places: bit r of vector[k] = row r has an entry in its k-th nonzero vector. */
typedef struct tsr_train_window {
    int height;    /* 8 or 16 */
    int64_t count; /* nonzero vectors, at least 1 */
    uint16_t *vector;
} tsr_train_window;

/* Made-up windows (HC-SpMM, section IV-C): number `at` of all; false: there are no more, or no memory (then count is 0). */
bool tsr_train_make_window(tsr_train_window *window, char name[48], int at);
/* Window number v of a matrix, `height` rows from v * height on.  False: it has no entry, or no memory. */
bool tsr_train_take_window(tsr_train_window *window, const tsr_train_matrix *of, int height, int64_t v);
void tsr_train_window_free(tsr_train_window *window);

/* As many copies of the window as give work for a large device, divided by `shrink`, their nonzero vectors spread over all columns.
 * False: no memory. */
bool tsr_train_repeat(tsr_train_matrix *out, const tsr_train_window *window, int shrink);

const char *tsr_train_graph_name(int at); /* NULL: there are no more */
/* Graph number `at`, its rows divided by `shrink`.  False: no memory. */
bool tsr_train_graph(tsr_train_matrix *out, int at, int shrink);

void tsr_train_matrix_free(tsr_train_matrix *matrix);

#endif

/* A Matrix Market file as commands use it: read with a progress bar, compressed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_MATRIX_FILE_H
#define TSR_MATRIX_FILE_H

#include "tools/tessera/matrix/inspect.h"

typedef struct tsr_matrix_file {
    tsr_mm mm;      /* as the file lists it */
    tsr_mm_csr csr; /* compressed rows */
} tsr_matrix_file;

/* 0, or an exit code after one line on stderr; *file is empty then. */
int tsr_matrix_file_read(tsr_matrix_file *file, const char *path);
/* The same by tsr_mm_to_rows. */
int tsr_matrix_file_read_rows(tsr_matrix_file *file, const char *path);
/* tsr_inspect of it, with a progress bar. */
tsr_status tsr_matrix_file_inspect(tsr_inspection *inspection, const tsr_matrix_file *file);
void tsr_matrix_file_free(tsr_matrix_file *file);

#endif

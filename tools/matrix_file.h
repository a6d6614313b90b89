/* A Matrix Market file as commands use it: read with a progress bar, compressed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_MATRIX_FILE_H
#define TSR_MATRIX_FILE_H

#include "tools/mm.h"

typedef struct tsr_matrix_file {
    tsr_mm mm;      /* as the file lists it */
    tsr_mm_csr csr; /* compressed rows */
} tsr_matrix_file;

/* 0, or an exit code after one line on stderr; *file is empty then. */
int tsr_matrix_file_read(tsr_matrix_file *file, const char *path);
void tsr_matrix_file_free(tsr_matrix_file *file);

#endif

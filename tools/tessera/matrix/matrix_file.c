/* Read a matrix for a command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tools/tessera/matrix/matrix_file.h"

#include <omp.h>

#include "tools/tessera/common/progress.h"
#include "tools/tessera/common/tool.h"

static void show(void *bar, double share)
{
    tsr_progress_at(bar, share);
}

typedef bool compress(tsr_mm_csr *out, const tsr_mm *m, char *error, size_t error_size);

static int read_file(tsr_matrix_file *file, const char *path, compress *to_csr)
{
    char error[512];
    tsr_progress bar;
    *file = (tsr_matrix_file){0};
    tsr_progress_begin(&bar, "reading");
    bool good = tsr_mm_read_reporting(&file->mm, path, show, &bar, error, sizeof error);
    tsr_progress_end(&bar);
    if (!good) {
        return tsr_tool_fail(TSR_EXIT_FILE, "%s", error);
    }
    if (!to_csr(&file->csr, &file->mm, error, sizeof error)) {
        tsr_mm_free(&file->mm);
        return tsr_tool_fail(TSR_EXIT_FILE, "%s: %s", path, error);
    }
    return 0;
}

int tsr_matrix_file_read(tsr_matrix_file *file, const char *path)
{
    return read_file(file, path, tsr_mm_to_csr);
}

int tsr_matrix_file_read_rows(tsr_matrix_file *file, const char *path)
{
    return read_file(file, path, tsr_mm_to_rows);
}

tsr_status tsr_matrix_file_inspect(tsr_inspection *inspection, const tsr_matrix_file *file)
{
    tsr_progress bar;
    tsr_progress_begin(&bar, "looking at windows");
    tsr_status status = tsr_inspect_reporting(inspection, &file->csr, omp_get_max_threads(), show, &bar);
    tsr_progress_end(&bar);
    return status;
}

void tsr_matrix_file_free(tsr_matrix_file *file)
{
    tsr_mm_csr_free(&file->csr);
    tsr_mm_free(&file->mm);
}

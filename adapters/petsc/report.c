/* What the plug-in tells: events for -log_view, what was taken and why not for -tessera_view.
 * SPDX-License-Identifier: Apache-2.0 */
#include "petsc_plugin.h"

tsr_petsc_options tsr_petsc_settings = {.min_columns = 8};

PetscLogEvent tsr_petsc_event_ids[TSR_PETSC_EVENTS];

PetscErrorCode tsr_petsc_events_register(void)
{
    static const char *const names[TSR_PETSC_EVENTS] = {"TesseraMult", "TesseraPack", "TesseraAdd", "TesseraSetup"};

    PetscFunctionBegin;
    for (int k = 0; k < TSR_PETSC_EVENTS; k++) {
        PetscCall(PetscLogEventRegister(names[k], MAT_CLASSID, &tsr_petsc_event_ids[k]));
    }
    PetscFunctionReturn(0);
}

/* ---- counts ---- */

enum { MOST_LINES = 32 };
static struct line {
    const char *what, *why;
    PetscInt64 count;
} lines[MOST_LINES];

void tsr_petsc_count(const char *what, const char *why)
{
    for (int k = 0; k < MOST_LINES; k++) {
        if (!lines[k].what) {
            lines[k].what = what;
            lines[k].why = why;
        }
        if (lines[k].what == what && lines[k].why == why) {
            lines[k].count++;
            return;
        }
    }
}

static PetscInt64 rows_received;

void tsr_petsc_count_rows(PetscInt rows)
{
    rows_received += rows;
}

/* Of all processes, each of which has products. */
static PetscErrorCode view_rows(void)
{
    PetscInt64 sum = 0;

    PetscFunctionBegin;
    PetscCallMPI(MPI_Reduce(&rows_received, &sum, 1, MPIU_INT64, MPI_SUM, 0, PETSC_COMM_WORLD));
    if (sum > 0) {
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  rows of dense matrices that travelled between processes: %lld\n", (long long)sum));
    }
    PetscFunctionReturn(0);
}

PetscErrorCode tsr_petsc_view(void)
{
    PetscFunctionBegin;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Tessera %s in PETSc, products of process 0:\n", tsr_version()));
    if (!lines[0].what) {
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  none of sparse and dense matrices reached it\n"));
    }
    for (int k = 0; k < MOST_LINES && lines[k].what; k++) {
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %-22s %8lld %s%s\n", lines[k].what, (long long)lines[k].count,
                              lines[k].why ? "left to PETSc: " : "computed", lines[k].why ? lines[k].why : ""));
    }
    PetscCall(view_rows());
    PetscFunctionReturn(0);
}

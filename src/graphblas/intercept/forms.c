/* Sparsity controls that wait: of contents that a device has, or of a host's object whose form would fill memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "src/graphblas/intercept/door.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/intercept/options.h"

/* The control that was promised while contents are on the device; 0: none was. */
int32_t tsr_form_promised(const void *handle)
{
    tsr_record *record = tsr_table_get(handle, false);
    const int32_t form = record ? tsr_record_form(record) : 0;
    tsr_record_unref(record);
    return form;
}

int32_t tsr_form_control(GrB_Matrix C)
{
    int32_t control = 0;
    const int32_t form = tsr_form_promised(C);
    if (form)
        return form;
    return tsr_option_get_int32(C, GxB_SPARSITY_CONTROL, &control) == GrB_SUCCESS ? control : 0;
}

void tsr_form_set(const void *handle, int32_t form)
{
    tsr_record *record = tsr_table_get(handle, false);
    if (record)
        tsr_record_set_form(record, form);
    tsr_record_unref(record);
}

bool tsr_form_promise(GrB_Matrix C, int32_t control)
{
    tsr_record *record = tsr_table_get(C, true);
    tsr_record_unref(record);
    tsr_form_set(C, control);
    return record;
}

bool tsr_form_waits(const void *handle)
{
    return (tsr_busy() & TSR_BUSY_FORMS) && tsr_form_promised(handle) && !tsr_defer_is_target(handle);
}

static pthread_mutex_t settling = PTHREAD_MUTEX_INITIALIZER;

/* Arrays move, so that what waits with them as operands runs first. */
static void settle_record(const void *handle, tsr_record *record)
{
    pthread_mutex_lock(&settling);
    const int32_t form = tsr_record_form(record);
    if (form) {
        tsr_quiet_begin();
        tsr_option_set_int32((GrB_Matrix)handle, GxB_SPARSITY_CONTROL, form);
        tsr_quiet_end();
    }
    tsr_record_set_form(record, 0);
    pthread_mutex_unlock(&settling);
}

void tsr_settle_form(const void *handle)
{
    if (!tsr_form_promised(handle))
        return;
    tsr_defer_before_write(handle);
    tsr_record *record = tsr_table_get(handle, false);
    if (record)
        settle_record(handle, record);
    tsr_record_unref(record);
}

static bool settle_left(const void *handle, tsr_record *record)
{
    settle_record(handle, record);
    return true;
}

void tsr_settle_all(void)
{
    if (tsr_busy() & TSR_BUSY_FORMS)
        tsr_table_each(settle_left);
}

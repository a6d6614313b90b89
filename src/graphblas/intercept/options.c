/* Options of objects, read and set without going through wrappers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/intercept/options.h"

#include <pthread.h>

#include "src/graphblas/intercept/door.h"

#if GxB_IMPLEMENTATION_MAJOR >= 10

static GrB_Scalar number; /* one for all calls: the mutex is held */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static GrB_Info make_number(void)
{
    const GrB_Type *type = tsr_real_symbol("GrB_FP64");
    return number ? GrB_SUCCESS : type ? tsr_real.GrB_Scalar_new(&number, *type) : GrB_PANIC;
}

GrB_Info tsr_option_get_int32(GrB_Matrix handle, int field, int32_t *value)
{
    return tsr_real.GrB_Matrix_get_INT32(handle, value, field);
}

GrB_Info tsr_option_set_int32(GrB_Matrix handle, int field, int32_t value)
{
    return tsr_real.GrB_Matrix_set_INT32(handle, value, field);
}

GrB_Info tsr_option_get_fp64(GrB_Matrix handle, int field, double *value)
{
    pthread_mutex_lock(&mutex);
    GrB_Info info = make_number();
    if (info == GrB_SUCCESS)
        info = tsr_real.GrB_Matrix_get_Scalar(handle, number, field);
    if (info == GrB_SUCCESS)
        info = tsr_real.GrB_Scalar_extractElement_FP64(value, number);
    pthread_mutex_unlock(&mutex);
    return info;
}

GrB_Info tsr_option_set_fp64(GrB_Matrix handle, int field, double value)
{
    pthread_mutex_lock(&mutex);
    GrB_Info info = make_number();
    if (info == GrB_SUCCESS)
        info = tsr_real.GrB_Scalar_setElement_FP64(number, value);
    if (info == GrB_SUCCESS)
        info = tsr_real.GrB_Matrix_set_Scalar(handle, number, field);
    pthread_mutex_unlock(&mutex);
    return info;
}

bool tsr_option_is_read_only(GrB_Matrix handle)
{
    int32_t is = 0;
    return tsr_real.GrB_Matrix_get_INT32(handle, &is, GxB_IS_READONLY) == GrB_SUCCESS && is;
}

void tsr_options_end(void)
{
    if (number)
        tsr_real.GrB_Scalar_free(&number);
}

#else

GrB_Info tsr_option_get_int32(GrB_Matrix handle, int field, int32_t *value)
{
    return tsr_real.GxB_Matrix_Option_get_INT32(handle, (GxB_Option_Field)field, value);
}

GrB_Info tsr_option_set_int32(GrB_Matrix handle, int field, int32_t value)
{
    return tsr_real.GxB_Matrix_Option_set_INT32(handle, (GxB_Option_Field)field, value);
}

GrB_Info tsr_option_get_fp64(GrB_Matrix handle, int field, double *value)
{
    return tsr_real.GxB_Matrix_Option_get_FP64(handle, (GxB_Option_Field)field, value);
}

GrB_Info tsr_option_set_fp64(GrB_Matrix handle, int field, double value)
{
    return tsr_real.GxB_Matrix_Option_set_FP64(handle, (GxB_Option_Field)field, value);
}

bool tsr_option_is_read_only(GrB_Matrix handle)
{
    (void)handle;
    return false;
}

void tsr_options_end(void)
{
}

#endif

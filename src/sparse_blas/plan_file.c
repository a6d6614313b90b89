/* Plans as files hold them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/sparse_blas/plan_file.h"

#include <stdbool.h>
#include <string.h>

#include "src/runtime/paths.h"

static const char magic[8] = "TSRPLAN";
enum { VERSION = 8, NUMBERS = 24, KERNEL = NUMBERS + 8 * (int)TSR_PLAN_FIELD_COUNT, SUM = KERNEL + 32 };

static const struct {
    int64_t least, most;
} bounds[] = {
#define BOUNDS(name, least, most) {least, most},
    TSR_PLAN_FIELDS(BOUNDS)
#undef BOUNDS
};
_Static_assert(sizeof bounds / sizeof *bounds == TSR_PLAN_FIELD_COUNT, "members of tsr_saved_plan have 8 bytes");

/* ---- numbers, least byte first ---- */

static void put(unsigned char *at, uint64_t number)
{
    for (int k = 0; k < 8; k++) {
        at[k] = (unsigned char)(number >> 8 * k);
    }
}

static uint64_t get(const unsigned char *at)
{
    uint64_t number = 0;
    for (int k = 0; k < 8; k++) {
        number |= (uint64_t)at[k] << 8 * k;
    }
    return number;
}

/* FNV-1a. */
static uint64_t sum_of(const unsigned char *bytes)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (int k = 0; k < SUM; k++) {
        sum = (sum ^ bytes[k]) * UINT64_C(0x100000001b3);
    }
    return sum;
}

void tsr_plan_file_print(unsigned char bytes[TSR_PLAN_FILE_BYTES], const tsr_saved_plan *plan)
{
    int64_t numbers[TSR_PLAN_FIELD_COUNT];
    memcpy(numbers, plan, sizeof numbers);
    memset(bytes, 0, TSR_PLAN_FILE_BYTES);
    memcpy(bytes, magic, sizeof magic);
    strncpy((char *)bytes + VERSION, TSR_VERSION_TEXT, NUMBERS - VERSION - 1);
    for (size_t k = 0; k < TSR_PLAN_FIELD_COUNT; k++) {
        put(bytes + NUMBERS + 8 * k, (uint64_t)numbers[k]);
    }
    memcpy(bytes + KERNEL, plan->kernel, strnlen(plan->kernel, sizeof plan->kernel - 1));
    put(bytes + SUM, sum_of(bytes));
}

static bool is_name(const unsigned char name[32])
{
    const size_t length = strnlen((const char *)name, 32);
    for (size_t k = 0; k < length; k++) {
        if (!(name[k] == '-' || name[k] == '_' || (name[k] >= '0' && name[k] <= '9') || (name[k] >= 'a' && name[k] <= 'z'))) {
            return false;
        }
    }
    return length < 32;
}

static bool has_numbers(tsr_saved_plan *plan, const unsigned char *bytes)
{
    int64_t numbers[TSR_PLAN_FIELD_COUNT];
    bool good = true;
    for (size_t k = 0; k < TSR_PLAN_FIELD_COUNT; k++) {
        numbers[k] = (int64_t)get(bytes + NUMBERS + 8 * k);
        good = good && numbers[k] >= bounds[k].least && numbers[k] <= bounds[k].most;
    }
    memcpy(plan, numbers, sizeof numbers);
    return good;
}

tsr_status tsr_plan_file_parse(tsr_saved_plan *plan, const unsigned char *bytes, size_t size, const char **why)
{
    char version[NUMBERS - VERSION] = "";
    strncpy(version, TSR_VERSION_TEXT, sizeof version - 1);
    *why = "it is not a plan";
    if (size < NUMBERS || memcmp(bytes, magic, sizeof magic) != 0) {
        return TSR_IO_ERROR;
    }
    if (memcmp(bytes + VERSION, version, sizeof version) != 0) {
        *why = "another version of the library wrote it";
        return TSR_NOT_SUPPORTED;
    }
    *why = "it is damaged";
    if (size != TSR_PLAN_FILE_BYTES || get(bytes + SUM) != sum_of(bytes) || !has_numbers(plan, bytes) || !is_name(bytes + KERNEL)) {
        return TSR_IO_ERROR;
    }
    memcpy(plan->kernel, bytes + KERNEL, sizeof plan->kernel);
    return TSR_OK;
}

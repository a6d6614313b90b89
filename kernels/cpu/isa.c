/* Which instruction set the kernels use.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernels.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN (-1)

static atomic_int current = UNKNOWN;

const char *tsr_isa_name(tsr_isa isa)
{
    static const char *const names[] = { "baseline", "avx2", "avx512" };
    return (unsigned)isa < 3 ? names[isa] : "unknown";
}

static tsr_isa best_of_machine(void)
{
#ifdef TSR_HAVE_X86_ISA
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2"))
        return TSR_ISA_BASELINE;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
        return TSR_ISA_AVX512;
    return TSR_ISA_AVX2;
#else
    return TSR_ISA_BASELINE;
#endif
}

/* TESSERA_CPU_ISA, or the most there is; a wrong value is named once and ignored. */
static tsr_isa limit_of_environment(void)
{
    const char *text = getenv("TESSERA_CPU_ISA");
    if (text == NULL || *text == '\0')
        return TSR_ISA_AVX512;
    for (int isa = TSR_ISA_BASELINE; isa <= TSR_ISA_AVX512; isa++)
        if (strcmp(text, tsr_isa_name((tsr_isa)isa)) == 0)
            return (tsr_isa)isa;
    fprintf(stderr, "tessera: TESSERA_CPU_ISA=%s is not one of baseline, avx2, avx512: ignored\n", text);
    return TSR_ISA_AVX512;
}

static tsr_isa smaller(tsr_isa a, tsr_isa b)
{
    return a < b ? a : b;
}

tsr_isa tsr_cpu_isa(void)
{
    int isa = atomic_load_explicit(&current, memory_order_relaxed);
    if (isa != UNKNOWN)
        return (tsr_isa)isa;
    int first = (int)smaller(best_of_machine(), limit_of_environment());
    atomic_compare_exchange_strong(&current, &isa, first);
    return (tsr_isa)atomic_load(&current);
}

void tsr_cpu_limit_isa(tsr_isa most)
{
    atomic_store(&current, (int)smaller(best_of_machine(), most));
}

/* Which instruction set the kernels use.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "kernels/kernels.h"

#ifdef TSR_HAVE_X86_ISA
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif
#include <cpuid.h>
#endif
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN (-1)

static atomic_int current = UNKNOWN;

const char *tsr_isa_name(tsr_isa isa)
{
    static const char *const names[] = { "baseline", "avx2", "avx512" };
    return (unsigned)isa < 3 ? names[isa] : "unknown";
}

#if defined TSR_HAVE_X86_ISA && defined CPU_FEATURE_ACTIVE
/* CPU_FEATURE_ACTIVE, whose shift of 1 by 31 places is none of C's. */
static bool is_active(unsigned feature)
{
    const unsigned bits = 8 * sizeof(unsigned), in_leaf = feature % (4 * bits);
    return __x86_get_cpuid_feature_leaf(feature / (4 * bits))->active_array[in_leaf / bits] & 1u << in_leaf % bits;
}

/* What the loader has found out: to ask a processor takes a virtual machine six microseconds a question. */
static tsr_isa best_of_machine(void)
{
    const bool avx2 = is_active(x86_cpu_AVX2) && is_active(x86_cpu_BMI2) && is_active(x86_cpu_FMA) && is_active(x86_cpu_F16C);
    const bool avx512 = is_active(x86_cpu_AVX512F) && is_active(x86_cpu_AVX512BW) && is_active(x86_cpu_AVX512DQ) &&
                        is_active(x86_cpu_AVX512VL) && is_active(x86_cpu_AVX512CD);
    return !avx2 ? TSR_ISA_BASELINE : avx512 ? TSR_ISA_AVX512 : TSR_ISA_AVX2;
}
#elif defined TSR_HAVE_X86_ISA
/* Not __builtin_cpu_supports: a constructor of its own would ask for everything whenever a process starts. */
static tsr_isa best_of_machine(void)
{
    const unsigned avx2 = bit_AVX2 | bit_BMI2, avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL | bit_AVX512CD;
    const unsigned ymm = 0x6, zmm = 0xe6; /* registers that the operating system saves */
    unsigned a, b, c, d, saved;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_FMA) || !(c & bit_F16C) || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return TSR_ISA_BASELINE;
    __asm__("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
    if ((b & avx2) != avx2 || (saved & ymm) != ymm)
        return TSR_ISA_BASELINE;
    return (b & avx512) == avx512 && (saved & zmm) == zmm ? TSR_ISA_AVX512 : TSR_ISA_AVX2;
}
#else
static tsr_isa best_of_machine(void)
{
    return TSR_ISA_BASELINE;
}
#endif

/* TESSERA_CPU_ISA, or the most there is: also for a wrong value, which the configuration names, and in set-user-ID programs. */
static tsr_isa limit_of_environment(void)
{
    const char *text = secure_getenv("TESSERA_CPU_ISA");
    for (int isa = TSR_ISA_BASELINE; text && isa <= TSR_ISA_AVX512; isa++)
        if (strcmp(text, tsr_isa_name((tsr_isa)isa)) == 0)
            return (tsr_isa)isa;
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

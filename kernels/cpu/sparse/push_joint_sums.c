/* The sums of a joint push.  A lane without a product gets the identity of the sum: it is added to with no look at it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/sparse/joint.h"

tsr_joint_sum *TSR_NAME(tsr_joint_sums)(const tsr_joint *w);

#define IDENTITY_fp32 (-0.0F)
#define IDENTITY_fp64 (-0.0)
#define IDENTITY_uint32 0U
#define IDENTITY_uint64 UINT64_C(0)

typedef uint32_t bits_fp32;
typedef uint64_t bits_fp64;
typedef uint32_t bits_uint32;
typedef uint64_t bits_uint64;

/* Of one vector nothing is chosen: what was dealt has a product. */
#define ONE_LANE(type)                                                                       \
    typedef tsr_c_##type lanes_##type##_1;                                                   \
    TSR_ALWAYS lanes_##type##_1 splat_##type##_1(tsr_c_##type x) { return x; }               \
    TSR_ALWAYS lanes_##type##_1 choose_##type##_1(uint64_t bits, lanes_##type##_1 z)         \
    {                                                                                        \
        (void)bits;                                                                          \
        return z;                                                                            \
    }

#define LANES(type, lanes, ...)                                                                                                     \
    typedef tsr_c_##type lanes_##type##_##lanes __attribute__((vector_size(lanes * sizeof(tsr_c_##type)), aligned(4), may_alias));   \
    typedef bits_##type which_##type##_##lanes __attribute__((vector_size(lanes * sizeof(tsr_c_##type))));                          \
    TSR_ALWAYS lanes_##type##_##lanes splat_##type##_##lanes(tsr_c_##type x) { return x - (lanes_##type##_##lanes){0}; }             \
    /* z where its bit is set, the identity elsewhere */                                                                            \
    TSR_ALWAYS lanes_##type##_##lanes choose_##type##_##lanes(uint64_t bits, lanes_##type##_##lanes z)                               \
    {                                                                                                                               \
        const which_##type##_##lanes each = {__VA_ARGS__}, has = (which_##type##_##lanes)(((bits_##type)bits & each) != 0);         \
        const which_##type##_##lanes none = (which_##type##_##lanes)splat_##type##_##lanes(IDENTITY_##type);                        \
        return (lanes_##type##_##lanes)((has & (which_##type##_##lanes)z) | (~has & none));                                         \
    }

#define SUM(name, type, lanes, with_a)                                                                                              \
    static void name##_##type##_##lanes(const tsr_joint *w, int64_t bucket, const tsr_dealt *dealt)                                 \
    {                                                                                                                               \
        const int64_t first = bucket << w->shift, step = tsr_joint_step(with_a);                                                    \
        lanes_##type##_##lanes *restrict sums = (lanes_##type##_##lanes *)w->sums + first;                                          \
        const lanes_##type##_##lanes *restrict u = w->u;                                                                            \
        uint8_t *restrict found = w->found + first;                                                                                 \
        const char *last = dealt->ends[bucket], *end = NULL;                                                                        \
        for (const char *block = dealt->arena + bucket * TSR_JOINT_BLOCK; end != last; block = tsr_joint_follow(block)) {           \
            end = (uint64_t)(last - block) < TSR_JOINT_BLOCK ? last : block + TSR_JOINT_BLOCK;                                      \
            for (const char *at = block + step; at < end; at += step) {                                                             \
                uint64_t it;                                                                                                        \
                tsr_c_##type a = 1;                                                                                                 \
                memcpy(&it, at, sizeof it);                                                                                         \
                if (with_a)                                                                                                         \
                    memcpy(&a, at + 8, sizeof a);                                                                                   \
                const uint64_t place = it & TSR_JOINT_PLACE, bits = it >> TSR_JOINT_BITS & UINT8_MAX;                               \
                const lanes_##type##_##lanes z = u[it >> TSR_JOINT_ROW];                                                            \
                sums[place] += with_a ? choose_##type##_##lanes(bits, z * a) : z;                                                   \
                found[place] |= (uint8_t)bits;                                                                                      \
            }                                                                                                                       \
        }                                                                                                                           \
    }

#define ALL(type)                                                            \
    ONE_LANE(type)                                                           \
    LANES(type, 4, 1, 2, 4, 8)                                               \
    LANES(type, 8, 1, 2, 4, 8, 16, 32, 64, 128)                              \
    SUM(add, type, 1, false) SUM(add, type, 4, false) SUM(add, type, 8, false) \
    SUM(multiply, type, 1, true) SUM(multiply, type, 4, true) SUM(multiply, type, 8, true)
#define TSR_ALWAYS static inline __attribute__((always_inline, unused))
ALL(fp32)
ALL(fp64)
ALL(uint32)
ALL(uint64)

#define OF_LANES(name, type) (w->lanes == 1 ? name##_##type##_1 : w->lanes == 4 ? name##_##type##_4 : name##_##type##_8)
#define OF_TYPE(type) (w->with_a ? OF_LANES(multiply, type) : OF_LANES(add, type))

tsr_joint_sum *TSR_NAME(tsr_joint_sums)(const tsr_joint *w)
{
    switch (w->type) {
    case TSR_FP32: return OF_TYPE(fp32);
    case TSR_FP64: return OF_TYPE(fp64);
    case TSR_UINT32: return OF_TYPE(uint32);
    default: return OF_TYPE(uint64);
    }
}

// Matrix instructions and the exchanges between the lanes of a warp.  The last lane to come computes for all.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/emulate/scheduler.h"

namespace tsr_emulate {

void finish_shuffle(void *const brought[warp_lanes], unsigned)
{
    for (unsigned i = 0; i < warp_lanes; i++)
        if (shuffled *s = static_cast<shuffled *>(brought[i])) {
            const shuffled *from = static_cast<const shuffled *>(brought[s->source]);
            s->result = from ? from->value : ~UINT64_C(0); // a lane that is not there: poison
        }
}

void finish_ballot(void *const brought[warp_lanes], unsigned)
{
    uint64_t votes = 0;
    for (unsigned i = 0; i < warp_lanes; i++)
        if (brought[i] && static_cast<const reduced *>(brought[i])->value)
            votes |= UINT64_C(1) << i;
    for (unsigned i = 0; i < warp_lanes; i++)
        if (brought[i])
            static_cast<reduced *>(brought[i])->result = votes;
}

void finish_match(void *const brought[warp_lanes], unsigned)
{
    for (unsigned i = 0; i < warp_lanes; i++)
        if (reduced *r = static_cast<reduced *>(brought[i])) {
            r->result = 0;
            for (unsigned j = 0; j < warp_lanes; j++)
                if (brought[j] && static_cast<const reduced *>(brought[j])->value == r->value)
                    r->result |= UINT64_C(1) << j;
        }
}

namespace {

void check_warp(const char *name, void *const brought[warp_lanes])
{
    for (unsigned i = 0; i < warp_lanes; i++)
        if (!brought[i])
            fail("%s: lane %u is not there", name, i);
}

struct fragments {
    void *d;
    const void *a, *b;
};

float tf32(uint32_t x) { return bits<float>(x & ~UINT32_C(0x1fff)); }

float fp16(uint32_t x)
{
    uint32_t sign = (x & 0x8000) << 16, rest = x & 0x7fff;
    if (rest >= 0x7c00)
        return bits<float>(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    return bits<float>(sign | bits<uint32_t>(bits<float>(rest << 13) * 0x1p112f));
}

float bf16(uint32_t x) { return bits<float>(x << 16); }

/* The accumulator of the hardware drops what does not fit. */
float toward_zero(double x)
{
    float f = static_cast<float>(x);
    if (std::fabs(static_cast<double>(f)) > std::fabs(x) && !std::isinf(f))
        f = std::nextafterf(f, 0);
    return f;
}

template <int K> struct operands {
    double a[16][K], b[K][8], d[16][8];
};

template <int K> void multiply(operands<K> &o)
{
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < K; k++)
            for (int j = 0; j < 8; j++)
                o.d[i][j] += o.a[i][k] * o.b[k][j];
}

template <class T, int K> void load_d(operands<K> &o, void *const brought[warp_lanes])
{
    for (unsigned lane = 0; lane < warp_lanes; lane++) {
        const T *d = static_cast<const T *>(static_cast<const fragments *>(brought[lane])->d);
        unsigned g = lane / 4, t = lane % 4;
        for (unsigned i = 0; i < 4; i++)
            o.d[g + i / 2 * 8][2 * t + i % 2] = d[i];
    }
}

template <class T, int K> void store_d(const operands<K> &o, void *const brought[warp_lanes])
{
    for (unsigned lane = 0; lane < warp_lanes; lane++) {
        T *d = static_cast<T *>(static_cast<const fragments *>(brought[lane])->d);
        unsigned g = lane / 4, t = lane % 4;
        for (unsigned i = 0; i < 4; i++) {
            double sum = o.d[g + i / 2 * 8][2 * t + i % 2];
            if constexpr (sizeof(T) == sizeof(float))
                d[i] = toward_zero(sum);
            else
                d[i] = sum;
        }
    }
}

/* Elements of the width of a register: TF32 and FP64. */
template <class T, class Raw, int K, class Convert> void multiply_wide(void *const brought[warp_lanes], Convert convert)
{
    operands<K> o;
    load_d<T>(o, brought);
    for (unsigned lane = 0; lane < warp_lanes; lane++) {
        const fragments *f = static_cast<const fragments *>(brought[lane]);
        const Raw *a = static_cast<const Raw *>(f->a), *b = static_cast<const Raw *>(f->b);
        unsigned g = lane / 4, t = lane % 4;
        for (unsigned i = 0; i < K / 2; i++)
            o.a[g + i % 2 * 8][t + i / 2 * 4] = convert(a[i]);
        for (unsigned i = 0; i < K / 4; i++)
            o.b[t + i * 4][g] = convert(b[i]);
    }
    multiply(o);
    store_d<T>(o, brought);
}

template <int K> void finish_tf32(void *const brought[warp_lanes], unsigned)
{
    check_warp("mma tf32", brought);
    multiply_wide<float, uint32_t, K>(brought, tf32);
}

void finish_f64(void *const brought[warp_lanes], unsigned)
{
    check_warp("mma f64", brought);
    multiply_wide<double, double, 8>(brought, [](double x) { return x; });
}

template <int K, bool Bf16> void finish_half(void *const brought[warp_lanes], unsigned)
{
    check_warp("mma half", brought);
    auto convert = [](uint32_t pair, unsigned i) {
        uint32_t x = pair >> (16 * i) & 0xffff;
        return Bf16 ? bf16(x) : fp16(x);
    };
    operands<K> o;
    load_d<float>(o, brought);
    for (unsigned lane = 0; lane < warp_lanes; lane++) {
        const fragments *f = static_cast<const fragments *>(brought[lane]);
        const uint32_t *a = static_cast<const uint32_t *>(f->a), *b = static_cast<const uint32_t *>(f->b);
        unsigned g = lane / 4, t = lane % 4;
        for (unsigned i = 0; i < K / 2; i++)
            o.a[g + i / 2 % 2 * 8][2 * t + i % 2 + i / 4 * 8] = convert(a[i / 2], i % 2);
        for (unsigned i = 0; i < K / 4; i++)
            o.b[2 * t + i % 2 + i / 2 * 8][g] = convert(b[i / 2], i % 2);
    }
    multiply(o);
    store_d<float>(o, brought);
}

void finish_bits(void *const brought[warp_lanes], unsigned)
{
    check_warp("mma bits", brought);
    auto at = [&](unsigned lane) { return static_cast<const fragments *>(brought[lane]); };
    for (unsigned lane = 0; lane < warp_lanes; lane++)
        for (unsigned i = 0; i < 4; i++) {
            unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
            int sum = 0;
            for (unsigned w = 0; w < 8; w++) { /* 32 bits each */
                uint32_t a = static_cast<const uint32_t *>(at(row % 8 * 4 + w % 4)->a)[row / 8 + w / 4 * 2];
                uint32_t b = static_cast<const uint32_t *>(at(column * 4 + w % 4)->b)[w / 4];
                sum += __builtin_popcount(a & b);
            }
            static_cast<int *>(at(lane)->d)[i] += sum;
        }
}

void finish_int8(void *const brought[warp_lanes], unsigned)
{
    check_warp("mma int8", brought);
    auto at = [&](unsigned lane) { return static_cast<const fragments *>(brought[lane]); };
    auto byte = [](const void *words, unsigned word, unsigned k) { return int(int8_t(static_cast<const uint32_t *>(words)[word] >> 8 * k)); };
    for (unsigned lane = 0; lane < warp_lanes; lane++)
        for (unsigned i = 0; i < 4; i++) {
            unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
            int sum = 0;
            for (unsigned k = 0; k < 32; k++)
                sum += byte(at(row % 8 * 4 + k % 16 / 4)->a, row / 8 + k / 16 * 2, k % 4) * byte(at(column * 4 + k % 16 / 4)->b, k / 16, k % 4);
            int *d = static_cast<int *>(at(lane)->d) + i;
            *d = int(unsigned(*d) + unsigned(sum));
        }
}

struct transposed {
    uint32_t pair, result;
};

void finish_transpose(void *const brought[warp_lanes], unsigned)
{
    check_warp("transpose_8x8", brought);
    auto at = [&](unsigned row, unsigned column) {
        return static_cast<const transposed *>(brought[row * 4 + column / 2])->pair >> column % 2 * 16 & 0xffff;
    };
    for (unsigned lane = 0; lane < warp_lanes; lane++)
        static_cast<transposed *>(brought[lane])->result = at(lane % 4 * 2, lane / 4) | at(lane % 4 * 2 + 1, lane / 4) << 16;
}

void mma(const char *name, finish_function finish, void *d, const void *a, const void *b)
{
    fragments f = {d, a, b};
    meet(name, TSR_FULL_MASK, finish, &f);
}

} // namespace

} // namespace tsr_emulate

using namespace tsr_emulate;

void mma_m16n8k8_tf32(float d[4], const uint32_t a[4], const uint32_t b[2]) { mma("mma_m16n8k8_tf32", finish_tf32<8>, d, a, b); }
void mma_m16n8k4_tf32(float d[4], const uint32_t a[2], uint32_t b) { mma("mma_m16n8k4_tf32", finish_tf32<4>, d, a, &b); }
template <bool Bf16> void mma_m16n8k8_half(float d[4], const uint32_t a[2], uint32_t b)
{
    mma("mma_m16n8k8_half", finish_half<8, Bf16>, d, a, &b);
}
template <bool Bf16> void mma_m16n8k16_half(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    mma("mma_m16n8k16_half", finish_half<16, Bf16>, d, a, b);
}
template void mma_m16n8k8_half<false>(float d[4], const uint32_t a[2], uint32_t b);
template void mma_m16n8k8_half<true>(float d[4], const uint32_t a[2], uint32_t b);
template void mma_m16n8k16_half<false>(float d[4], const uint32_t a[4], const uint32_t b[2]);
template void mma_m16n8k16_half<true>(float d[4], const uint32_t a[4], const uint32_t b[2]);
uint32_t transpose_8x8(uint32_t pair)
{
    transposed of = {pair, 0};
    meet("transpose_8x8", TSR_FULL_MASK, finish_transpose, &of);
    return of.result;
}
void mma_m16n8k8_f64(double d[4], const double a[4], const double b[2]) { mma("mma_m16n8k8_f64", finish_f64, d, a, b); }
void mma_m16n8k32_int8(int d[4], const uint32_t a[4], const uint32_t b[2]) { mma("mma_m16n8k32_int8", finish_int8, d, a, b); }
void mma_m16n8k256_bits(int d[4], const uint32_t a[4], const uint32_t b[2]) { mma("mma_m16n8k256_bits", finish_bits, d, a, b); }

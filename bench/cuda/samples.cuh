// Random numbers of the generated matrices: u(i, k), and ids spread over a group.  SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cstdint>
#include <numeric>

__host__ __device__ inline uint64_t splitmix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

__host__ __device__ inline uint64_t hash(uint64_t sample, uint64_t slot) { return splitmix(splitmix(12345 + sample * 64) + slot); }

// u(i, k): uniform in [0, 1) of sample i, slot k.
__host__ __device__ inline double uniform(uint64_t sample, uint64_t slot) { return double(hash(sample, slot) >> 11) * 0x1p-53; }

// x -> (x m + 12345) mod s, m coprime to s: spreads the hubs of a group over its ids.
struct Shuffle {
    int64_t s, m;
    __host__ __device__ int64_t operator()(int64_t x) const { return int64_t((uint64_t(x) * uint64_t(m) + 12345) % uint64_t(s)); }
};

inline Shuffle shuffle_of(int64_t s)
{
    int64_t m = int64_t(0.618 * double(s)) | 1;
    while (std::gcd(m, s) != 1)
        m++;
    return {s, m};
}

// An id of a group with a power law: floor(s u^a), shuffled.
__device__ inline int64_t power(double u, double a, Shuffle shuffle)
{
    int64_t x = int64_t(double(shuffle.s) * pow(u, a));
    return shuffle(x < shuffle.s ? x : shuffle.s - 1);
}

constexpr uint64_t no_edge = ~0ull; // a key that is not there

struct RMat {
    int levels;
    Shuffle all;
    __device__ uint64_t edge(uint64_t sample) const
    {
        int64_t from = 0, to = 0;
        for (int level = 0; level < levels; level++) {
            double u = uniform(sample, level);
            from = 2 * from + (u >= 0.76), to = 2 * to + ((u >= 0.57 && u < 0.76) || u >= 0.95);
        }
        return from == to ? no_edge : uint64_t(all(from)) << 32 | uint64_t(all(to));
    }
};

// SPDX-License-Identifier: Apache-2.0
// One register of floats of this build's instruction set, and the few operations kernels need.
// Everything is in the namespace of the instruction set: the linker must never merge two of them.
#pragma once

#include <cstddef>
#include <utility>

#if defined(TACIT_ISA_avx512) || defined(TACIT_ISA_avx2)
#include <immintrin.h>
#endif

#define TACIT_INLINE inline __attribute__((always_inline))

namespace tacit::TACIT_ISA {

#if defined(TACIT_ISA_avx512)
constexpr int kLanes = 16;
#elif defined(TACIT_ISA_avx2)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float))));

TACIT_INLINE Lanes load(const float* from) {
  Lanes lanes;
  __builtin_memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

TACIT_INLINE void store(float* to, Lanes lanes) { __builtin_memcpy(to, &lanes, sizeof lanes); }

// The first `count` floats and zeros after them; reads nothing beyond.
TACIT_INLINE Lanes load_some(const float* from, std::ptrdiff_t count) {
  if (count >= kLanes) return load(from);
  if (count <= 0) return Lanes{};
#if defined(TACIT_ISA_avx512)
  return (Lanes)_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), from);
#else
  Lanes lanes{};
  for (int lane = 0; lane < count; ++lane) lanes[lane] = from[lane];
  return lanes;
#endif
}

// Fused multiply-adds are written out, so that the compiler has no choice to make that could
// differ between two instances of one template: a user's bits must not depend on her neighbours.
#if defined(TACIT_ISA_avx512)
TACIT_INLINE Lanes splat(float x) { return (Lanes)_mm512_set1_ps(x); }
TACIT_INLINE Lanes add_product(Lanes a, Lanes b, Lanes c) {
  return (Lanes)_mm512_fmadd_ps(a, b, c);
}
TACIT_INLINE Lanes less_product(Lanes a, Lanes b, Lanes c) {
  return (Lanes)_mm512_fnmadd_ps(a, b, c);
}
TACIT_INLINE Lanes root(Lanes a) { return (Lanes)_mm512_maskz_sqrt_ps(0xffff, a); }
#elif defined(TACIT_ISA_avx2)
TACIT_INLINE Lanes splat(float x) { return (Lanes)_mm256_set1_ps(x); }
TACIT_INLINE Lanes add_product(Lanes a, Lanes b, Lanes c) {
  return (Lanes)_mm256_fmadd_ps(a, b, c);
}
TACIT_INLINE Lanes less_product(Lanes a, Lanes b, Lanes c) {
  return (Lanes)_mm256_fnmadd_ps(a, b, c);
}
TACIT_INLINE Lanes root(Lanes a) { return (Lanes)_mm256_sqrt_ps(a); }
#else
TACIT_INLINE Lanes splat(float x) { return x - Lanes{}; }
TACIT_INLINE Lanes add_product(Lanes a, Lanes b, Lanes c) { return a * b + c; }
TACIT_INLINE Lanes less_product(Lanes a, Lanes b, Lanes c) { return c - a * b; }
TACIT_INLINE Lanes root(Lanes a) {
  for (int lane = 0; lane < kLanes; ++lane) a[lane] = __builtin_sqrtf(a[lane]);
  return a;
}
#endif

TACIT_INLINE float less_product(float a, float b, float c) {
#if defined(TACIT_ISA_avx512) || defined(TACIT_ISA_avx2)
  return __builtin_fmaf(-a, b, c);
#else
  return c - a * b;
#endif
}

// One stage of a transposition: lanes whose number has bit `Bit` come from b, the others from a;
// `Upper` says which half of each is taken.
template <int Bit, bool Upper, std::size_t... Lane>
TACIT_INLINE Lanes exchange(Lanes a, Lanes b, std::index_sequence<Lane...>) {
  constexpr auto source = [](int lane) {
    const bool from_b = lane & Bit;
    const bool moved = from_b != Upper;
    return (from_b ? kLanes : 0) + (moved ? lane ^ Bit : lane);
  };
#if defined(__clang__) || __GNUC__ >= 12
  return __builtin_shufflevector(a, b, source(static_cast<int>(Lane))...);
#else
  typedef int Index __attribute__((vector_size(kLanes * sizeof(int))));
  return __builtin_shuffle(a, b, Index{source(static_cast<int>(Lane))...});
#endif
}

template <int Bit>
TACIT_INLINE Lanes lower_halves(Lanes a, Lanes b) {
  return exchange<Bit, false>(a, b, std::make_index_sequence<kLanes>{});
}

template <int Bit>
TACIT_INLINE Lanes upper_halves(Lanes a, Lanes b) {
  return exchange<Bit, true>(a, b, std::make_index_sequence<kLanes>{});
}

// Lane l of row i becomes lane i of row l.
template <int Bit = kLanes / 2>
TACIT_INLINE void transpose(Lanes (&rows)[kLanes]) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    if (i & Bit) continue;
    const Lanes a = rows[i], b = rows[i + Bit];
    rows[i] = lower_halves<Bit>(a, b);
    rows[i + Bit] = upper_halves<Bit>(a, b);
  }
  if constexpr (Bit > 1) transpose<Bit / 2>(rows);
}

// Lane i of the result is the sum of the lanes of row i; the rows are used up.
template <int Bit = 1>
TACIT_INLINE Lanes sum_each(Lanes (&rows)[kLanes]) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; i += 2 * Bit)
    rows[i] = lower_halves<Bit>(rows[i], rows[i + Bit]) + upper_halves<Bit>(rows[i], rows[i + Bit]);
  if constexpr (2 * Bit < kLanes) return sum_each<2 * Bit>(rows);
  return rows[0];
}

}  // namespace tacit::TACIT_ISA

// SPDX-License-Identifier: Apache-2.0
// As sums_syrk.hpp, for small integers on machines that multiply 16-bit pairs into 32-bit sums (VNNI).
//
// a x x^T = x (2^bits high + low)^T, where a x = 2^bits high + low and all of x, high and low have 16
// bits. Users go in pairs: a lane holds the products of two of them.
#pragma once

#include "sums_by_item.hpp"

#if defined(TACIT_ISA_avx512)
namespace tacit::TACIT_ISA {

#define TACIT_VNNI __attribute__((target("avx512vnni")))

class SplitSyrk {
  static constexpr std::size_t rows = 8, columns = 16;
  static constexpr std::size_t depth = 128;  // pairs of users gathered at once
  static constexpr std::uint64_t largest_half = (1u << 15) - 1;

 public:
  // How the product of an amount and a factor is cut in two, and how many users' products of such
  // halves with a factor a 32-bit lane may add (0: something does not fit).
  struct Cut {
    int bits = 0;
    std::uint64_t capacity = 0;
  };

  static Cut cut(std::uint64_t amount, std::uint64_t factor) {
    if (!__builtin_cpu_supports("avx512vnni") || amount > 1u << 30 || factor > largest_half) return {};
    const std::uint64_t product = amount * factor;
    Cut found{1, 0};
    while (found.bits < 15 && (product >> found.bits) >= 1ull << (found.bits - 1)) ++found.bits;
    const std::uint64_t low = 1ull << (found.bits - 1), high = (product >> found.bits) + 1;
    if (high > largest_half) return {};
    const std::uint64_t most = factor * (high > low ? high : low);
    found.capacity = ((1ull << 31) - 1) / (most ? most : 1);
    return found;
  }

  SplitSyrk(const std::int32_t* factors, std::size_t rank, Cut cut)
      : factors_(factors),
        rank_(rank),
        bits_(cut.bits),
        depth_(cut.capacity / 2 < depth ? static_cast<std::size_t>(cut.capacity / 2) : depth),
        plain_(depth * padded(rank, columns)),
        halves_(2 * depth * padded(rank, columns)) {}

  void add(const Rating* begin, const Rating* end, std::int64_t* out) {
    while (begin < end) {
      const std::size_t left = static_cast<std::size_t>(end - begin);
      const std::size_t count = left < 2 * depth_ ? left : 2 * depth_;
      gather(begin, count);
      for (std::size_t c = 0; c < rank_; c += columns)
        for (std::size_t i = 0; i < c + columns && i < rank_; i += rows)
          tile(i, c, (count + 1) / 2, out);
      begin += count;
    }
  }

 private:
  static __m512i paired(__m512i first, __m512i second) {
    return _mm512_mask_blend_epi16(0xaaaaaaaa, first, _mm512_slli_epi32(second, 16));
  }

  // Panels are laid out tile by tile, and pair by pair within a tile.
  void gather(const Rating* ratings, std::size_t count) {
    const __m128i bits = _mm_cvtsi32_si128(bits_), rest = _mm_cvtsi32_si128(32 - bits_);
    for (std::size_t k = 0; k < (count + 1) / 2; ++k) {
      const Rating& one = ratings[2 * k];
      const bool both = 2 * k + 1 < count;
      const Rating& two = both ? ratings[2 * k + 1] : one;
      const std::int32_t* x = factors_ + static_cast<std::size_t>(one.user) * rank_;
      const std::int32_t* y = factors_ + static_cast<std::size_t>(two.user) * rank_;
      const __m512i a = _mm512_set1_epi32(one.amount);
      const __m512i b = _mm512_set1_epi32(both ? two.amount : 0);
      for (std::size_t c = 0; c < rank_; c += columns) {
        const std::size_t left = rank_ - c;
        const __mmask16 some = left < columns ? static_cast<__mmask16>((1u << left) - 1) : 0xffff;
        const __m512i first = _mm512_maskz_loadu_epi32(some, x + c);
        const __m512i second = _mm512_maskz_loadu_epi32(some, y + c);
        const __m512i pair = paired(first, second);
        std::int32_t* plain = plain_.get() + c * depth + k * rows;
        _mm256_store_si256(reinterpret_cast<__m256i*>(plain), _mm512_castsi512_si256(pair));
        _mm256_store_si256(reinterpret_cast<__m256i*>(plain + rows * depth),
                           _mm512_extracti64x4_epi64(pair, 1));
        const __m512i p = _mm512_mullo_epi32(a, first), q = _mm512_mullo_epi32(b, second);
        const __m512i low_p = _mm512_sra_epi32(_mm512_sll_epi32(p, rest), rest);
        const __m512i low_q = _mm512_sra_epi32(_mm512_sll_epi32(q, rest), rest);
        const __m512i high_p = _mm512_sra_epi32(_mm512_sub_epi32(p, low_p), bits);
        const __m512i high_q = _mm512_sra_epi32(_mm512_sub_epi32(q, low_q), bits);
        std::int32_t* halves = halves_.get() + 2 * (c * depth + k * columns);
        _mm512_store_si512(halves, paired(low_p, low_q));
        _mm512_store_si512(halves + columns, paired(high_p, high_q));
      }
    }
  }

  // Rows i.. and columns c.. of the triangle: padding columns hold zeros and are not written.
  TACIT_VNNI void tile(std::size_t i, std::size_t c, std::size_t pairs, std::int64_t* out) const {
    __m512i low[rows], high[rows];
#pragma GCC unroll 8
    for (std::size_t a = 0; a < rows; ++a) low[a] = high[a] = _mm512_setzero_si512();
    const std::int32_t* plain = plain_.get() + i * depth;
    const std::int32_t* halves = halves_.get() + 2 * c * depth;
    for (std::size_t k = 0; k < pairs; ++k, plain += rows, halves += 2 * columns) {
      const __m512i near = _mm512_load_si512(halves), far = _mm512_load_si512(halves + columns);
#pragma GCC unroll 8
      for (std::size_t a = 0; a < rows; ++a) {
        const __m512i x = _mm512_set1_epi32(plain[a]);
        low[a] = _mm512_dpwssd_epi32(low[a], near, x);
        high[a] = _mm512_dpwssd_epi32(high[a], far, x);
      }
    }
    for (std::size_t a = 0; a < rows && i + a < rank_; ++a) {
      alignas(64) std::int32_t lower[columns], upper[columns];
      _mm512_store_si512(lower, low[a]);
      _mm512_store_si512(upper, high[a]);
      write(i + a, c, lower, upper, out);
    }
  }

  void write(std::size_t row, std::size_t c, const std::int32_t* lower, const std::int32_t* upper,
             std::int64_t* out) const {
    const __m128i bits = _mm_cvtsi32_si128(bits_);
    // Column c of this row; the triangle has none left of the diagonal: a mask leaves them out.
    std::int64_t* place = out + row * rank_ - row * (row + 1) / 2 + c;
    for (std::size_t half = 0; half < columns; half += 8, place += 8) {
      const std::size_t first = c + half;
      const std::size_t skip = row > first ? row - first : 0;
      const std::size_t stop = rank_ > first ? rank_ - first : 0;
      if (skip >= 8 || stop == 0) continue;
      const unsigned to_stop = stop < 8 ? (1u << stop) - 1 : 0xffu;
      const __mmask8 some = static_cast<__mmask8>(to_stop & ~((1u << skip) - 1));
      const __m512i high = _mm512_sll_epi64(_mm512_cvtepi32_epi64(eight(upper + half)), bits);
      const __m512i sum = _mm512_add_epi64(high, _mm512_cvtepi32_epi64(eight(lower + half)));
      _mm512_mask_storeu_epi64(place, some,
                               _mm512_add_epi64(_mm512_maskz_loadu_epi64(some, place), sum));
    }
  }

  static __m256i eight(const std::int32_t* from) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(from));
  }

  const std::int32_t* factors_;
  std::size_t rank_;
  int bits_;
  std::size_t depth_;
  Scratch<std::int32_t> plain_, halves_;
};

#undef TACIT_VNNI

}  // namespace tacit::TACIT_ISA
#endif

// SPDX-License-Identifier: Apache-2.0
#include "noise.hpp"

#include <bit>
#include <cmath>
#include <initializer_list>

#ifdef TACIT_ISA_avx512
#include <immintrin.h>
#endif

namespace tacit::TACIT_ISA {
namespace {

// A word: layer in the low bits, sign in bit 11, a 52-bit uniform above.
constexpr std::uint64_t sign_bit = 1u << 11;
constexpr std::uint64_t one = 0x3FF0000000000000u;  // the bits of 1.0
constexpr double to_integer = 0x1.8p52;             // adding and subtracting it rounds to nearest
constexpr std::size_t block = 64;

double uniform(std::uint64_t word) { return std::bit_cast<double>(word >> 12 | one) - 1.0; }

struct Words {
  const std::uint64_t* next;
  const std::uint64_t* end;
  bool dry = false;
  std::uint64_t take() {
    if (next != end) return *next++;
    dry = true;
    return sign_bit;  // any nonzero word; what is made of it is thrown away
  }
};

struct Pair {
  double high, low;
};

// a * (b + b_low); the product a * b is exact.
Pair product(double a, double b, double b_low) {
  const double high = a * b;
  const double low = std::fma(a, b, -high) + a * b_low;
  const double sum = high + low;
  return {sum, low - (sum - high)};
}

std::int64_t nearest(Pair t) {
  double r = (t.high + to_integer) - to_integer;
  const double d = t.high - r;
  if (t.low > 0.5 - d) r += 1.0;
  else if (t.low < -0.5 - d) r -= 1.0;
  return static_cast<std::int64_t>(r);
}

// exp(-x^2 / 2), to three units in the last place while it is a normal number.
double density(Pair x) {
  const double square = x.high * x.high;
  const double rest = std::fma(x.high, x.high, -square) + 2.0 * x.high * x.low;
  const double k = (square * -0x1.71547652b82fep-1 + to_integer) - to_integer;
  const double r = ((square * -0.5 - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33) - rest * 0.5;
  double sum = 1.0 / 6227020800.0;
  for (const double c : {479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0, 120.0,
                         24.0, 6.0, 2.0})
    sum = sum * r + 1.0 / c;
  return std::ldexp((sum * r + 1.0) * r + 1.0, static_cast<int>(k));
}

// A uniform in (0, 1) whose relative spacing is 2^-52 however small it is.
double deep_uniform(Words& words) {
  int zeros = 0;
  std::uint64_t word = words.take();
  for (; word == 0; word = words.take()) zeros += 64;
  zeros += std::countl_zero(word);
  return std::ldexp(1.0 + uniform(words.take()), -1 - zeros);
}

// A position over widths[0] in the tail: equal cells, each half as likely as the one before it.
Pair tail_position(Words& words, int& cell) {
  cell = 0;
  std::uint64_t word = words.take();
  for (; word == 0; word = words.take()) cell += 64;
  cell += std::countl_zero(word);
  const double coarse = static_cast<double>(words.take() >> 24);  // 40 bits
  const double fine = uniform(words.take());
  return {(58.0 * 0x1p40 + 3.0 * (cell * 0x1p40 + coarse)) * 0x1p-46, 3.0 * fine * 0x1p-46};
}

// One value with every digit it needs, starting from a word that the fast path could not finish.
std::int64_t careful(std::uint64_t word, Words& words, const Ziggurat& table, double sigma) {
  for (;; word = words.take()) {
    const std::size_t i = word & (table.layers - 1);
    Pair u = {uniform(word), uniform(words.take()) * 0x1p-52};
    bool accept = u.high < table.inner[i];
    if (!accept) {
      double y;
      if (i == 0) {
        int cell;
        u = tail_position(words, cell);
        y = std::ldexp(deep_uniform(words), -cell) * table.heights[0];
      } else {
        y = table.floors[i] + uniform(words.take()) * table.heights[i];
      }
      accept = y < density(product(table.widths[i], u.high, u.low));
    }
    if (accept || words.dry) {
      const std::int64_t q = nearest(product(table.widths[i] * sigma, u.high, u.low));
      return word & sign_bit ? -q : q;
    }
  }
}

#ifdef TACIT_ISA_avx512

// Eight values at once; the bits of those that need care are returned.
unsigned eight(const std::uint64_t* words, const Ziggurat& table, double sigma, double edge,
               std::int64_t* out) {
  const __m512i w = _mm512_loadu_si512(words);
  const __m512i layer = _mm512_and_si512(w, _mm512_set1_epi64(static_cast<long long>(table.layers - 1)));
  const __m512d magic = _mm512_set1_pd(to_integer);
  const __m512i mantissa = _mm512_or_si512(_mm512_srli_epi64(w, 12), _mm512_set1_epi64(one));
  const __m512d u = _mm512_sub_pd(_mm512_castsi512_pd(mantissa), _mm512_set1_pd(1.0));
  const __m512d step = _mm512_mul_pd(_mm512_i64gather_pd(layer, table.widths, 8), _mm512_set1_pd(sigma));
  const __m512d t = _mm512_mul_pd(u, step);
  const __m512d shifted = _mm512_add_pd(t, magic);
  const __m512d d = _mm512_abs_pd(_mm512_sub_pd(t, _mm512_sub_pd(shifted, magic)));
  const __m512i q = _mm512_sub_epi64(_mm512_castpd_si512(shifted), _mm512_castpd_si512(magic));
  const __mmask8 negative = _mm512_test_epi64_mask(w, _mm512_set1_epi64(sign_bit));
  _mm512_storeu_si512(out, _mm512_mask_sub_epi64(q, negative, _mm512_setzero_si512(), q));
  const __mmask8 inside = _mm512_cmp_pd_mask(u, _mm512_i64gather_pd(layer, table.inner, 8), _CMP_LT_OQ);
  return 0xFFu ^ _mm512_mask_cmp_pd_mask(inside, d, _mm512_set1_pd(edge), _CMP_LT_OQ);
}

#endif

bool single(std::uint64_t word, const Ziggurat& table, double sigma, double edge, std::int64_t* out) {
  const std::size_t i = word & (table.layers - 1);
  const double u = uniform(word);
  const double t = u * (table.widths[i] * sigma);
  const double r = (t + to_integer) - to_integer;
  const std::int64_t q = static_cast<std::int64_t>(r);
  *out = word & sign_bit ? -q : q;
  return u < table.inner[i] && std::fabs(t - r) < edge;
}

#ifndef TACIT_ISA_avx512

unsigned eight(const std::uint64_t* words, const Ziggurat& table, double sigma, double edge,
               std::int64_t* out) {
  unsigned rest = 0;
  for (unsigned j = 0; j < 8; ++j)
    rest |= static_cast<unsigned>(!single(words[j], table, sigma, edge, out + j)) << j;
  return rest;
}

#endif

}  // namespace

std::size_t rounded_gaussian(const std::uint64_t* words, std::size_t n_words, const Ziggurat& table,
                             double sigma, std::int64_t* out, std::size_t n) {
  if (n_words < n) return 0;
  // Further than this from a cell's middle, the digits below the word's could change the cell.
  const double edge = 0.5 - 0x1p-51 * (table.widths[0] * sigma);
  Words more{words + n, words + n_words};
  for (std::size_t start = 0; start < n; start += block) {
    const std::size_t stop = n - start < block ? n : start + block;
    std::uint64_t rest = 0;
    std::size_t j = start;
    for (; j + 8 <= stop; j += 8)
      rest |= static_cast<std::uint64_t>(eight(words + j, table, sigma, edge, out + j)) << (j - start);
    for (; j < stop; ++j)
      if (!single(words[j], table, sigma, edge, out + j)) rest |= std::uint64_t{1} << (j - start);
    for (; rest; rest &= rest - 1) {
      const std::size_t at = start + static_cast<std::size_t>(std::countr_zero(rest));
      out[at] = careful(words[at], more, table, sigma);
    }
    if (more.dry) return 0;
  }
  return static_cast<std::size_t>(more.next - words);
}

}  // namespace tacit::TACIT_ISA

// SPDX-License-Identifier: Apache-2.0
// Rounded Gaussian noise on the integers, from random words alone. proofs/noise.md says why it is
// exact; src/tacit/kernels/reference/noise.py is the same sampler in Python and makes the tables.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tacit {

// Layer i is the rectangle [0, widths[i]) x [floors[i], floors[i] + heights[i]) over exp(-x^2 / 2), of
// which [0, inner[i] * widths[i]) is wholly under the curve.
struct Ziggurat {
  const double* widths;
  const double* inner;
  const double* floors;
  const double* heights;
  std::size_t layers;  // a power of two, at most 1024
};

// Fills out with round(N(0, sigma^2)): one word each, and further words, in order, for the few that need
// them. Products of sigma and widths must be exact. Returns how many words were used, or 0 where they did
// not suffice (call again with more of the same stream behind them).
#define TACIT_DECLARE_NOISE(isa)                                                                   \
  namespace isa {                                                                                  \
  std::size_t rounded_gaussian(const std::uint64_t* words, std::size_t n_words,                    \
                               const Ziggurat& table, double sigma, std::int64_t* out, std::size_t n); \
  }
TACIT_DECLARE_NOISE(generic)
TACIT_DECLARE_NOISE(avx2)
TACIT_DECLARE_NOISE(avx512)
#undef TACIT_DECLARE_NOISE

}  // namespace tacit

// SPDX-License-Identifier: Apache-2.0
// Work on single rows: sums, hashes, and snapping to the grid inside a bound.
#pragma once

#include <cmath>

#include "sums_lanes.hpp"

namespace tacit::TACIT_ISA {

// Adding and taking away 1.5 * 2^52 rounds a number below 2^51 to an integer, ties to even.
inline double nearest(double x) { return (x + DoubleSums::shift) - DoubleSums::shift; }

// sum(q^2) exactly: the low 31 bits and the rest of each square are added apart.
inline __int128 norm2(const std::int32_t* q, std::size_t count) {
  std::uint64_t high = 0, low = 0;
  for (std::size_t p = 0; p < count; ++p) {
    const std::int64_t wide = q[p];
    const std::uint64_t square = static_cast<std::uint64_t>(wide * wide);
    high += square >> 31;
    low += square & 0x7fffffffu;
  }
  return (static_cast<__int128>(high) << 31) + low;
}

template <class Real>
void round_row(const Real* values, std::size_t count, double step, double limit, double shrink,
               std::int32_t* q) {
  for (std::size_t p = 0; p < count; ++p) {
    double x = static_cast<double>(values[p]) / step;
    x = x == x ? x : 0.0;
    x = x < limit ? x : limit;
    x = x > -limit ? x : -limit;
    q[p] = static_cast<std::int32_t>(nearest(x * shrink));
  }
}

template <class Real>
void snap_one(const Real* values, std::size_t count, double step, std::int32_t limit,
              std::int32_t* q) {
  round_row(values, count, step, limit, 1.0, q);
  const __int128 most = static_cast<__int128>(limit) * limit;
  const __int128 found = norm2(q, count);
  if (found <= most) return;
  const double margin = std::sqrt(static_cast<double>(count)) / 2;
  const double shrinks[] = {
      (limit - 1.0) / std::sqrt(static_cast<double>(found + static_cast<__int128>(count))),
      (limit - margin) / (std::sqrt(static_cast<double>(found)) + margin),
      0.0,
  };
  for (const double shrink : shrinks) {
    round_row(values, count, step, limit, shrink > 0 ? shrink : 0.0, q);
    if (norm2(q, count) <= most) return;
  }
}

inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

}  // namespace tacit::TACIT_ISA

// SPDX-License-Identifier: Apache-2.0
// Symmetric positive systems of a few users at once, by blocked Cholesky.
// The pivots of one matrix form a chain of square roots and divisions, each waiting for the last:
// several users side by side fill the waiting time. Each user's arithmetic is hers alone.
#pragma once

#include "tile.hpp"

namespace tacit::TACIT_ISA {

constexpr int kTogether = 4;

struct System {
  float* matrix;    // size x size, upper triangle in blocks; becomes R with R^T R = matrix
  float* right;     // size; becomes the solution
  float* inverses;  // size x 16: the inverse of each transposed diagonal block of R
  float floor;      // the ridge: no exact pivot is below it
  bool exact;       // false once a pivot came out below half of that
};

// One diagonal block and what later steps need of its factor R.
struct alignas(64) Diagonal {
  float row[kBlock][kBlock];  // R, its lower triangle being left over from the elimination
  float scale[kBlock];        // reciprocal pivots
};

// Row J of R for every user.
template <int Users, std::size_t J, std::size_t... Before>
TACIT_INLINE void factor_row(System* systems, Diagonal* diagonals,
                             std::index_sequence<Before...>) {
  Lanes row[Users][kParts];
  for (int u = 0; u < Users; ++u) {
    const auto& above = diagonals[u].row;
    for (int part = 0; part < kParts; ++part) {
      Lanes sum = load(above[J] + part * kLanes);
      ((sum = less_product(splat(above[Before][J]), load(above[Before] + part * kLanes), sum)),
       ...);
      row[u][part] = sum;
    }
  }
  for (int u = 0; u < Users; ++u) {
    float pivot = row[u][J / kLanes][J % kLanes];
    if (!(pivot >= 0.5f * systems[u].floor)) {
      pivot = systems[u].floor;
      systems[u].exact = false;
    }
    const float scale = 1.0f / __builtin_sqrtf(pivot);
    diagonals[u].scale[J] = scale;
    for (int part = 0; part < kParts; ++part)
      store(diagonals[u].row[J] + part * kLanes, row[u][part] * splat(scale));
  }
}

template <int Users, std::size_t... J>
TACIT_INLINE void factor_rows(System* systems, Diagonal* diagonals, std::index_sequence<J...>) {
  (factor_row<Users, J>(systems, diagonals, std::make_index_sequence<J>{}), ...);
}

template <int Users>
void factor_diagonal(System* systems, std::ptrdiff_t k, std::ptrdiff_t size, Diagonal* diagonals) {
  for (int u = 0; u < Users; ++u) {
    const float* block = systems[u].matrix + k * kBlock * (size + 1);
    for (int i = 0; i < kBlock; ++i)
      for (int part = 0; part < kParts; ++part)
        store(diagonals[u].row[i] + part * kLanes, load(block + i * size + part * kLanes));
  }
  factor_rows<Users>(systems, diagonals, std::make_index_sequence<kBlock>{});
}

// One step of x <- R^-T x for 16 rows in registers.
template <std::size_t J, std::size_t... After>
TACIT_INLINE void eliminate(Lanes (&x)[kBlock], const Diagonal& diagonal,
                            std::index_sequence<After...>) {
  x[J] *= splat(diagonal.scale[J]);
  ((x[J + 1 + After] = less_product(splat(diagonal.row[J][J + 1 + After]), x[J], x[J + 1 + After])),
   ...);
}

template <std::size_t... J>
TACIT_INLINE void eliminate_all(Lanes (&x)[kBlock], const Diagonal& diagonal,
                                std::index_sequence<J...>) {
  (eliminate<J>(x, diagonal, std::make_index_sequence<kBlock - 1 - J>{}), ...);
}

// 16 rows of one register each, in place: x <- R^-T x.
TACIT_INLINE void eliminate_column(const float* from, float* to, std::ptrdiff_t stride,
                                   const Diagonal& diagonal) {
  Lanes x[kBlock];
#pragma GCC unroll 16
  for (int i = 0; i < kBlock; ++i) x[i] = load(from + i * stride);
  eliminate_all(x, diagonal, std::make_index_sequence<kBlock>{});
#pragma GCC unroll 16
  for (int i = 0; i < kBlock; ++i) store(to + i * stride, x[i]);
}

// The rows of R beside diagonal block k, the inverse of that block, transposed, and with it the
// right-hand side.
inline void finish_strip(const System& system, std::ptrdiff_t k, std::ptrdiff_t size,
                         const Diagonal& diagonal) {
  float* strip = system.matrix + k * kBlock * size;
  for (std::ptrdiff_t column = (k + 1) * kBlock; column < size; column += kLanes)
    eliminate_column(strip + column, strip + column, size, diagonal);
  static constexpr auto identity = [] {
    struct {
      alignas(64) float entry[kBlock * kBlock] = {};
    } unit;
    for (int i = 0; i < kBlock; ++i) unit.entry[i * (kBlock + 1)] = 1.0f;
    return unit;
  }();
  float* inverse = system.inverses + k * kBlock * kBlock;
  for (std::ptrdiff_t column = 0; column < kBlock; column += kLanes)
    eliminate_column(identity.entry + column, inverse + column, kBlock, diagonal);

  float* right = system.right + k * kBlock;
  Lanes known[kParts];
  for (int part = 0; part < kParts; ++part) known[part] = load(right + part * kLanes);
  for (std::ptrdiff_t i = 0; i < kBlock; i += kLanes) {
    Lanes sums[kLanes];
#pragma GCC unroll 16
    for (int row = 0; row < kLanes; ++row) {
      const float* entries = inverse + (i + row) * kBlock;
      sums[row] = load(entries) * known[0];
      for (int part = 1; part < kParts; ++part)
        sums[row] = add_product(load(entries + part * kLanes), known[part], sums[row]);
    }
    store(right + i, sum_each(sums));
  }
}

// What the finished rows of R take from strip k of the matrix and of the right-hand side.
inline void update_strip(const System& system, std::ptrdiff_t k, std::ptrdiff_t size) {
  const std::ptrdiff_t done = k * kBlock;
  gram_strip<Put::subtract>(k, done, system.matrix, size, system.matrix);
  for (std::ptrdiff_t column = done; column < done + kBlock; column += kLanes) {
    Lanes sums[4] = {};
    for (std::ptrdiff_t p = 0; p < done; p += 4)
#pragma GCC unroll 4
      for (int q = 0; q < 4; ++q)
        sums[q] = add_product(splat(system.right[p + q]),
                              load(system.matrix + (p + q) * size + column), sums[q]);
    float* right = system.right + column;
    store(right, load(right) - ((sums[0] + sums[1]) + (sums[2] + sums[3])));
  }
}

// Block k of R x = right, the later blocks of x being known.
inline void substitute_back(const System& system, std::ptrdiff_t k, std::ptrdiff_t size) {
  float* right = system.right + k * kBlock;
  for (std::ptrdiff_t i = 0; i < kBlock; i += kLanes) {
    const float* strip = system.matrix + (k * kBlock + i) * size;
    Lanes sums[kLanes] = {};
    for (std::ptrdiff_t column = (k + 1) * kBlock; column < size; column += kLanes) {
      const Lanes known = load(system.right + column);
#pragma GCC unroll 16
      for (int row = 0; row < kLanes; ++row)
        sums[row] = add_product(load(strip + row * size + column), known, sums[row]);
    }
    store(right + i, load(right + i) - sum_each(sums));
  }
  const float* inverse = system.inverses + k * kBlock * kBlock;
  Lanes solution[kParts][2] = {};
#pragma GCC unroll 16
  for (int i = 0; i < kBlock; ++i)
    for (int part = 0; part < kParts; ++part)
      solution[part][i % 2] =
          add_product(splat(right[i]), load(inverse + i * kBlock + part * kLanes),
                      solution[part][i % 2]);
  for (int part = 0; part < kParts; ++part)
    store(right + part * kLanes, solution[part][0] + solution[part][1]);
}

template <int Users>
void solve_together(System* systems, std::ptrdiff_t size) {
  Diagonal diagonals[Users];
  const std::ptrdiff_t blocks = size / kBlock;
  for (std::ptrdiff_t k = 0; k < blocks; ++k) {
    if (k > 0)
      for (int u = 0; u < Users; ++u) update_strip(systems[u], k, size);
    factor_diagonal<Users>(systems, k, size, diagonals);
    for (int u = 0; u < Users; ++u) finish_strip(systems[u], k, size, diagonals[u]);
  }
  for (std::ptrdiff_t k = blocks - 1; k >= 0; --k)
    for (int u = 0; u < Users; ++u) substitute_back(systems[u], k, size);
}

inline void solve_systems(System* systems, int count, std::ptrdiff_t size) {
  if (count == 4) solve_together<4>(systems, size);
  if (count == 3) solve_together<3>(systems, size);
  if (count == 2) solve_together<2>(systems, size);
  if (count == 1) solve_together<1>(systems, size);
}

}  // namespace tacit::TACIT_ISA

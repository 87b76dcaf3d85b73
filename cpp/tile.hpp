// SPDX-License-Identifier: Apache-2.0
// X^T X and its like, in tiles that stay in registers.
#pragma once

#include "lanes.hpp"

namespace tacit::TACIT_ISA {

// Matrices are cut into blocks of 16 x 16 whatever the registers' width.
constexpr std::ptrdiff_t kBlock = 16;
constexpr int kParts = kBlock / kLanes;

// A tile of kTileRows x kTileWide registers fills the register file and leaves room for operands.
#if defined(TACIT_ISA_avx512)
constexpr int kTileRows = 8, kTileWide = 3;
#elif defined(TACIT_ISA_avx2)
constexpr int kTileRows = 4, kTileWide = 3;
#else
constexpr int kTileRows = 4, kTileWide = 2;
#endif

enum class Put { replace, add, subtract };

// out[i][j] (=, +=, -=) sum_p x[p][i] y[p][j], in the order of p; all rows are `stride` apart.
template <int Rows, int Wide, Put How>
TACIT_INLINE void tile(std::ptrdiff_t depth, const float* x, const float* y, std::ptrdiff_t stride,
                       float* out) {
  Lanes sum[Rows][Wide] = {};
  for (std::ptrdiff_t p = 0; p < depth; ++p, x += stride, y += stride) {
    Lanes right[Wide];
#pragma GCC unroll 8
    for (int j = 0; j < Wide; ++j) right[j] = load(y + j * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
      const Lanes left = splat(x[i]);
#pragma GCC unroll 8
      for (int j = 0; j < Wide; ++j) sum[i][j] = add_product(left, right[j], sum[i][j]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < Wide; ++j) {
      float* to = out + i * stride + j * kLanes;
      if constexpr (How == Put::replace) store(to, sum[i][j]);
      if constexpr (How == Put::add) store(to, load(to) + sum[i][j]);
      if constexpr (How == Put::subtract) store(to, load(to) - sum[i][j]);
    }
  }
}

// Rows 16 k to 16 k + 15 of X^T X from the diagonal block to the right end, X being depth x size.
template <Put How>
void gram_strip(std::ptrdiff_t k, std::ptrdiff_t depth, const float* x, std::ptrdiff_t size,
                float* out) {
  for (std::ptrdiff_t i = k * kBlock; i < (k + 1) * kBlock; i += kTileRows) {
    float* row = out + i * size;
    std::ptrdiff_t j = k * kBlock;
    while (j < size) {
      const std::ptrdiff_t left = (size - j) / kLanes;
      // Four go as two and two: a single register's width cannot hide the latency of its sums.
      if (kTileWide >= 3 && left >= 3 && left != 4) {
        tile<kTileRows, 3, How>(depth, x + i, x + j, size, row + j);
        j += 3 * kLanes;
      } else if (left >= 2) {
        tile<kTileRows, 2, How>(depth, x + i, x + j, size, row + j);
        j += 2 * kLanes;
      } else {
        tile<kTileRows, 1, How>(depth, x + i, x + j, size, row + j);
        j += kLanes;
      }
    }
  }
}

// The upper triangle, in blocks, of X^T X.
template <Put How>
void gram(std::ptrdiff_t depth, const float* x, std::ptrdiff_t size, float* out) {
  for (std::ptrdiff_t k = 0; k < size / kBlock; ++k) gram_strip<How>(k, depth, x, size, out);
}

}  // namespace tacit::TACIT_ISA

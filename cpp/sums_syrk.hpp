// SPDX-License-Identifier: Apache-2.0
// sum_u a_u x_u x_u^T over a list of users, packed upper triangle, in tiles that stay in registers.
#pragma once

#include "sums_by_item.hpp"

namespace tacit::TACIT_ISA {

template <class Sums>
class Syrk {
  using Lane = typename Sums::Lane;
  using Vec = typename Vector<Lane>::type;
  static constexpr std::size_t lanes = Vector<Lane>::lanes;
  static constexpr std::size_t tile_columns = 2 * lanes;
  static constexpr std::size_t depth = 128;  // users gathered at once: a tile's panels fit the cache

 public:
  // `capacity`: how many users' products one lane may add before it is written back.
  Syrk(const std::int32_t* factors, std::size_t rank, std::uint64_t capacity)
      : factors_(factors),
        rank_(rank),
        depth_(capacity < depth ? static_cast<std::size_t>(capacity) : depth),
        plain_(depth * padded(rank, tile_columns)),
        scaled_(depth * padded(rank, tile_columns)),
        row_(padded(rank, tile_columns)) {
    std::memset(row_.get(), 0, padded(rank, tile_columns) * sizeof(Lane));
  }

  void add(const Rating* begin, const Rating* end, std::int64_t* out) {
    while (begin < end) {
      const std::size_t left = static_cast<std::size_t>(end - begin);
      const std::size_t count = left < depth_ ? left : depth_;
      gather(begin, count);
      for (std::size_t i = 0; i < rank_; i += tile_rows)
        for (std::size_t c = i / tile_columns * tile_columns; c < rank_; c += tile_columns)
          tile(i, c, count, out);
      begin += count;
    }
  }

 private:
  // Panels are laid out tile by tile, and user by user within a tile, so that `tile` reads on and on:
  // rows of a power-of-two length would share a few places of the cache.
  void gather(const Rating* ratings, std::size_t count) {
    Lane* padded_row = row_.get();
    for (std::size_t k = 0; k < count; ++k) {
      const std::int32_t* row = factors_ + static_cast<std::size_t>(ratings[k].user) * rank_;
      const Lane amount = Sums::from(ratings[k].amount);
      for (std::size_t c = 0; c < rank_; ++c) padded_row[c] = Sums::from(row[c]);
      for (std::size_t c = 0; c < rank_; c += tile_rows)
        std::memcpy(plain_.get() + c * depth_ + k * tile_rows, padded_row + c,
                    tile_rows * sizeof(Lane));
      for (std::size_t c = 0; c < rank_; c += tile_columns) {
        Lane* scaled = scaled_.get() + c * depth_ + k * tile_columns;
        for (std::size_t b = 0; b < tile_columns; ++b) scaled[b] = amount * padded_row[c + b];
      }
    }
  }

  // Rows i.. and columns c.. of the triangle: padding columns hold zeros and are not written.
  void tile(std::size_t i, std::size_t c, std::size_t count, std::int64_t* out) const {
    Vec left[tile_rows] = {}, right[tile_rows] = {};
    const Lane* plain = plain_.get() + i * depth_;
    const Lane* scaled = scaled_.get() + c * depth_;
    for (std::size_t k = 0; k < count; ++k, plain += tile_rows, scaled += tile_columns) {
      const Vec near = *reinterpret_cast<const Vec*>(scaled);
      const Vec far = *reinterpret_cast<const Vec*>(scaled + lanes);
#pragma GCC unroll 8
      for (std::size_t a = 0; a < tile_rows; ++a) {
        left[a] = add_product<Lane>(left[a], plain[a], near);
        right[a] = add_product<Lane>(right[a], plain[a], far);
      }
    }
    for (std::size_t a = 0; a < tile_rows && i + a < rank_; ++a) {
      std::int64_t sums[tile_columns];
      Sums::back(left[a], sums);
      Sums::back(right[a], sums + lanes);
      write(i + a, c, sums, out);
    }
  }

  void write(std::size_t row, std::size_t c, const std::int64_t* sums, std::int64_t* out) const {
    const std::size_t first = c > row ? c : row;
    std::int64_t* place = out + row * rank_ - row * (row + 1) / 2;  // column 0 of this row
    if (c > row && c + tile_columns <= rank_) {
      for (std::size_t b = 0; b < tile_columns; ++b) add_to(place[c + b], sums[b]);
      return;
    }
    const std::size_t stop = c + tile_columns < rank_ ? c + tile_columns : rank_;
    for (std::size_t b = first; b < stop; ++b) add_to(place[b], sums[b - c]);
  }

  const std::int32_t* factors_;
  std::size_t rank_, depth_;
  Scratch<Lane> plain_, scaled_, row_;
};

}  // namespace tacit::TACIT_ISA

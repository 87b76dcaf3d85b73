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
  static constexpr std::size_t depth = 48;  // users gathered at once: both panels fit the cache

 public:
  // `capacity`: how many users' products one lane may add before it is written back.
  Syrk(const std::int32_t* factors, std::size_t rank, std::uint64_t capacity)
      : factors_(factors),
        rank_(rank),
        width_(padded(rank, tile_columns)),
        depth_(capacity < depth ? static_cast<std::size_t>(capacity) : depth),
        plain_(depth * width_),
        scaled_(depth * width_) {
    std::memset(plain_.get(), 0, depth * width_ * sizeof(Lane));
    std::memset(scaled_.get(), 0, depth * width_ * sizeof(Lane));
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
  void gather(const Rating* ratings, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
      const std::int32_t* row = factors_ + static_cast<std::size_t>(ratings[k].user) * rank_;
      const Lane amount = Sums::from(ratings[k].amount);
      Lane* plain = plain_.get() + k * width_;
      Lane* scaled = scaled_.get() + k * width_;
      for (std::size_t c = 0; c < rank_; ++c) {
        const Lane x = Sums::from(row[c]);
        plain[c] = x;
        scaled[c] = amount * x;
      }
    }
  }

  // Rows i.. and columns c.. of the triangle: padding columns hold zeros and are not written.
  void tile(std::size_t i, std::size_t c, std::size_t count, std::int64_t* out) const {
    Vec left[tile_rows] = {}, right[tile_rows] = {};
    const Lane* plain = plain_.get() + i;
    const Lane* scaled = scaled_.get() + c;
    for (std::size_t k = 0; k < count; ++k, plain += width_, scaled += width_) {
      const Vec near = *reinterpret_cast<const Vec*>(scaled);
      const Vec far = *reinterpret_cast<const Vec*>(scaled + lanes);
#pragma GCC unroll 8
      for (std::size_t a = 0; a < tile_rows; ++a) {
        left[a] = add_product<Lane>(left[a], plain[a], near);
        right[a] = add_product<Lane>(right[a], plain[a], far);
      }
    }
    for (std::size_t a = 0; a < tile_rows && i + a < rank_; ++a) {
      Lane sums[tile_columns];
      std::memcpy(sums, &left[a], sizeof left[a]);
      std::memcpy(sums + lanes, &right[a], sizeof right[a]);
      write(i + a, c, sums, out);
    }
  }

  void write(std::size_t row, std::size_t c, const Lane* sums, std::int64_t* out) const {
    const std::size_t first = c > row ? c : row;
    std::int64_t* place = out + row * rank_ - row * (row + 1) / 2;  // column 0 of this row
    if (c > row && c + tile_columns <= rank_) {
      for (std::size_t b = 0; b < tile_columns; ++b) add_to(place[c + b], Sums::back(sums[b]));
      return;
    }
    const std::size_t stop = c + tile_columns < rank_ ? c + tile_columns : rank_;
    for (std::size_t b = first; b < stop; ++b) add_to(place[b], Sums::back(sums[b - c]));
  }

  const std::int32_t* factors_;
  std::size_t rank_, width_, depth_;
  Scratch<Lane> plain_, scaled_;
};

}  // namespace tacit::TACIT_ISA

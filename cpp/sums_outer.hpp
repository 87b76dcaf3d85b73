// SPDX-License-Identifier: Apache-2.0
// For every item the sum over its raters of amount times factor row, held in registers.
#pragma once

#include "sums_by_item.hpp"

namespace tacit::TACIT_ISA {

template <class Sums>
class Outer {
  using Lane = typename Sums::Lane;
  using Vec = typename Vector<Lane>::type;
  static constexpr std::size_t lanes = Vector<Lane>::lanes;

 public:
  // `capacity`: how many products one lane may add before it is written back.
  Outer(const std::int32_t* factors, std::size_t users, std::size_t rank, std::uint64_t capacity)
      : rank_(rank), width_(padded(rank, lanes)), capacity_(capacity), factors_(users * width_) {
    for (std::size_t u = 0; u < users; ++u) {
      Lane* row = factors_.get() + u * width_;
      for (std::size_t c = 0; c < rank; ++c) row[c] = Sums::from(factors[u * rank + c]);
      for (std::size_t c = rank; c < width_; ++c) row[c] = 0;
    }
  }

  void add(const Rating* begin, const Rating* end, std::int64_t* out) const {
    while (begin < end) {
      const std::size_t left = static_cast<std::size_t>(end - begin);
      const Rating* stop = left < capacity_ ? end : begin + capacity_;
      std::size_t c = 0;
      for (; c + 4 * lanes <= width_; c += 4 * lanes) columns<4>(begin, stop, c, out);
      for (; c < width_; c += lanes) columns<1>(begin, stop, c, out);
      begin = stop;
    }
  }

 private:
  template <std::size_t vectors>
  void columns(const Rating* begin, const Rating* end, std::size_t c, std::int64_t* out) const {
    Vec sums[vectors] = {};
    for (; begin < end; ++begin) {
      const Lane* row = factors_.get() + static_cast<std::size_t>(begin->user) * width_ + c;
      const Lane amount = Sums::from(begin->amount);
#pragma GCC unroll 4
      for (std::size_t v = 0; v < vectors; ++v)
        sums[v] = add_product<Lane>(sums[v], amount,
                                    *reinterpret_cast<const Vec*>(row + v * lanes));
    }
    Lane flat[vectors * lanes];
    std::memcpy(flat, sums, sizeof sums);
    const std::size_t count = c + vectors * lanes <= rank_ ? vectors * lanes : rank_ - c;
    for (std::size_t b = 0; b < count; ++b) add_to(out[c + b], Sums::back(flat[b]));
  }

  std::size_t rank_, width_;
  std::uint64_t capacity_;
  Scratch<Lane> factors_;
};

}  // namespace tacit::TACIT_ISA

// SPDX-License-Identifier: Apache-2.0
// A block turned over: for every item its ratings, in the order of the users.
#pragma once

#include "sums.hpp"
#include "sums_lanes.hpp"

namespace tacit::TACIT_ISA {

struct Rating {
  std::int32_t user;
  std::int32_t amount;
};

// Counting sort, so that an item's sums are made in registers and written once.
class ByItem {
 public:
  ByItem(const Rows& rows, const std::int32_t* amounts)
      : starts_(rows.n_items + 2), ratings_(rows.ratings) {
    std::memset(starts_.get(), 0, (rows.n_items + 2) * sizeof(std::uint32_t));
    std::uint32_t* next = starts_.get() + 1;
    for (std::size_t p = 0; p < rows.ratings; ++p) ++next[rows.items[p] + 1];
    for (std::size_t j = 0; j < rows.n_items; ++j) next[j + 1] += next[j];
    for (std::size_t u = 0; u < rows.users; ++u)
      for (std::int64_t p = rows.indptr[u]; p < rows.indptr[u + 1]; ++p)
        ratings_[next[rows.items[p]]++] = {static_cast<std::int32_t>(u), amounts[p]};
  }
  // next[j] has moved to the end of item j, which is the start of item j + 1.
  const Rating* begin(std::size_t item) const { return ratings_.get() + starts_[item]; }
  const Rating* end(std::size_t item) const { return ratings_.get() + starts_[item + 1]; }

 private:
  Scratch<std::uint32_t> starts_;
  Scratch<Rating> ratings_;
};

}  // namespace tacit::TACIT_ISA

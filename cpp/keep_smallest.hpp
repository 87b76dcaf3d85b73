// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tacit {

// kept[p]: is keys[p] among the `most` smallest of its row? Of equal keys the first ones are kept.
inline void keep_smallest(const std::int64_t* indptr, const std::uint64_t* keys, std::size_t users,
                          std::int64_t most, bool* kept) {
  std::vector<std::uint64_t> row;
  for (std::size_t u = 0; u < users; ++u) {
    const std::int64_t start = indptr[u], stop = indptr[u + 1];
    if (stop - start <= most || most <= 0) {
      std::fill(kept + start, kept + stop, most > 0);
      continue;
    }
    row.assign(keys + start, keys + stop);
    std::nth_element(row.begin(), row.begin() + (most - 1), row.end());
    const std::uint64_t last = row[static_cast<std::size_t>(most - 1)];
    std::int64_t ties = std::count(row.begin(), row.begin() + most, last);
    for (std::int64_t p = start; p < stop; ++p)
      kept[p] = keys[p] < last || (keys[p] == last && ties-- > 0);
  }
}

}  // namespace tacit

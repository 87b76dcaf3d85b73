// SPDX-License-Identifier: Apache-2.0
// Many small symmetric systems, one for each item. src/tacit/kernels/reference/items.py is the same
// in Python.
#pragma once

#include <cstddef>

namespace tacit {

struct ItemSolve {
  std::size_t items;
  std::size_t rank;
  const double* matrices;  // items x rank x rank; what is below the diagonal is not read
  const double* ridges;    // added to the diagonal of each
  const double* sides;     // items x rank
  double* solutions;       // items x rank; zeros where a matrix is not positive
  bool* positive;
};

#define TACIT_DECLARE_ITEMS(isa)               \
  namespace isa {                              \
  void solve_items(const ItemSolve& job);      \
  }
TACIT_DECLARE_ITEMS(generic)
TACIT_DECLARE_ITEMS(avx2)
TACIT_DECLARE_ITEMS(avx512)
#undef TACIT_DECLARE_ITEMS

}  // namespace tacit

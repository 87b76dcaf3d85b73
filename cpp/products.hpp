// SPDX-License-Identifier: Apache-2.0
// What users' factors say of the items they rated. src/tacit/kernels/reference/products.py is the
// same in Python.
#pragma once

#include <cstdint>

namespace tacit {

struct RowProducts {
  std::int64_t users;
  std::int64_t rank;
  const std::int64_t* indptr;  // users + 1, from 0
  const std::int32_t* items;
  const float* user_factors;
  const float* item_factors;
  float* products;  // one for each rating
};

#define TACIT_DECLARE_PRODUCTS(isa)              \
  namespace isa {                                \
  void row_products(const RowProducts& job);     \
  }
TACIT_DECLARE_PRODUCTS(generic)
TACIT_DECLARE_PRODUCTS(avx2)
TACIT_DECLARE_PRODUCTS(avx512)
#undef TACIT_DECLARE_PRODUCTS

}  // namespace tacit

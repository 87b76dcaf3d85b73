// SPDX-License-Identifier: Apache-2.0
// Exact integer sums over users. src/tacit/kernels/reference/sums.py says what each function
// computes; arguments are already checked (bind_sums.cpp): lengths agree, indptr ascends, items are
// in range.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tacit {

// Whole users' rows: user u rated items[indptr[u]] .. items[indptr[u + 1] - 1].
struct Rows {
  const std::int64_t* indptr;
  const std::int32_t* items;
  std::size_t users;
  std::size_t ratings;
  std::size_t n_items;
};

#define TACIT_DECLARE_SUMS(isa)                                                                    \
  namespace isa {                                                                                  \
  void snap_floats(const float* values, const std::int64_t* indptr, std::size_t users,             \
                   double step, std::int32_t limit, std::int32_t* out);                            \
  void snap_doubles(const double* values, const std::int64_t* indptr, std::size_t users,           \
                    double step, std::int32_t limit, std::int32_t* out);                           \
  void sum_floats(const float* values, const std::int64_t* indptr, std::size_t users,              \
                  double* out);                                                                    \
  void sum_doubles(const double* values, const std::int64_t* indptr, std::size_t users,            \
                   double* out);                                                                   \
  void hash_rows(const Rows& rows, std::uint64_t seed, std::uint64_t* out);                        \
  bool in_range(const std::int32_t* items, std::size_t count, std::size_t n_items);                \
  void scatter_sum(const std::int32_t* items, const std::int32_t* amounts, std::size_t count,      \
                   std::int64_t* out);                                                             \
  void scatter_outer(const Rows& rows, const std::int32_t* amounts, const std::int32_t* factors,   \
                     std::size_t rank, std::int64_t* out);                                         \
  void scatter_gram(const Rows& rows, const std::int32_t* amounts, const std::int32_t* factors,    \
                    std::size_t rank, std::int64_t* out);                                          \
  void gram(const std::int32_t* factors, const std::int32_t* amounts, std::size_t users,           \
            std::size_t rank, std::int64_t* out);                                                  \
  void scatter_pairs(const Rows& rows, const std::int32_t* amounts, std::int64_t* out);            \
  }

TACIT_DECLARE_SUMS(generic)
TACIT_DECLARE_SUMS(avx2)
TACIT_DECLARE_SUMS(avx512)
#undef TACIT_DECLARE_SUMS

}  // namespace tacit

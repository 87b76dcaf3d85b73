// SPDX-License-Identifier: Apache-2.0
#include "sums.hpp"

#include "sums_by_item.hpp"
#include "sums_outer.hpp"
#include "sums_rows.hpp"
#include "sums_split.hpp"
#include "sums_syrk.hpp"

namespace tacit::TACIT_ISA {

namespace {

// Below this many products between two write-backs the narrow sums are not worth their bookkeeping.
constexpr std::uint64_t worth_it = 8;
[[maybe_unused]] constexpr std::uint64_t worth_splitting = 32;

template <class Real>
void snap_all(const Real* values, const std::int64_t* indptr, std::size_t users, double step,
              std::int32_t limit, std::int32_t* out) {
  for (std::size_t u = 0; u < users; ++u)
    snap_one(values + indptr[u], static_cast<std::size_t>(indptr[u + 1] - indptr[u]), step, limit,
             out + indptr[u]);
}

template <class Real>
void sum_all(const Real* values, const std::int64_t* indptr, std::size_t users, double* out) {
  for (std::size_t u = 0; u < users; ++u) {
    double sum = 0;
    for (std::int64_t p = indptr[u]; p < indptr[u + 1]; ++p) sum += static_cast<double>(values[p]);
    out[u] = sum;
  }
}

template <class Sums>
void outer_with(const ByItem& by_item, const Rows& rows, const std::int32_t* factors,
                std::size_t rank, std::uint64_t capacity, std::int64_t* out) {
  const Outer<Sums> outer(factors, rows.users, rank, capacity);
  for (std::size_t j = 0; j < rows.n_items; ++j)
    outer.add(by_item.begin(j), by_item.end(j), out + j * rank);
}

template <class Way>
void grams_with(Way&& syrk, const ByItem& by_item, const Rows& rows, std::size_t rank,
                std::int64_t* out) {
  for (std::size_t j = 0; j < rows.n_items; ++j)
    syrk.add(by_item.begin(j), by_item.end(j), out + j * (rank * (rank + 1) / 2));
}

}  // namespace

void snap_floats(const float* values, const std::int64_t* indptr, std::size_t users, double step,
                 std::int32_t limit, std::int32_t* out) {
  snap_all(values, indptr, users, step, limit, out);
}

void snap_doubles(const double* values, const std::int64_t* indptr, std::size_t users, double step,
                  std::int32_t limit, std::int32_t* out) {
  snap_all(values, indptr, users, step, limit, out);
}

void sum_floats(const float* values, const std::int64_t* indptr, std::size_t users, double* out) {
  sum_all(values, indptr, users, out);
}

void sum_doubles(const double* values, const std::int64_t* indptr, std::size_t users, double* out) {
  sum_all(values, indptr, users, out);
}

void hash_rows(const Rows& rows, std::uint64_t seed, std::uint64_t* out) {
  for (std::size_t u = 0; u < rows.users; ++u) {
    std::uint64_t salt = 0;
    for (std::int64_t p = rows.indptr[u]; p < rows.indptr[u + 1]; ++p)
      salt += mix(static_cast<std::uint64_t>(rows.items[p]) + seed);
    salt = mix(salt ^ seed);
    for (std::int64_t p = rows.indptr[u]; p < rows.indptr[u + 1]; ++p)
      out[p] = mix(static_cast<std::uint64_t>(rows.items[p]) ^ salt);
  }
}

bool in_range(const std::int32_t* items, std::size_t count, std::size_t n_items) {
  std::uint32_t highest = 0;  // a negative index is a huge one
  for (std::size_t p = 0; p < count; ++p) {
    const std::uint32_t item = static_cast<std::uint32_t>(items[p]);
    highest = item > highest ? item : highest;
  }
  return count == 0 || highest < n_items;
}

void scatter_sum(const std::int32_t* items, const std::int32_t* amounts, std::size_t count,
                 std::int64_t* out) {
  for (std::size_t p = 0; p < count; ++p) add_to(out[items[p]], amounts[p]);
}

void scatter_outer(const Rows& rows, const std::int32_t* amounts, const std::int32_t* factors,
                   std::size_t rank, std::int64_t* out) {
  const ByItem by_item(rows, amounts);
  const Size product =
      static_cast<Size>(largest(amounts, rows.ratings)) * largest(factors, rows.users * rank);
  if (const std::uint64_t most = Int32Sums::capacity(product); most >= worth_it)
    outer_with<Int32Sums>(by_item, rows, factors, rank, most, out);
  else if (const std::uint64_t many = DoubleSums::capacity(product); many >= worth_it)
    outer_with<DoubleSums>(by_item, rows, factors, rank, many, out);
  else
    outer_with<WrappingSums>(by_item, rows, factors, rank, rows.ratings, out);
}

void scatter_gram(const Rows& rows, const std::int32_t* amounts, const std::int32_t* factors,
                  std::size_t rank, std::int64_t* out) {
  const ByItem by_item(rows, amounts);
  const std::uint64_t longest = largest(factors, rows.users * rank);
  const std::uint64_t heaviest = largest(amounts, rows.ratings);
#if defined(TACIT_ISA_avx512)
  if (const SplitSyrk::Cut cut = SplitSyrk::cut(heaviest, longest); cut.capacity >= worth_splitting)
    return grams_with(SplitSyrk(factors, rank, cut), by_item, rows, rank, out);
#endif
  const Size product = static_cast<Size>(longest) * longest * heaviest;
  if (const std::uint64_t most = DoubleSums::capacity(product); most >= worth_it)
    grams_with(Syrk<DoubleSums>(factors, rank, most), by_item, rows, rank, out);
  else
    grams_with(Syrk<WrappingSums>(factors, rank, rows.ratings), by_item, rows, rank, out);
}

void gram(const std::int32_t* factors, const std::int32_t* amounts, std::size_t users,
          std::size_t rank, std::int64_t* out) {
  const Scratch<Rating> all(users);
  for (std::size_t u = 0; u < users; ++u) all[u] = {static_cast<std::int32_t>(u), amounts[u]};
  const Size longest = largest(factors, users * rank);
  const Size product = longest * longest * largest(amounts, users);
  if (const std::uint64_t most = DoubleSums::capacity(product); most >= worth_it)
    Syrk<DoubleSums>(factors, rank, most).add(all.get(), all.get() + users, out);
  else
    Syrk<WrappingSums>(factors, rank, users).add(all.get(), all.get() + users, out);
}

void scatter_pairs(const Rows& rows, const std::int32_t* amounts, std::int64_t* out) {
  const ByItem by_item(rows, amounts);
  // Turned over twice, every user's row is in the order of the items.
  struct Entry {
    std::int32_t item;
    std::int32_t amount;
  };
  const Scratch<Entry> sorted(rows.ratings);
  const Scratch<std::int64_t> next(rows.users);
  for (std::size_t u = 0; u < rows.users; ++u) next[u] = rows.indptr[u];
  for (std::size_t j = 0; j < rows.n_items; ++j)
    for (const Rating* r = by_item.begin(j); r < by_item.end(j); ++r)
      sorted[static_cast<std::size_t>(next[r->user]++)] = {static_cast<std::int32_t>(j), r->amount};
  // Item by item, so that one row of the triangle stays in the cache.
  for (std::size_t u = 0; u < rows.users; ++u) next[u] = rows.indptr[u];
  for (std::size_t j = 0; j < rows.n_items; ++j) {
    std::int64_t* row = out + j * rows.n_items - j * (j + 1) / 2;
    for (const Rating* r = by_item.begin(j); r < by_item.end(j); ++r) {
      const Entry* entry = sorted.get() + next[r->user]++;
      const Entry* stop = sorted.get() + rows.indptr[r->user + 1];
      for (; entry < stop; ++entry)
        add_to(row[entry->item], static_cast<std::int64_t>(r->amount) * entry->amount);
    }
  }
}

}  // namespace tacit::TACIT_ISA

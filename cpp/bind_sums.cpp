// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "dispatch.hpp"
#include "keep_smallest.hpp"
#include "sums.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Sums = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using SumsTable = nb::ndarray<std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// Messages name the argument and the rule, never a value: values belong to users.
void require(bool holds, const char* rule) {
  if (!holds) throw std::invalid_argument(rule);
}

// A number of users, of rows that cover exactly `ratings` ratings.
std::size_t checked_users(const In<std::int64_t>& indptr, std::size_t ratings) {
  require(indptr.shape(0) >= 1, "indptr must have one entry more than there are users");
  const std::size_t users = indptr.shape(0) - 1;
  require(indptr.data()[0] == 0, "indptr must start at 0");
  bool ascends = true;
  for (std::size_t u = 0; u < users; ++u) ascends &= indptr.data()[u] <= indptr.data()[u + 1];
  require(ascends, "indptr must ascend");
  require(indptr.data()[users] == static_cast<std::int64_t>(ratings),
          "indptr must end at the number of ratings");
  require(users < (1u << 31) && ratings < (1ull << 32), "the block is too large: split it");
  return users;
}

void check_items(const In<std::int32_t>& items, std::size_t n_items) {
  if (!TACIT_PICK(in_range)(items.data(), items.shape(0), n_items))
    throw nb::index_error("an item index is outside the catalogue");
}

tacit::Rows checked_rows(const In<std::int64_t>& indptr, const In<std::int32_t>& items,
                         const In<std::int32_t>& amounts, std::size_t n_items) {
  require(amounts.shape(0) == items.shape(0), "amounts must be one per rating");
  const std::size_t users = checked_users(indptr, items.shape(0));
  check_items(items, n_items);
  return {indptr.data(), items.data(), users, items.shape(0), n_items};
}

template <class T>
Out<T> fresh(std::size_t count, T*& data) {
  data = new T[count + 1];
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return Out<T>(data, {count}, owner);
}

template <class Real>
Out<std::int32_t> snap_rows(In<Real> values, In<std::int64_t> indptr, double step,
                            std::int64_t limit) {
  require(limit > 0 && limit <= std::numeric_limits<std::int32_t>::max() && step > 0 &&
              std::isfinite(step),
          "step must be > 0 and limit in 1..2^31 - 1");
  std::int32_t* data = nullptr;
  const std::size_t users = checked_users(indptr, values.shape(0));
  Out<std::int32_t> out = fresh(values.shape(0), data);
  nb::gil_scoped_release released;
  const std::int32_t most = static_cast<std::int32_t>(limit);
  if constexpr (std::is_same_v<Real, float>)
    TACIT_PICK(snap_floats)(values.data(), indptr.data(), users, step, most, data);
  else
    TACIT_PICK(snap_doubles)(values.data(), indptr.data(), users, step, most, data);
  return out;
}

template <class Real>
Out<double> sum_rows(In<Real> values, In<std::int64_t> indptr) {
  double* data = nullptr;
  const std::size_t users = checked_users(indptr, values.shape(0));
  Out<double> out = fresh(users, data);
  nb::gil_scoped_release released;
  if constexpr (std::is_same_v<Real, float>)
    TACIT_PICK(sum_floats)(values.data(), indptr.data(), users, data);
  else
    TACIT_PICK(sum_doubles)(values.data(), indptr.data(), users, data);
  return out;
}

Out<std::uint64_t> hash_rows(In<std::int64_t> indptr, In<std::int32_t> items, nb::int_ seed) {
  const std::uint64_t low = nb::cast<std::uint64_t>(seed & nb::int_(~0ull));
  std::uint64_t* data = nullptr;
  const std::size_t users = checked_users(indptr, items.shape(0));
  Out<std::uint64_t> out = fresh(items.shape(0), data);
  nb::gil_scoped_release released;
  TACIT_PICK(hash_rows)({indptr.data(), items.data(), users, items.shape(0), 0}, low, data);
  return out;
}

Out<bool> keep_smallest(In<std::int64_t> indptr, In<std::uint64_t> keys, std::int64_t most) {
  bool* data = nullptr;
  const std::size_t users = checked_users(indptr, keys.shape(0));
  Out<bool> out = fresh(keys.shape(0), data);
  nb::gil_scoped_release released;
  tacit::keep_smallest(indptr.data(), keys.data(), users, most, data);
  return out;
}

void scatter_sum(In<std::int32_t> items, In<std::int32_t> amounts, Sums out) {
  nb::gil_scoped_release released;
  require(amounts.shape(0) == items.shape(0), "amounts must be one per rating");
  check_items(items, out.shape(0));
  TACIT_PICK(scatter_sum)(items.data(), amounts.data(), items.shape(0), out.data());
}

void scatter_outer(In<std::int64_t> indptr, In<std::int32_t> items, In<std::int32_t> amounts,
                   Table rows, SumsTable out) {
  nb::gil_scoped_release released;
  const tacit::Rows block = checked_rows(indptr, items, amounts, out.shape(0));
  require(rows.shape(0) == block.users, "rows must be one per user");
  require(rows.shape(1) == out.shape(1), "rows and out must have the same rank");
  TACIT_PICK(scatter_outer)(block, amounts.data(), rows.data(), rows.shape(1), out.data());
}

void scatter_gram(In<std::int64_t> indptr, In<std::int32_t> items, In<std::int32_t> amounts,
                  Table rows, SumsTable out) {
  nb::gil_scoped_release released;
  const tacit::Rows block = checked_rows(indptr, items, amounts, out.shape(0));
  const std::size_t rank = rows.shape(1);
  require(rows.shape(0) == block.users, "rows must be one per user");
  require(out.shape(1) == rank * (rank + 1) / 2, "out must hold rank (rank + 1) / 2 sums per item");
  TACIT_PICK(scatter_gram)(block, amounts.data(), rows.data(), rank, out.data());
}

void gram(Table rows, In<std::int32_t> amounts, Sums out) {
  nb::gil_scoped_release released;
  const std::size_t rank = rows.shape(1);
  require(rows.shape(0) == amounts.shape(0), "amounts must be one per user");
  require(rows.shape(0) < (1u << 31), "the block is too large: split it");
  require(out.shape(0) == rank * (rank + 1) / 2, "out must hold rank (rank + 1) / 2 sums");
  TACIT_PICK(gram)(rows.data(), amounts.data(), rows.shape(0), rank, out.data());
}

void scatter_pairs(In<std::int64_t> indptr, In<std::int32_t> items, In<std::int32_t> amounts,
                   Sums out) {
  nb::gil_scoped_release released;
  const double twice = 2.0 * static_cast<double>(out.shape(0));
  std::size_t n_items = static_cast<std::size_t>(std::sqrt(twice));
  while (n_items * (n_items + 1) / 2 > out.shape(0)) --n_items;
  while ((n_items + 1) * (n_items + 2) / 2 <= out.shape(0)) ++n_items;
  require(n_items * (n_items + 1) / 2 == out.shape(0), "out must be the packed triangle of items");
  const tacit::Rows block = checked_rows(indptr, items, amounts, n_items);
  TACIT_PICK(scatter_pairs)(block, amounts.data(), out.data());
}

}  // namespace

// noconvert everywhere: a silent copy would cost time, and sums added to a copy would be lost.
void bind_sums(nb::module_& module) {
  const auto values = nb::arg("values").noconvert(), indptr = nb::arg("indptr").noconvert(),
             items = nb::arg("items").noconvert(), amounts = nb::arg("amounts").noconvert(),
             rows = nb::arg("rows").noconvert(), keys = nb::arg("keys").noconvert(),
             out = nb::arg("out").noconvert();
  module.def("snap_rows", &snap_rows<float>, values, indptr, "step"_a, "limit"_a);
  module.def("snap_rows", &snap_rows<double>, values, indptr, "step"_a, "limit"_a);
  module.def("sum_rows", &sum_rows<float>, values, indptr);
  module.def("sum_rows", &sum_rows<double>, values, indptr);
  module.def("hash_rows", &hash_rows, indptr, items, "seed"_a);
  module.def("keep_smallest", &keep_smallest, indptr, keys, "most"_a);
  module.def("scatter_sum", &scatter_sum, items, amounts, out);
  module.def("scatter_outer", &scatter_outer, indptr, items, amounts, rows, out);
  module.def("scatter_gram", &scatter_gram, indptr, items, amounts, rows, out);
  module.def("gram", &gram, rows, amounts, out);
  module.def("scatter_pairs", &scatter_pairs, indptr, items, amounts, out);
}

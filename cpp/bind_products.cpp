// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>

#include "dispatch.hpp"
#include "products.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T, int Dimensions>
using Input = nb::ndarray<const T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
using Products = nb::ndarray<nb::numpy, float, nb::ndim<1>>;

// Messages name the argument and the rule, never a value: values belong to users.
void require(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

Products row_products(const Input<std::int64_t, 1>& indptr, const Input<std::int32_t, 1>& items,
                      const Input<float, 2>& user_factors, const Input<float, 2>& item_factors) {
  const auto ratings = static_cast<std::int64_t>(items.shape(0));
  require(indptr.shape(0) > 0 && user_factors.shape(0) == indptr.shape(0) - 1,
          "row_products: user_factors must have a row for each user");
  require(user_factors.shape(1) == item_factors.shape(1),
          "row_products: user_factors and item_factors must have the same rank");
  const auto users = static_cast<std::int64_t>(user_factors.shape(0));
  bool fine = indptr.data()[0] == 0 && indptr.data()[users] == ratings;
  for (std::int64_t u = 0; u < users; ++u) fine &= indptr.data()[u] <= indptr.data()[u + 1];
  require(fine, "row_products: indptr must rise from 0 to the number of items");
  const auto n_items = static_cast<std::int64_t>(item_factors.shape(0));
  for (std::int64_t p = 0; p < ratings; ++p)
    fine &= items.data()[p] >= 0 && items.data()[p] < n_items;
  if (!fine) throw nb::index_error("row_products: an item index is outside the catalogue");
  auto* products = new float[static_cast<std::size_t>(ratings) + 1];
  const nb::capsule owner(products, [](void* p) noexcept { delete[] static_cast<float*>(p); });
  {
    const nb::gil_scoped_release released;
    TACIT_PICK(row_products)
    ({users, static_cast<std::int64_t>(user_factors.shape(1)), indptr.data(), items.data(),
      user_factors.data(), item_factors.data(), products});
  }
  return Products(products, {static_cast<std::size_t>(ratings)}, owner);
}

}  // namespace

void bind_products(nb::module_& module) {
  module.def("row_products", &row_products, "indptr"_a.noconvert(), "items"_a.noconvert(),
             "user_factors"_a.noconvert(), "item_factors"_a.noconvert());
}

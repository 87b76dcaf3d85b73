// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

#include <cstddef>
#include <stdexcept>
#include <utility>

#include "dispatch.hpp"
#include "items.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <int Dimensions>
using Input = nb::ndarray<const double, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
using Solutions = nb::ndarray<nb::numpy, double, nb::ndim<2>>;
using Marks = nb::ndarray<nb::numpy, bool, nb::ndim<1>>;

void require(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

template <class T>
nb::capsule owner_of(T* data) {
  return nb::capsule(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
}

std::pair<Solutions, Marks> solve_items(const Input<3>& matrices, const Input<1>& ridges,
                                        const Input<2>& sides) {
  const std::size_t items = matrices.shape(0), rank = matrices.shape(1);
  require(matrices.shape(2) == rank, "solve_items: matrices must be square");
  require(ridges.shape(0) == items && sides.shape(0) == items,
          "solve_items: every matrix needs its ridge and its side");
  require(sides.shape(1) == rank, "solve_items: sides must be as long as matrices are wide");
  auto* solutions = new double[items * rank + 1];
  const nb::capsule solutions_owner = owner_of(solutions);
  auto* positive = new bool[items + 1];
  const nb::capsule positive_owner = owner_of(positive);
  {
    const nb::gil_scoped_release released;
    TACIT_PICK(solve_items)
    ({items, rank, matrices.data(), ridges.data(), sides.data(), solutions, positive});
  }
  return {Solutions(solutions, {items, rank}, solutions_owner),
          Marks(positive, {items}, positive_owner)};
}

}  // namespace

void bind_items(nb::module_& module) {
  module.def("solve_items", &solve_items, "matrices"_a.noconvert(), "ridges"_a.noconvert(),
             "sides"_a.noconvert());
}

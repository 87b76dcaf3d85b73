// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <bit>
#include <stdexcept>

#include "dispatch.hpp"
#include "noise.hpp"

namespace nb = nanobind;

template <class T, class Shape>
using Array = nb::ndarray<T, Shape, nb::c_contig, nb::device::cpu>;

static std::size_t rounded_gaussian(Array<const std::uint64_t, nb::ndim<1>> words,
                                    Array<const double, nb::shape<4, -1>> table, double sigma,
                                    Array<std::int64_t, nb::ndim<1>> out) {
  const std::size_t layers = table.shape(1);
  if (layers > 1024 || !std::has_single_bit(layers))
    throw std::invalid_argument("the table must have a power of two of layers, at most 1024");
  const double* rows = table.data();
  const tacit::Ziggurat ziggurat{rows, rows + layers, rows + 2 * layers, rows + 3 * layers, layers};
  const std::uint64_t* from = words.data();
  const std::size_t n_words = words.size();
  std::int64_t* to = out.data();
  const std::size_t n = out.size();
  nb::gil_scoped_release release;
  return TACIT_PICK(rounded_gaussian)(from, n_words, ziggurat, sigma, to, n);
}

void bind_noise(nb::module_& module) {
  module.def("rounded_gaussian", &rounded_gaussian, nb::arg("words"), nb::arg("table"), nb::arg("std"),
             nb::arg("out").noconvert());
}

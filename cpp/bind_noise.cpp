// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <bit>
#include <stdexcept>

#include "dispatch.hpp"
#include "noise.hpp"

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

static std::size_t rounded_gaussian(Vector<const std::uint64_t> words, Vector<const double> steps,
                                    Vector<const double> widths, Vector<const double> inner,
                                    Vector<const double> floors, Vector<const double> heights,
                                    Vector<std::int64_t> out) {
  const std::size_t layers = steps.size();
  if (layers > 1024 || !std::has_single_bit(layers))
    throw std::invalid_argument("the number of layers must be a power of two, at most 1024");
  if (widths.size() != layers || inner.size() != layers || floors.size() != layers || heights.size() != layers)
    throw std::invalid_argument("steps, widths, inner, floors and heights must be of one length");
  const tacit::Ziggurat table{steps.data(), widths.data(),  inner.data(),
                              floors.data(), heights.data(), layers};
  const std::uint64_t* from = words.data();
  const std::size_t n_words = words.size();
  std::int64_t* to = out.data();
  const std::size_t n = out.size();
  nb::gil_scoped_release release;
  return TACIT_PICK(rounded_gaussian)(from, n_words, table, to, n);
}

void bind_noise(nb::module_& module) {
  module.def("rounded_gaussian", &rounded_gaussian, nb::arg("words"), nb::arg("steps"), nb::arg("widths"),
             nb::arg("inner"), nb::arg("floors"), nb::arg("heights"), nb::arg("out").noconvert());
}

// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "dispatch.hpp"

namespace nb = nanobind;

void bind_descend(nb::module_& module);
void bind_items(nb::module_& module);
void bind_solve(nb::module_& module);
void bind_sums(nb::module_& module);
void bind_noise(nb::module_& module);
void bind_products(nb::module_& module);
void bind_rank(nb::module_& module);
void bind_replay(nb::module_& module);
void bind_sgd(nb::module_& module);

NB_MODULE(_kernels, module) {
  module.def("isa", [] {
    switch (tacit::chosen_isa()) {
      case tacit::Isa::avx512: return std::string("avx512");
      case tacit::Isa::avx2: return std::string("avx2");
      default: return std::string("generic");
    }
  });
  bind_descend(module);
  bind_items(module);
  bind_solve(module);
  bind_sums(module);
  bind_noise(module);
  bind_products(module);
  bind_rank(module);
  bind_replay(module);
  bind_sgd(module);
}

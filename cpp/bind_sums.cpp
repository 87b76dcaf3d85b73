// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_sums(nb::module_&) {}

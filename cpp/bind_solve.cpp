// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "dispatch.hpp"
#include "solve.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Array = nb::ndarray<nb::ro, nb::device::cpu>;

// Messages name the argument and the rule, never a value: values belong to users.
void require(bool holds, const std::string& message) {
  if (!holds) throw std::invalid_argument("solve_users: " + message);
}

template <class T>
const T* checked(const Array& array, const char* name, std::size_t dimensions, const char* type) {
  const std::string is = std::string(name) + " must be ";
  require(array.dtype() == nb::dtype<T>(), is + type);
  require(array.ndim() == dimensions, is + std::to_string(dimensions) + "-dimensional");
  std::int64_t expected = 1;
  bool contiguous = true;
  for (std::size_t axis = dimensions; axis-- > 0;) {
    contiguous &= array.shape(axis) <= 1 || array.stride(axis) == expected;
    expected *= static_cast<std::int64_t>(array.shape(axis));
  }
  require(contiguous || array.size() == 0, is + "C-contiguous: pass numpy.ascontiguousarray of it");
  return static_cast<const T*>(array.data());
}

void check_rows(const tacit::UserSolve& job, std::int64_t ratings) {
  bool ascending = job.indptr[0] >= 0 && job.indptr[job.users] <= ratings;
  for (std::int64_t u = 0; u < job.users; ++u) ascending &= job.indptr[u] <= job.indptr[u + 1];
  require(ascending, "indptr must ascend within 0 and the number of items, targets and weights");
  bool positive = true;
  for (std::int64_t u = 0; u < job.users; ++u)
    positive &= job.ridge[u] > 0.0f && job.ridge[u] <= 3.4028234e38f;
  require(positive, "ridge must be positive and finite for every user");
}

void check_ratings(const tacit::UserSolve& job, std::int64_t n_items, std::int64_t ratings) {
  bool inside = true, weighable = true;
  for (std::int64_t p = 0; p < ratings; ++p) {
    inside &= job.items[p] >= 0 && job.items[p] < n_items;
    weighable &= job.weights[p] >= 0.0f && job.weights[p] <= 3.4028234e38f;
  }
  if (!inside)
    throw nb::index_error("solve_users: items must be row numbers of factors, from 0 on");
  require(weighable, "weights must be at least 0 and finite");
}

bool any_nonzero(const float* values, std::int64_t count) {
  bool found = false;
  for (std::int64_t i = 0; i < count; ++i) found |= values[i] != 0.0f;
  return found;
}

nb::ndarray<nb::numpy, float, nb::ndim<2>> solve_users(const Array& indptr, const Array& items,
                                                       const Array& targets, const Array& weights,
                                                       const Array& factors, const Array& ridge,
                                                       const Array& prior) {
  tacit::UserSolve job{};
  job.indptr = checked<std::int64_t>(indptr, "indptr", 1, "int64");
  job.items = checked<std::int32_t>(items, "items", 1, "int32");
  job.targets = checked<float>(targets, "targets", 1, "float32");
  job.weights = checked<float>(weights, "weights", 1, "float32");
  job.factors = checked<float>(factors, "factors", 2, "float32");
  job.ridge = checked<float>(ridge, "ridge", 1, "float32");
  job.prior = checked<float>(prior, "prior", 2, "float32");
  require(indptr.size() >= 1, "indptr must have one entry more than there are users");
  const std::size_t users = indptr.size() - 1, rank = factors.shape(1);
  require(rank >= 1, "factors must have at least one column");
  require(targets.size() == items.size(), "targets must be as long as items");
  require(weights.size() == items.size(), "weights must be as long as items");
  require(ridge.size() == users, "ridge must have one entry for each user");
  require(prior.shape(0) == rank && prior.shape(1) == rank,
          "prior must have as many rows and columns as factors has columns");
  job.users = static_cast<std::int64_t>(users);
  job.rank = static_cast<std::int64_t>(rank);

  job.solved = new float[users * rank + 1];
  const nb::capsule owner(job.solved, [](void* p) noexcept { delete[] static_cast<float*>(p); });
  {
    const nb::gil_scoped_release released;
    const auto ratings = static_cast<std::int64_t>(items.size());
    check_rows(job, ratings);
    check_ratings(job, static_cast<std::int64_t>(factors.shape(0)), ratings);
    if (!any_nonzero(job.prior, job.rank * job.rank)) job.prior = nullptr;
    TACIT_PICK(solve_users)(job);
  }
  return {job.solved, {users, rank}, owner};
}

}  // namespace

void bind_solve(nb::module_& module) {
  module.def("solve_users", &solve_users, "indptr"_a, "items"_a, "targets"_a, "weights"_a,
             "factors"_a, "ridge"_a, "prior"_a);
}

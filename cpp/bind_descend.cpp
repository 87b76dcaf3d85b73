// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "descend.hpp"
#include "dispatch.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T, int dimensions>
using Array = nb::ndarray<const T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;

// Messages name the argument and the rule, never a value: values belong to users.
void require(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(std::string("descend_users: ") + message);
}

void check_rows(const tacit::UserDescent& job, std::int64_t ratings, std::int64_t n_items) {
  bool ascending = job.indptr[0] >= 0 && job.indptr[job.users] <= ratings;
  for (std::int64_t u = 0; u < job.users; ++u) ascending &= job.indptr[u] <= job.indptr[u + 1];
  require(ascending, "indptr must ascend within 0 and the number of items and targets");
  bool inside = true;
  for (std::int64_t p = 0; p < ratings; ++p) inside &= job.items[p] >= 0 && job.items[p] < n_items;
  if (!inside)
    throw nb::index_error("descend_users: items must be row numbers of factors, from 0 on");
}

nb::ndarray<nb::numpy, float, nb::ndim<2>> descend_users(
    const Array<std::int64_t, 1>& indptr, const Array<std::int32_t, 1>& items,
    const Array<float, 1>& targets, const Array<float, 2>& factors, const Array<float, 2>& start,
    const Array<float, 2>& turn, const Array<float, 1>& rates, float ridge) {
  const std::size_t users = start.shape(0), rank = factors.shape(1);
  require(rank >= 1, "factors must have at least one column");
  require(indptr.size() == users + 1, "indptr must have one entry more than there are users");
  require(start.shape(1) == rank, "start must have as many columns as factors");
  require(targets.size() == items.size(), "targets must be as long as items");
  require(rates.size() == users, "rates must have one entry for each user");
  require(turn.shape(0) == rank && turn.shape(1) == rank,
          "turn must have as many rows and columns as factors has columns");
  tacit::UserDescent job{};
  job.users = static_cast<std::int64_t>(users);
  job.rank = static_cast<std::int64_t>(rank);
  job.indptr = indptr.data();
  job.items = items.data();
  job.targets = targets.data();
  job.factors = factors.data();
  job.start = start.data();
  job.turn = turn.data();
  job.rates = rates.data();
  job.ridge = ridge;
  job.moved = new float[users * rank + 1];
  const nb::capsule owner(job.moved, [](void* p) noexcept { delete[] static_cast<float*>(p); });
  {
    const nb::gil_scoped_release released;
    check_rows(job, static_cast<std::int64_t>(items.size()),
               static_cast<std::int64_t>(factors.shape(0)));
    TACIT_PICK(descend_users)(job);
  }
  return {job.moved, {users, rank}, owner};
}

}  // namespace

void bind_descend(nb::module_& module) {
  module.def("descend_users", &descend_users, "indptr"_a.noconvert(), "items"_a.noconvert(),
             "targets"_a.noconvert(), "factors"_a.noconvert(), "start"_a.noconvert(),
             "turn"_a.noconvert(), "rates"_a.noconvert(), "ridge"_a);
}

// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

#include <cmath>
#include <stdexcept>
#include <utility>

#include "dispatch.hpp"
#include "replay.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <std::size_t Axes>
using Out = nb::ndarray<nb::numpy, float, nb::ndim<Axes>>;

// Messages name the argument and the rule, never a value: values belong to users.
void require(bool holds, const char* rule) {
  if (!holds) throw std::invalid_argument(rule);
}

void check_rows(const tacit::Replay& job, std::int64_t ratings, std::int64_t n_items) {
  bool ascends = job.indptr[0] == 0 && job.indptr[job.users] == ratings;
  for (std::int64_t u = 0; u < job.users; ++u) ascends &= job.indptr[u] <= job.indptr[u + 1];
  require(ascends, "indptr must ascend from 0 to the number of items");
  bool inside = true;
  for (std::int64_t p = 0; p < ratings; ++p)
    inside &= job.items[p] >= 0 && job.items[p] < n_items;
  if (!inside) throw nb::index_error("an item index is outside the catalogue");
}

float* fresh(std::size_t count, nb::capsule& owner) {
  float* data = new float[count + 1];
  owner = nb::capsule(data, [](void* p) noexcept { delete[] static_cast<float*>(p); });
  return data;
}

std::pair<Out<2>, Out<1>> replay_users(In<std::int64_t> indptr, In<std::int32_t> items,
                                       In<float> targets, Table directions, In<float> pulls,
                                       double keep, double length) {
  require(indptr.shape(0) >= 1, "indptr must have one entry more than there are users");
  require(targets.shape(0) == items.shape(0), "targets must be one per rating");
  require(pulls.shape(0) == directions.shape(1), "pulls must be one per direction");
  require(length > 0 && std::isfinite(length), "length must be a positive number");
  const std::size_t users = indptr.shape(0) - 1, steps = directions.shape(1);
  nb::capsule of_factors, of_residuals;
  tacit::Replay job{};
  job.users = static_cast<std::int64_t>(users);
  job.steps = static_cast<std::int64_t>(steps);
  job.indptr = indptr.data();
  job.items = items.data();
  job.targets = targets.data();
  job.directions = directions.data();
  job.pulls = pulls.data();
  job.keep = static_cast<float>(keep);
  job.length = static_cast<float>(length);
  job.factors = fresh(users * steps, of_factors);
  job.residuals = fresh(items.shape(0), of_residuals);
  {
    const nb::gil_scoped_release released;
    check_rows(job, static_cast<std::int64_t>(items.shape(0)),
               static_cast<std::int64_t>(directions.shape(0)));
    TACIT_PICK(replay_users)(job);
  }
  return {Out<2>(job.factors, {users, steps}, of_factors),
          Out<1>(job.residuals, {items.shape(0)}, of_residuals)};
}

}  // namespace

void bind_replay(nb::module_& module) {
  module.def("replay_users", &replay_users, "indptr"_a, "items"_a, "targets"_a, "directions"_a,
             "pulls"_a, "keep"_a, "length"_a);
}

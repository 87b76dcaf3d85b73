// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>

#include "dispatch.hpp"
#include "sgd.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T, int Dimensions>
using Input = nb::ndarray<const T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
template <class T, int Dimensions>
using Changed = nb::ndarray<T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;

// Messages name the argument and the rule, never a value: values belong to users.
void require(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

bool rise(const std::int64_t* bounds, std::int64_t count, std::int64_t last) {
  bool fine = bounds[0] == 0 && bounds[count] == last;
  for (std::int64_t i = 0; i < count; ++i) fine &= bounds[i] <= bounds[i + 1];
  return fine;
}

bool inside(const std::int32_t* rows, std::int64_t count, std::int64_t limit) {
  bool fine = true;
  for (std::int64_t i = 0; i < count; ++i) fine &= rows[i] >= 0 && rows[i] < limit;
  return fine;
}

void sgd_tasks(const Input<std::int64_t, 1>& task_visits, const Input<std::int64_t, 1>& visit_ratings,
               const Input<std::int32_t, 1>& visit_user, const Input<std::int32_t, 1>& items,
               const Input<float, 1>& values, const Input<float, 1>& step, const Changed<float, 2>& U,
               const Changed<float, 2>& V, const Changed<float, 1>& user_offsets,
               const Changed<float, 1>& item_offsets, const Changed<std::int64_t, 1>& board) {
  require(U.shape(1) == V.shape(1) && U.shape(1) % 16 == 0 && U.shape(1) > 0,
          "sgd_tasks: U and V must have rows of the same multiple of 16 floats");
  require(user_offsets.shape(0) == U.shape(0) && item_offsets.shape(0) == V.shape(0),
          "sgd_tasks: there must be one offset for each row");
  require(step.shape(0) == 3, "sgd_tasks: step must be mean, rate, ridge");
  require(task_visits.shape(0) > 0 && visit_ratings.shape(0) == visit_user.shape(0) + 1,
          "sgd_tasks: visit_ratings must have one entry more than visits");
  require(items.shape(0) == values.shape(0), "sgd_tasks: every item needs its value");
  require(board.shape(0) % 2 == 1, "sgd_tasks: board must be a counter and two of each group");
  const auto tasks = static_cast<std::int64_t>(task_visits.shape(0)) - 1;
  const auto groups = static_cast<std::int64_t>(board.shape(0)) / 2;
  require(groups == 0 || tasks == groups * groups, "sgd_tasks: tasks must be groups * groups");
  const auto visits = static_cast<std::int64_t>(visit_user.shape(0));
  require(rise(task_visits.data(), tasks, visits) &&
              rise(visit_ratings.data(), visits, static_cast<std::int64_t>(items.shape(0))),
          "sgd_tasks: tasks and visits must rise to the number of visits and ratings");
  const tacit::SgdChunk chunk{tasks, task_visits.data(), visit_ratings.data(), visit_user.data(),
                              items.data(), values.data()};
  const tacit::SgdStep how{step.data()[0], step.data()[1], step.data()[2]};
  const tacit::SgdModel model{static_cast<std::int64_t>(U.shape(1)), U.data(), V.data(),
                              user_offsets.data(), item_offsets.data()};
  const tacit::SgdBoard meeting{groups, board.data(), board.data() + 1, board.data() + 1 + groups};
  const nb::gil_scoped_release released;
  require(inside(visit_user.data(), visits, static_cast<std::int64_t>(U.shape(0))) &&
              inside(items.data(), static_cast<std::int64_t>(items.shape(0)),
                     static_cast<std::int64_t>(V.shape(0))),
          "sgd_tasks: users and items must be numbers of rows");
  TACIT_PICK(sgd_tasks)(chunk, how, model, meeting);
}

void add_rows(const Input<std::int32_t, 1>& rows, const Input<float, 1>& scale,
              const Input<std::int64_t, 2>& noise, const Changed<float, 2>& out) {
  const auto count = static_cast<std::int64_t>(rows.shape(0));
  require(scale.shape(0) == rows.shape(0) && noise.shape(0) == rows.shape(0),
          "add_rows: rows, scale and noise must be equally many");
  require(noise.shape(1) <= out.shape(1), "add_rows: noise must not be wider than the rows");
  require(inside(rows.data(), count, static_cast<std::int64_t>(out.shape(0))),
          "add_rows: rows must be numbers of rows");
  const nb::gil_scoped_release released;
  TACIT_PICK(add_rows)
  (rows.data(), scale.data(), noise.data(), count, static_cast<std::int64_t>(noise.shape(1)),
   static_cast<std::int64_t>(out.shape(1)), out.data());
}

}  // namespace

void bind_sgd(nb::module_& module) {
  module.def("sgd_tasks", &sgd_tasks, "task_visits"_a.noconvert(), "visit_ratings"_a.noconvert(),
             "visit_user"_a.noconvert(), "items"_a.noconvert(), "values"_a.noconvert(),
             "step"_a.noconvert(), "U"_a.noconvert(), "V"_a.noconvert(),
             "user_offsets"_a.noconvert(), "item_offsets"_a.noconvert(), "board"_a.noconvert());
  module.def("add_rows", &add_rows, "rows"_a.noconvert(), "scale"_a.noconvert(),
             "noise"_a.noconvert(), "out"_a.noconvert());
}

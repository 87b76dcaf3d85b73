// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent on a matrix factorisation (Liu, Wang, Smola, 2015, Algorithm 2).
// src/tacit/kernels/reference/sgd.py is the same in Python.
#pragma once

#include <cstdint>

namespace tacit {

// The state that is trained: rows of `stride` floats, zeros beyond the rank, so that every row is whole
// registers of every instruction set.
struct SgdModel {
  std::int64_t stride;
  float* users;
  float* items;
  float* user_offsets;
  float* item_offsets;
};

struct SgdStep {
  float mean;   // of all ratings
  float rate;   // step size
  float ridge;  // of rows and offsets alike, once for each rating
};

// Ratings of one chunk of users in the order in which they are taken: task by task, visit by visit (one
// user's ratings of one tier of items), rating by rating.
struct SgdChunk {
  std::int64_t tasks;
  const std::int64_t* task_visits;    // tasks + 1: first visit of each
  const std::int64_t* visit_ratings;  // visits + 1: first rating of each
  const std::int32_t* visit_user;
  const std::int32_t* items;
  const float* values;
};

// Where the threads of one chunk meet: zeros at first. Task t = s * groups + i holds the ratings of user
// group i on item group (i + s) mod groups. Groups of 0: tasks share items, and nobody waits (Hogwild).
struct SgdBoard {
  std::int64_t groups;
  std::int64_t* next_task;
  std::int64_t* users_done;  // groups: tasks done with each user group
  std::int64_t* items_done;  // groups: likewise with each item group
};

// sgd_tasks takes tasks from the board until none is left. With groups, two tasks that share a user or an
// item always run in the same order, so the bits do not depend on how many threads take part.
// add_rows: to row rows[p] add scale[p] * noise[p], for every p.
#define TACIT_DECLARE_SGD(isa)                                                                   \
  namespace isa {                                                                                \
  void sgd_tasks(const SgdChunk& chunk, const SgdStep& step, const SgdModel& model,              \
                 const SgdBoard& board);                                                         \
  void add_rows(const std::int32_t* rows, const float* scale, const std::int64_t* noise,         \
                std::int64_t count, std::int64_t width, std::int64_t stride, float* out);        \
  }
TACIT_DECLARE_SGD(generic)
TACIT_DECLARE_SGD(avx2)
TACIT_DECLARE_SGD(avx512)
#undef TACIT_DECLARE_SGD

}  // namespace tacit

// SPDX-License-Identifier: Apache-2.0
// One user's system once more in double precision, for the rare one that float cannot carry.
#pragma once

#include <cfloat>

#include "solve.hpp"

namespace tacit::TACIT_ISA {

// Doubles hold any product of three finite floats, so the sums do not overflow. A coordinate whose
// pivot is rounding noise beside its diagonal depends on those before it and is left at zero: a
// division by noise could grow without limit. A solution beyond float is cut to the largest one.
// `space` holds rank * (rank + 3) doubles.
inline void solve_in_double(const UserSolve& job, std::int64_t user, double* space) {
  const std::int64_t rank = job.rank;
  double* gram = space;
  double* right = gram + rank * rank;
  double* row = right + rank;
  double* noise = row + rank;
  const double ridge = job.ridge[user];
  for (std::int64_t i = 0; i < rank; ++i) {
    right[i] = 0.0;
    for (std::int64_t j = 0; j < rank; ++j)
      gram[i * rank + j] = (job.prior ? job.prior[i * rank + j] : 0.0) + (i == j ? ridge : 0.0);
  }
  for (std::int64_t p = job.indptr[user]; p < job.indptr[user + 1]; ++p) {
    const float* factor = job.factors + job.items[p] * rank;
    for (std::int64_t i = 0; i < rank; ++i) row[i] = factor[i];
    for (std::int64_t i = 0; i < rank; ++i) {
      const double weighted = job.weights[p] * row[i];
      right[i] += weighted * job.targets[p];
      for (std::int64_t j = i; j < rank; ++j) gram[i * rank + j] += weighted * row[j];
    }
  }
  for (std::int64_t i = 0; i < rank; ++i)
    noise[i] = 4 * DBL_EPSILON * static_cast<double>(rank) * gram[i * rank + i];
  for (std::int64_t i = 0; i < rank; ++i) {
    double* pivot_row = gram + i * rank;
    const double pivot = pivot_row[i];
    const double scale =
        pivot >= 0.5 * ridge && pivot > noise[i] ? 1.0 / __builtin_sqrt(pivot) : 0.0;
    pivot_row[i] = scale;
    right[i] *= scale;
    for (std::int64_t j = i + 1; j < rank; ++j) pivot_row[j] *= scale;
    for (std::int64_t k = i + 1; k < rank; ++k) {
      right[k] -= pivot_row[k] * right[i];
      for (std::int64_t j = k; j < rank; ++j) gram[k * rank + j] -= pivot_row[k] * pivot_row[j];
    }
  }
  for (std::int64_t i = rank - 1; i >= 0; --i) {
    for (std::int64_t j = i + 1; j < rank; ++j) right[i] -= gram[i * rank + j] * right[j];
    right[i] *= gram[i * rank + i];
    right[i] = right[i] > FLT_MAX ? FLT_MAX : right[i] < -FLT_MAX ? -FLT_MAX : right[i];
    job.solved[user * rank + i] = static_cast<float>(right[i]);
  }
}

}  // namespace tacit::TACIT_ISA

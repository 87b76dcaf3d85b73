// SPDX-License-Identifier: Apache-2.0
// Regularised least squares of each user alone, given public item factors.
#pragma once

#include <cstdint>

namespace tacit {

// Row u of `solved` minimises
//   sum_p weights[p] (targets[p] - x . factors[items[p]])^2 + x^T (ridge[u] I + prior) x
// over the ratings p of user u, indptr[u] <= p < indptr[u + 1]; zeros for a user without ratings.
// The caller has checked every index; weights >= 0, ridge > 0, prior symmetric PSD or null for
// none.
//
// The bits of a row depend on that user's ratings and on the public inputs only, never on the
// other users of the call, because every choice below is made from her number of ratings and rank.
struct UserSolve {
  std::int64_t users;
  std::int64_t rank;
  const std::int64_t* indptr;
  const std::int32_t* items;
  const float* targets;
  const float* weights;
  const float* factors;  // items x rank
  const float* ridge;    // one per user
  const float* prior;    // rank x rank
  float* solved;         // users x rank
};

namespace generic {
void solve_users(const UserSolve& job);
}
namespace avx2 {
void solve_users(const UserSolve& job);
}
namespace avx512 {
void solve_users(const UserSolve& job);
}

}  // namespace tacit

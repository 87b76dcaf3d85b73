// SPDX-License-Identifier: Apache-2.0
// One step of gradient descent of each user alone, given public item factors.
#pragma once

#include <cstdint>

namespace tacit {

// Row u of `moved` is
//   x turn + rates[u] (sum_p (targets[p] - x . v_p) v_p - ridge x)
// with x row u of `start`, over the ratings p of user u, and v_p = factors[items[p]].
// The caller has checked every index. The bits of a row depend on that user's ratings and on the
// public inputs only, never on the other users of the call.
struct UserDescent {
  std::int64_t users;
  std::int64_t rank;
  const std::int64_t* indptr;
  const std::int32_t* items;
  const float* targets;
  const float* factors;  // items x rank
  const float* start;    // users x rank
  const float* turn;     // rank x rank
  const float* rates;    // one per user
  float ridge;
  float* moved;  // users x rank
};

namespace generic {
void descend_users(const UserDescent& job);
}
namespace avx2 {
void descend_users(const UserDescent& job);
}
namespace avx512 {
void descend_users(const UserDescent& job);
}

}  // namespace tacit

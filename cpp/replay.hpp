// SPDX-License-Identifier: Apache-2.0
// Private Frank-Wolfe as one user replays it from the released directions. What is computed:
// src/tacit/kernels/reference/replay.py.
#pragma once

#include <cstdint>

namespace tacit {

// The caller has checked every index. The bits of a user's results depend on her own ratings and on
// the public inputs only, never on the other users of the call.
struct Replay {
  std::int64_t users;
  std::int64_t steps;  // directions
  const std::int64_t* indptr;
  const std::int32_t* items;
  const float* targets;
  const float* directions;  // items x steps
  const float* pulls;       // one per step
  float keep;
  float length;
  float* factors;    // users x steps
  float* residuals;  // one per rating
};

namespace generic {
void replay_users(const Replay& job);
}
namespace avx2 {
void replay_users(const Replay& job);
}
namespace avx512 {
void replay_users(const Replay& job);
}

}  // namespace tacit

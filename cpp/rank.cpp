// SPDX-License-Identifier: Apache-2.0
#include "rank.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "lanes.hpp"
#include "rank_heap.hpp"

namespace tacit::TACIT_ISA {

namespace {

// Users of one tile; registers across a tile; tiles that make up a panel.
constexpr std::ptrdiff_t kUsers = kLanes == 16 ? 8 : 4;
constexpr std::ptrdiff_t kWide = kLanes == 4 ? 2 : 3;
constexpr std::ptrdiff_t kAcross = kWide * kLanes;
static_assert(kPanel % kAcross == 0);

// Users whose factors stay in the cache beside one panel of items.
constexpr std::ptrdiff_t kGroup = 48;
static_assert(kGroup % kUsers == 0);

// out[i][j] = offset_j + sum_k x[k][i] panel[1 + k][j] for Rows users and kAcross items.
template <int Rows>
TACIT_INLINE void score_tile(std::ptrdiff_t rank, const float* x, const float* panel, float* out) {
  Lanes sum[Rows][kWide];
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kWide; ++j) sum[i][j] = load(panel + j * kLanes);
  }
  for (std::ptrdiff_t k = 0; k < rank; ++k, x += kUsers) {
    panel += kPanel;
    Lanes right[kWide];
#pragma GCC unroll 8
    for (int j = 0; j < kWide; ++j) right[j] = load(panel + j * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
      const Lanes left = splat(x[i]);
#pragma GCC unroll 8
      for (int j = 0; j < kWide; ++j) sum[i][j] = add_product(left, right[j], sum[i][j]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kWide; ++j) store(out + i * kPanel + j * kLanes, sum[i][j]);
  }
}

// What the users of one group have found so far.
class Group {
 public:
  explicit Group(const RankUsers& job)
      : job_(job), x_(static_cast<std::size_t>(kGroup * std::max<std::int64_t>(job.rank, 1))) {}

  void rank(std::ptrdiff_t first, std::ptrdiff_t users) {
    start(first, users);
    const std::ptrdiff_t stride = (1 + job_.rank) * kPanel;
    const float* panel = job_.packed;
    for (std::ptrdiff_t item = 0; item < job_.items; item += kPanel, panel += stride)
      for (std::ptrdiff_t u = 0; u < users; u += kUsers)
        visit(panel, item, u, std::min(kUsers, users - u));
    for (std::ptrdiff_t u = 0; u < users; ++u)
      best_[u].write(job_.chosen + (first + u) * job_.n, job_.scores + (first + u) * job_.n);
  }

 private:
  // Factors of kUsers users lie side by side; beyond the last user they are zero.
  void start(std::ptrdiff_t first, std::ptrdiff_t users) {
    std::fill(x_.begin(), x_.end(), 0.0f);
    for (std::ptrdiff_t u = 0; u < users; ++u) {
      const float* row = job_.factors + (first + u) * job_.rank;
      float* to = x_.data() + (u / kUsers) * kUsers * job_.rank + u % kUsers;
      for (std::ptrdiff_t k = 0; k < job_.rank; ++k) to[k * kUsers] = row[k];
      best_[u].clear(static_cast<std::size_t>(job_.n));
      next_[u] = job_.indptr[first + u];
      stop_[u] = job_.indptr[first + u + 1];
    }
  }

  // Scores of one panel for up to kUsers users, and what of them is worth keeping.
  void visit(const float* panel, std::ptrdiff_t item, std::ptrdiff_t u, std::ptrdiff_t users) {
    alignas(64) float scores[kUsers * kPanel];
    const float* x = x_.data() + u * job_.rank;
    for (std::ptrdiff_t j = 0; j < kPanel; j += kAcross) {
      if (users == 1)
        score_tile<1>(job_.rank, x, panel + j, scores + j);
      else
        score_tile<kUsers>(job_.rank, x, panel + j, scores + j);
    }
    for (std::ptrdiff_t i = 0; i < users; ++i) keep(u + i, item, scores + i * kPanel);
  }

  void keep(std::ptrdiff_t u, std::ptrdiff_t item, float* scores) {
    for (; next_[u] < stop_[u] && job_.excluded[next_[u]] < item + kPanel; ++next_[u])
      scores[job_.excluded[next_[u]] - item] = kNothing;
    Best& best = best_[u];
    for (std::ptrdiff_t j = 0; j < kPanel; j += kLanes) {
      unsigned found = above(load(scores + j), splat(best.threshold()));
      for (; found; found &= found - 1) {
        const std::ptrdiff_t at = j + __builtin_ctz(found);
        best.offer(scores[at], static_cast<std::int32_t>(item + at));
      }
    }
  }

  const RankUsers& job_;
  std::vector<float> x_;
  Best best_[kGroup];
  std::int64_t next_[kGroup];
  std::int64_t stop_[kGroup];
};

}  // namespace

void pack_items(const PackItems& job) {
  const std::int64_t rows = 1 + job.rank;
  for (std::int64_t first = 0; first < job.items; first += kPanel) {
    float* panel = job.packed + first * rows;
    for (std::int64_t j = 0; j < kPanel; ++j) {
      const std::int64_t item = first + j;
      const bool there = item < job.items;
      // An item that fills up the last panel is never chosen: its offset is minus infinity.
      panel[j] = there ? job.offsets[item] : kNothing;
      for (std::int64_t k = 0; k < job.rank; ++k)
        panel[(1 + k) * kPanel + j] = there ? job.factors[item * job.rank + k] : 0.0f;
    }
  }
}

void rank_users(const RankUsers& job) {
  Group group(job);
  for (std::int64_t first = 0; first < job.users; first += kGroup)
    group.rank(first, std::min<std::int64_t>(kGroup, job.users - first));
}

}  // namespace tacit::TACIT_ISA

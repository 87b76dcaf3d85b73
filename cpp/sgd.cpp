// SPDX-License-Identifier: Apache-2.0
#include "sgd.hpp"

#include <atomic>
#include <cstddef>
#include <thread>

#include "lanes.hpp"

namespace tacit::TACIT_ISA {
namespace {

// Ratings between the prefetch of an item's row and its use: far for short rows, which are used up fast.
constexpr std::int64_t kAhead = 4;
constexpr std::int64_t kAheadOfLongRows = 2;
constexpr std::int64_t kLong = 256;  // floats

constexpr int kSums = 4;  // partial sums of an inner product, so that additions overlap

TACIT_INLINE float sum_of(Lanes lanes) {
  float sum = 0.0f;
  float parts[kLanes];
  store(parts, lanes);
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int lane = 0; lane < width; ++lane) parts[lane] += parts[lane + width];
  sum = parts[0];
  return sum;
}

TACIT_INLINE float inner_product(const float* u, const float* v, std::int64_t stride) {
  Lanes sums[kSums] = {};
  std::int64_t k = 0;
  for (; k + kSums * kLanes <= stride; k += kSums * kLanes)
    for (int i = 0; i < kSums; ++i)
      sums[i] = add_product(load(u + k + i * kLanes), load(v + k + i * kLanes), sums[i]);
  for (; k < stride; k += kLanes) sums[0] = add_product(load(u + k), load(v + k), sums[0]);
  return sum_of((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

// Both rows by one gradient step; the row that is needed soon is fetched meanwhile.
TACIT_INLINE void update(float* u, float* v, const float* next, std::int64_t stride, float keep,
                         float step) {
  const Lanes kept = splat(keep), moved = splat(step);
  for (std::int64_t k = 0; k < stride; k += kLanes) {
    __builtin_prefetch(next + k, 1, 3);
    const Lanes a = load(u + k), b = load(v + k);
    store(u + k, add_product(moved, b, kept * a));
    store(v + k, add_product(moved, a, kept * b));
  }
}

// The same with the item's row in registers from the inner product to the update.
template <int Registers>
TACIT_INLINE float short_row(float* u, float* v, const float* next, float rest, float rate, float keep) {
  Lanes a[Registers], b[Registers], sums[2] = {};
#pragma GCC unroll 16
  for (int i = 0; i < Registers; ++i) {
    __builtin_prefetch(next + i * kLanes, 1, 3);
    a[i] = load(u + i * kLanes);
    b[i] = load(v + i * kLanes);
    sums[i % 2] = add_product(a[i], b[i], sums[i % 2]);
  }
  const float error = rest - sum_of(sums[0] + sums[1]);
  const Lanes kept = splat(keep), moved = splat(rate * error);
#pragma GCC unroll 16
  for (int i = 0; i < Registers; ++i) {
    store(u + i * kLanes, add_product(moved, b[i], kept * a[i]));
    store(v + i * kLanes, add_product(moved, a[i], kept * b[i]));
  }
  return error;
}

// One user's ratings of one tier of items. Stride > 0 is known to the compiler, 0 is any.
template <std::int64_t Stride>
void visit(const SgdChunk& chunk, std::int64_t at, std::int64_t last, const SgdStep& step,
           const SgdModel& model) {
  const std::int64_t stride = Stride ? Stride : model.stride;
  const std::int64_t ahead = stride < kLong ? kAhead : kAheadOfLongRows;
  const std::int64_t first = chunk.visit_ratings[at], end = chunk.visit_ratings[at + 1];
  const std::int32_t user = chunk.visit_user[at];
  float* u = model.users + user * stride;
  float offset = model.user_offsets[user];
  const float rate = step.rate, keep = 1.0f - rate * step.ridge;
  for (std::int64_t p = first; p < end; ++p) {
    const std::int32_t item = chunk.items[p];
    const float* next = model.items + chunk.items[p + ahead < last ? p + ahead : last - 1] * stride;
    float* v = model.items + item * stride;
    const float rest = chunk.values[p] - step.mean - offset - model.item_offsets[item];
    float error;
    if constexpr (Stride > 0 && Stride <= 8 * kLanes) {
      error = short_row<Stride / kLanes>(u, v, next, rest, rate, keep);
    } else {
      error = rest - inner_product(u, v, stride);
      update(u, v, next, stride, keep, rate * error);
    }
    offset = keep * offset + rate * error;
    model.item_offsets[item] = keep * model.item_offsets[item] + rate * error;
  }
  model.user_offsets[user] = offset;
}

using Visit = void (*)(const SgdChunk&, std::int64_t, std::int64_t, const SgdStep&, const SgdModel&);

Visit visit_of(std::int64_t stride) {
  switch (stride) {
    case 16: return &visit<16>;
    case 32: return &visit<32>;
    case 64: return &visit<64>;
    case 128: return &visit<128>;
    case 256: return &visit<256>;
    default: return &visit<0>;
  }
}

std::atomic_ref<std::int64_t> shared(std::int64_t& counter) {
  return std::atomic_ref<std::int64_t>(counter);
}

void wait_for(std::int64_t& counter, std::int64_t value) {
  while (shared(counter).load(std::memory_order_acquire) < value) std::this_thread::yield();
}

}  // namespace

void sgd_tasks(const SgdChunk& chunk, const SgdStep& step, const SgdModel& model,
               const SgdBoard& board) {
  const Visit one_visit = visit_of(model.stride);
  const std::int64_t last = chunk.visit_ratings[chunk.task_visits[chunk.tasks]];
  for (;;) {
    // Tasks are taken in their order, so what a task waits for has been taken before it.
    const std::int64_t task = shared(*board.next_task).fetch_add(1, std::memory_order_relaxed);
    if (task >= chunk.tasks) return;
    std::int64_t* users_done = nullptr;
    std::int64_t* items_done = nullptr;
    if (board.groups) {
      const std::int64_t round = task / board.groups, group = task % board.groups;
      users_done = board.users_done + group;
      items_done = board.items_done + (group + round) % board.groups;
      wait_for(*users_done, round);
      wait_for(*items_done, round);
    }
    for (std::int64_t at = chunk.task_visits[task]; at < chunk.task_visits[task + 1]; ++at)
      one_visit(chunk, at, last, step, model);
    if (board.groups) {
      shared(*users_done).fetch_add(1, std::memory_order_release);
      shared(*items_done).fetch_add(1, std::memory_order_release);
    }
  }
}

void add_rows(const std::int32_t* rows, const float* scale, const std::int64_t* noise,
              std::int64_t count, std::int64_t width, std::int64_t stride, float* out) {
  for (std::int64_t p = 0; p < count; ++p) {
    float* row = out + rows[p] * stride;
    const std::int64_t* drawn = noise + p * width;
    for (std::int64_t k = 0; k < width; ++k) row[k] += scale[p] * static_cast<float>(drawn[k]);
  }
}

}  // namespace tacit::TACIT_ISA

// SPDX-License-Identifier: Apache-2.0
#include "replay.hpp"

#include <cmath>

#include "lanes.hpp"
#include "sums_lanes.hpp"

namespace tacit::TACIT_ISA {
namespace {

constexpr std::int64_t kAhead = 2 * kLanes;  // ratings between prefetch and use

// Always in the same order, whatever the length of the row.
inline float total(Lanes lanes) {
  float sum = 0.0f;
  for (int lane = 0; lane < kLanes; ++lane) sum += lanes[lane];
  return sum;
}

// min(1, length / norm), of a row with this squared norm.
inline float shortening(float norm2, float length) {
  const float norm = std::sqrt(norm2);
  return norm > length ? length / norm : 1.0f;
}

std::int64_t padded(std::int64_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

std::int64_t longest(const Replay& job) {
  std::int64_t most = kLanes;
  for (std::int64_t user = 0; user < job.users; ++user) {
    const std::int64_t row = padded(job.indptr[user + 1] - job.indptr[user]);
    most = row > most ? row : most;
  }
  return most;
}

// One user after the other; her row and her entries of every direction lie in the cache.
class Replayer {
 public:
  explicit Replayer(const Replay& job)
      : job_(job),
        longest_(longest(job)),
        along_(static_cast<std::size_t>(longest_ * (job.steps + kLanes))),
        aims_(static_cast<std::size_t>(longest_)),
        y_(static_cast<std::size_t>(longest_)) {}

  void run() {
    for (std::int64_t user = 0; user < job_.users; ++user) {
      first_ = job_.indptr[user];
      count_ = job_.indptr[user + 1] - first_;
      padded_ = padded(count_);
      replay(job_.factors + user * job_.steps);
    }
  }

 private:
  void replay(float* x) {
    gather();
    const float shrink = aim();
    for (std::int64_t t = 0; t < job_.steps; ++t) {
      const float* v = along_.get() + t * padded_;
      const float u = job_.pulls[t] * slope(v);
      const float cut = shortening(move(v, u), job_.length);
      if (cut < 1.0f) scale(cut);
      const float factor = job_.keep * cut;
      for (std::int64_t s = 0; s < t; ++s) x[s] *= factor;
      x[t] = -u * cut;
    }
    // What was shortened to be summed is as long as it was for her own predictions.
    for (std::int64_t t = 0; t < job_.steps; ++t) x[t] /= shrink;
    for (std::int64_t p = 0; p < count_; ++p) job_.residuals[first_ + p] = y_[p] - aims_[p];
  }

  // Her entries of every direction, step by step, with zeros behind the last.
  void gather() {
    const std::int64_t steps = job_.steps;
    for (std::int64_t p = 0; p < padded_; p += kLanes) {
      const float* row[kLanes];
      for (int i = 0; i < kLanes; ++i) {
        const std::int64_t rating = p + i < count_ ? p + i : p;
        row[i] = job_.directions + job_.items[first_ + rating] * steps;
        if (p + i + kAhead < count_) {
          const float* next = job_.directions + job_.items[first_ + p + i + kAhead] * steps;
          for (std::int64_t t = 0; t < steps; t += 16) __builtin_prefetch(next + t);
        }
      }
      for (std::int64_t t = 0; t < steps; t += kLanes) {
        Lanes square[kLanes];
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i)
          square[i] = p + i < count_ ? load_some(row[i] + t, steps - t) : Lanes{};
        transpose(square);
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) store(along_.get() + (t + i) * padded_ + p, square[i]);
      }
    }
  }

  // Targets shortened to the length; returns by how much.
  float aim() {
    Lanes sum{};
    for (std::int64_t p = 0; p < padded_; p += kLanes) {
      const Lanes t = load_some(job_.targets + first_ + p, count_ - p);
      store(aims_.get() + p, t);
      store(y_.get() + p, Lanes{});
      sum = add_product(t, t, sum);
    }
    const float shrink = shortening(total(sum), job_.length);
    if (shrink < 1.0f)
      for (std::int64_t p = 0; p < padded_; p += kLanes)
        store(aims_.get() + p, load(aims_.get() + p) * splat(shrink));
    return shrink;
  }

  // (y - aims) . v
  float slope(const float* v) const {
    Lanes sum{};
    for (std::int64_t p = 0; p < padded_; p += kLanes)
      sum = add_product(load(y_.get() + p) - load(aims_.get() + p), load(v + p), sum);
    return total(sum);
  }

  // y <- keep y - u v; returns its squared norm.
  float move(const float* v, float u) {
    const Lanes keep = splat(job_.keep), along = splat(u);
    Lanes sum{};
    for (std::int64_t p = 0; p < padded_; p += kLanes) {
      const Lanes y = less_product(along, load(v + p), keep * load(y_.get() + p));
      store(y_.get() + p, y);
      sum = add_product(y, y, sum);
    }
    return total(sum);
  }

  void scale(float cut) {
    for (std::int64_t p = 0; p < padded_; p += kLanes)
      store(y_.get() + p, splat(cut) * load(y_.get() + p));
  }

  const Replay& job_;
  const std::int64_t longest_;
  const Scratch<float> along_, aims_, y_;
  std::int64_t first_ = 0, count_ = 0, padded_ = 0;
};

}  // namespace

void replay_users(const Replay& job) { Replayer(job).run(); }

}  // namespace tacit::TACIT_ISA

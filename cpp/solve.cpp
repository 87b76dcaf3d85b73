// SPDX-License-Identifier: Apache-2.0
#include "solve.hpp"

#include <cstring>
#include <new>

#include "cholesky.hpp"
#include "solve_double.hpp"

namespace tacit::TACIT_ISA {
namespace {

constexpr std::int64_t kCached = 32 * 1024 / sizeof(float);  // floats that stay in the first cache
constexpr std::int64_t kAhead = 8;                           // ratings between prefetch and use
#if defined(TACIT_ISA_avx512)
constexpr int kWide = 8;  // registers of a row of factors that are summed at a time
#else
constexpr int kWide = 4;
#endif

std::int64_t rounded_up(std::int64_t count) { return (count + kBlock - 1) / kBlock * kBlock; }

// Memory of one call. Addresses are multiples of 64 bytes; nothing in it is read before written.
class Workspace {
 public:
  explicit Workspace(std::int64_t bytes)
      : start_(static_cast<char*>(::operator new(static_cast<std::size_t>(bytes), kAlign))),
        next_(start_) {}
  ~Workspace() { ::operator delete(start_, kAlign); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  static std::int64_t padded(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

  template <class T>
  T* take(std::int64_t count) {
    T* taken = reinterpret_cast<T*>(next_);
    next_ += padded(count * static_cast<std::int64_t>(sizeof(T)));
    return taken;
  }

 private:
  static constexpr std::align_val_t kAlign{64};
  char* start_;
  char* next_;
};

class Solver {
 public:
  explicit Solver(const UserSolve& job);
  void run();

 private:
  std::int64_t size_of(std::int64_t ratings) const;
  void prepare(std::int64_t user, std::int64_t size, System& system, float* roots);
  void prepare_primal(std::int64_t user, System& system);
  void prepare_dual(std::int64_t user, std::int64_t size, System& system, float* roots);
  void finish(std::int64_t user, std::int64_t size, System& system, const float* roots);
  void gather(std::int64_t first, std::int64_t count, float* right);
  void gather_transposed(std::int64_t first, std::int64_t count, std::int64_t column,
                         std::int64_t width, std::int64_t size, const float* roots);
  void combine(std::int64_t first, std::int64_t count, const float* amounts, float* out);

  template <int Wide>
  void gather_columns(std::int64_t first, std::int64_t count, std::int64_t column, float* right);
  template <int Wide>
  void combine_columns(std::int64_t first, std::int64_t count, std::int64_t column,
                       const float* amounts, float* out);

  const float* factor(std::int64_t rating) const {
    return job_.factors + job_.items[rating] * rank_;
  }

  void prefetch(std::int64_t rating, std::int64_t column, std::int64_t width) const {
    const float* row = factor(rating) + column;
    for (std::int64_t j = 0; j < width; j += 16) __builtin_prefetch(row + j);
  }

  const UserSolve& job_;
  const std::int64_t rank_, full_, chunk_;
  Workspace memory_;
  float* prior_;           // full x full, zeros around
  float* rows_;            // gathered factors, or their transpose
  float* roots_;           // square roots of the weights of a chunk
  float* amounts_;         // those times the targets
  System systems_[kTogether];
  float* dual_roots_[kTogether];
  double* doubles_;
  std::int64_t* order_;    // users by the size of their systems
  std::int64_t* starts_;   // where each size starts in it
};

std::int64_t chunk_of(std::int64_t size) {
  const std::int64_t fitting = kCached / size / kBlock * kBlock;
  return fitting > 2 * kBlock ? fitting : 2 * kBlock;
}

std::int64_t workspace_bytes(const UserSolve& job, std::int64_t full) {
  const std::int64_t longest = kCached + 2 * kBlock * full;
  const std::int64_t system = full * full + full + full * kBlock + full;
  const std::int64_t floats = (job.prior ? full * full : 0) + 3 * longest + kTogether * system;
  const std::int64_t doubles = job.rank * (job.rank + 3);
  return 4 * floats + 8 * (doubles + job.users + full / kBlock + 2) + 64 * 32;
}

Solver::Solver(const UserSolve& job)
    : job_(job),
      rank_(job.rank),
      full_(rounded_up(job.rank)),
      chunk_(chunk_of(full_)),
      memory_(workspace_bytes(job, full_)) {
  prior_ = nullptr;
  if (job.prior) {
    prior_ = memory_.take<float>(full_ * full_);
    std::memset(prior_, 0, static_cast<std::size_t>(full_ * full_) * sizeof(float));
    for (std::int64_t i = 0; i < rank_; ++i)
      std::memcpy(prior_ + i * full_, job.prior + i * rank_,
                  static_cast<std::size_t>(rank_) * sizeof(float));
  }
  const std::int64_t longest = kCached + 2 * kBlock * full_;
  rows_ = memory_.take<float>(longest);
  roots_ = memory_.take<float>(longest);
  amounts_ = memory_.take<float>(longest);
  for (int u = 0; u < kTogether; ++u) {
    systems_[u].matrix = memory_.take<float>(full_ * full_);
    systems_[u].right = memory_.take<float>(full_);
    systems_[u].inverses = memory_.take<float>(full_ * kBlock);
    dual_roots_[u] = memory_.take<float>(full_);
  }
  doubles_ = memory_.take<double>(rank_ * (rank_ + 3));
  order_ = memory_.take<std::int64_t>(job.users);
  starts_ = memory_.take<std::int64_t>(full_ / kBlock + 2);
}

// The dual system, one equation a rating, is taken where it is smaller by a block; a prior couples
// the coordinates and would need its own inverse there, so with one the primal is always taken.
std::int64_t Solver::size_of(std::int64_t ratings) const {
  if (ratings == 0) return 0;
  const std::int64_t dual = rounded_up(ratings);
  return !prior_ && dual < full_ ? dual : full_;
}

void Solver::run() {
  const std::int64_t sizes = full_ / kBlock + 1;
  std::memset(starts_, 0, static_cast<std::size_t>(sizes + 1) * sizeof(std::int64_t));
  const auto bucket = [this](std::int64_t user) {
    return size_of(job_.indptr[user + 1] - job_.indptr[user]) / kBlock;
  };
  for (std::int64_t user = 0; user < job_.users; ++user) ++starts_[bucket(user) + 1];
  for (std::int64_t b = 1; b <= sizes; ++b) starts_[b] += starts_[b - 1];
  for (std::int64_t user = 0; user < job_.users; ++user) order_[starts_[bucket(user)]++] = user;
  for (std::int64_t b = sizes; b > 0; --b) starts_[b] = starts_[b - 1];
  starts_[0] = 0;

  for (std::int64_t i = 0; i < starts_[1]; ++i)
    std::memset(job_.solved + order_[i] * rank_, 0,
                static_cast<std::size_t>(rank_) * sizeof(float));
  for (std::int64_t b = 1; b < sizes; ++b)
    for (std::int64_t i = starts_[b]; i < starts_[b + 1]; i += kTogether) {
      const std::int64_t left = starts_[b + 1] - i;
      const int count = left < kTogether ? static_cast<int>(left) : kTogether;
      const std::int64_t size = b * kBlock;
      for (int u = 0; u < count; ++u) prepare(order_[i + u], size, systems_[u], dual_roots_[u]);
      solve_systems(systems_, count, size);
      for (int u = 0; u < count; ++u) finish(order_[i + u], size, systems_[u], dual_roots_[u]);
    }
}

void Solver::prepare(std::int64_t user, std::int64_t size, System& system, float* roots) {
  system.exact = true;
  system.floor = job_.ridge[user];
  if (size < full_)
    prepare_dual(user, size, system, roots);
  else
    prepare_primal(user, system);
  // On the padding too: its equations read ridge * x = 0.
  for (std::int64_t i = 0; i < size; ++i) system.matrix[i * (size + 1)] += system.floor;
}

void Solver::prepare_primal(std::int64_t user, System& system) {
  const std::int64_t first = job_.indptr[user], last = job_.indptr[user + 1];
  std::memset(system.right, 0, static_cast<std::size_t>(full_) * sizeof(float));
  for (std::int64_t p = first; p < last; p += chunk_) {
    const std::int64_t count = last - p < chunk_ ? last - p : chunk_;
    gather(p, count, system.right);
    if (p == first)
      gram<Put::replace>(count, rows_, full_, system.matrix);
    else
      gram<Put::add>(count, rows_, full_, system.matrix);
  }
  if (prior_)
    for (std::int64_t i = 0; i < full_; ++i)
      for (std::int64_t j = i / kBlock * kBlock; j < full_; j += kLanes) {
        float* entry = system.matrix + i * full_ + j;
        store(entry, load(entry) + load(prior_ + i * full_ + j));
      }
}

// Rows of factors times the roots of their weights; right += their sum times roots times targets.
void Solver::gather(std::int64_t first, std::int64_t count, float* right) {
  for (std::int64_t p = 0; p < count; p += kLanes) {
    const Lanes roots = root(load_some(job_.weights + first + p, count - p));
    store(roots_ + p, roots);
    store(amounts_ + p, roots * load_some(job_.targets + first + p, count - p));
  }
  std::int64_t column = 0;
  for (; column + kWide * kLanes <= rank_; column += kWide * kLanes)
    gather_columns<kWide>(first, count, column, right);
  for (; column + 4 * kLanes <= rank_; column += 4 * kLanes)
    gather_columns<4>(first, count, column, right);
  for (; column < full_; column += kLanes) gather_columns<1>(first, count, column, right);
}

template <int Wide>
void Solver::gather_columns(std::int64_t first, std::int64_t count, std::int64_t column,
                            float* right) {
  Lanes sums[Wide];
#pragma GCC unroll 8
  for (int j = 0; j < Wide; ++j) sums[j] = load(right + column + j * kLanes);
  for (std::int64_t p = 0; p < count; ++p) {
    if (p + kAhead < count) prefetch(first + p + kAhead, column, Wide * kLanes);
    const float* row = factor(first + p) + column;
    float* to = rows_ + p * full_ + column;
    const Lanes weight = splat(roots_[p]), amount = splat(amounts_[p]);
#pragma GCC unroll 8
    for (int j = 0; j < Wide; ++j) {
      const Lanes plain = Wide > 1 ? load(row + j * kLanes) : load_some(row, rank_ - column);
      const Lanes weighted = weight * plain;
      store(to + j * kLanes, weighted);
      sums[j] = add_product(amount, weighted, sums[j]);
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < Wide; ++j) store(right + column + j * kLanes, sums[j]);
}

void Solver::prepare_dual(std::int64_t user, std::int64_t size, System& system, float* roots) {
  const std::int64_t first = job_.indptr[user], count = job_.indptr[user + 1] - first;
  for (std::int64_t p = 0; p < size; p += kLanes) {
    const Lanes weights = root(load_some(job_.weights + first + p, count - p));
    store(roots + p, weights);
    store(system.right + p, weights * load_some(job_.targets + first + p, count - p));
  }
  const std::int64_t chunk = chunk_of(size);
  for (std::int64_t column = 0; column < rank_; column += chunk) {
    const std::int64_t width = rank_ - column < chunk ? rank_ - column : chunk;
    gather_transposed(first, count, column, width, size, roots);
    if (column == 0)
      gram<Put::replace>(width, rows_, size, system.matrix);
    else
      gram<Put::add>(width, rows_, size, system.matrix);
  }
}

// Columns column..column + width of the weighted factors of `count` ratings, as width x size.
void Solver::gather_transposed(std::int64_t first, std::int64_t count, std::int64_t column,
                               std::int64_t width, std::int64_t size, const float* roots) {
  for (std::int64_t p = 0; p < size; p += kLanes) {
    const float* row[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      // Padding repeats the first rating: its root of zero wipes it out.
      const std::int64_t rating = p + i < count ? first + p + i : first;
      row[i] = factor(rating) + column;
      if (p + i + kLanes < count) prefetch(rating + kLanes, column, width);
    }
    for (std::int64_t j = 0; j < width; j += kLanes) {
      Lanes square[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) square[i] = load_some(row[i] + j, width - j);
      transpose(square);
      const Lanes weights = load(roots + p);
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) store(rows_ + (j + i) * size + p, square[i] * weights);
    }
  }
}

void Solver::finish(std::int64_t user, std::int64_t size, System& system, const float* roots) {
  const std::int64_t first = job_.indptr[user], count = job_.indptr[user + 1] - first;
  float* out = job_.solved + user * rank_;
  if (size < full_) {
    for (std::int64_t p = 0; p < size; p += kLanes)
      store(amounts_ + p, load(roots + p) * load(system.right + p));
    combine(first, count, amounts_, out);
  } else {
    std::memcpy(out, system.right, static_cast<std::size_t>(rank_) * sizeof(float));
  }
  // Zero times anything finite is zero, times anything else it is not a number.
  Lanes zeros{};
  for (std::int64_t i = 0; i < rank_; i += kLanes)
    zeros = add_product(load_some(out + i, rank_ - i), Lanes{}, zeros);
  float zero = 0.0f;
  for (int lane = 0; lane < kLanes; ++lane) zero += zeros[lane];
  if (!system.exact || zero != 0.0f) solve_in_double(job_, user, doubles_);
}

// out = sum of amounts times factors.
void Solver::combine(std::int64_t first, std::int64_t count, const float* amounts, float* out) {
  std::int64_t column = 0;
  for (; column + kWide * kLanes <= rank_; column += kWide * kLanes)
    combine_columns<kWide>(first, count, column, amounts, out);
  for (; column + 4 * kLanes <= rank_; column += 4 * kLanes)
    combine_columns<4>(first, count, column, amounts, out);
  for (; column < rank_; column += kLanes)
    combine_columns<1>(first, count, column, amounts, out);
}

template <int Wide>
void Solver::combine_columns(std::int64_t first, std::int64_t count, std::int64_t column,
                             const float* amounts, float* out) {
  Lanes sums[Wide] = {};
  for (std::int64_t p = 0; p < count; ++p) {
    const float* row = factor(first + p) + column;
    const Lanes amount = splat(amounts[p]);
#pragma GCC unroll 8
    for (int j = 0; j < Wide; ++j)
      sums[j] = add_product(
          amount, Wide > 1 ? load(row + j * kLanes) : load_some(row, rank_ - column), sums[j]);
  }
  if constexpr (Wide > 1) {
#pragma GCC unroll 8
    for (int j = 0; j < Wide; ++j) store(out + column + j * kLanes, sums[j]);
  } else {
    const std::int64_t left = rank_ - column < kLanes ? rank_ - column : kLanes;
    std::memcpy(out + column, &sums[0], static_cast<std::size_t>(left) * sizeof(float));
  }
}

}  // namespace

void solve_users(const UserSolve& job) {
  Solver solver(job);
  solver.run();
}

}  // namespace tacit::TACIT_ISA

// SPDX-License-Identifier: Apache-2.0
#include "items.hpp"

#include "sums_lanes.hpp"

namespace tacit::TACIT_ISA {
namespace {

using Vec = Vector<double>::type;
constexpr std::size_t lanes = Vector<double>::lanes;
constexpr std::size_t tile_columns = 2 * lanes;

// U with A = U^T U, some rows at a time: what the rows above take away is summed in registers.
class Cholesky {
 public:
  explicit Cholesky(std::size_t rank)
      : rank_(rank),
        width_(padded(rank, tile_columns)),
        stride_(width_ + 64 / sizeof(double)),  // rows of a power of two would share few places
        upper_(padded(rank, tile_rows) * stride_),
        inverse_(rank),
        side_(width_) {
    std::memset(upper_.get(), 0, padded(rank, tile_rows) * stride_ * sizeof(double));
  }

  bool factor(const double* matrix, double ridge) {
    for (std::size_t i = 0; i < rank_; ++i) {
      std::memcpy(row(i) + i, matrix + i * rank_ + i, (rank_ - i) * sizeof(double));
      row(i)[i] += ridge;
    }
    for (std::size_t i = 0; i < rank_; i += tile_rows) {
      for (std::size_t c = i / tile_columns * tile_columns; c < width_; c += tile_columns) tile(i, c);
      for (std::size_t a = i; a < i + tile_rows && a < rank_; ++a)
        if (!finish(i, a)) return false;
    }
    return true;
  }

  // U^T U x = side.
  void solve(const double* side, double* x) {
    double* rest = side_.get();
    std::memcpy(rest, side, rank_ * sizeof(double));
    for (std::size_t i = 0; i < rank_; ++i) {
      rest[i] *= inverse_[i];
      const double* u = row(i);
      for (std::size_t j = i + 1; j < rank_; ++j) rest[j] -= u[j] * rest[i];
    }
    for (std::size_t i = rank_; i-- > 0;) {
      const double* u = row(i);
      double sums[8] = {};
      std::size_t j = i + 1;
      for (; j + 8 <= rank_; j += 8)
        for (std::size_t b = 0; b < 8; ++b) sums[b] += u[j + b] * x[j + b];
      double sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
                   ((sums[4] + sums[5]) + (sums[6] + sums[7]));
      for (; j < rank_; ++j) sum += u[j] * x[j];
      x[i] = (rest[i] - sum) * inverse_[i];
    }
  }

 private:
  double* row(std::size_t i) const { return upper_.get() + i * stride_; }
  static Vec& at(double* place) { return *reinterpret_cast<Vec*>(place); }

  // Takes from rows i.. and columns c.. the products of the rows before i.
  void tile(std::size_t i, std::size_t c) {
    Vec left[tile_rows] = {}, right[tile_rows] = {};
    const double* above = upper_.get();
    for (std::size_t k = 0; k < i; ++k, above += stride_) {
      const Vec near = *reinterpret_cast<const Vec*>(above + c);
      const Vec far = *reinterpret_cast<const Vec*>(above + c + lanes);
#pragma GCC unroll 8
      for (std::size_t a = 0; a < tile_rows; ++a) {
        left[a] = add_product<double>(left[a], above[i + a], near);
        right[a] = add_product<double>(right[a], above[i + a], far);
      }
    }
#pragma GCC unroll 8
    for (std::size_t a = 0; a < tile_rows; ++a) {
      at(row(i + a) + c) -= left[a];
      at(row(i + a) + c + lanes) -= right[a];
    }
  }

  // Row a of U, once the rows before `first` have been taken from it; is its pivot positive?
  bool finish(std::size_t first, std::size_t a) {
    double* own = row(a);
    const std::size_t start = a / lanes * lanes;
    for (std::size_t b = first; b < a; ++b) {
      const double factor = -row(b)[a];
      for (std::size_t c = start; c < width_; c += lanes)
        at(own + c) = add_product<double>(at(own + c), factor, at(row(b) + c));
    }
    if (!(own[a] > 0)) return false;
    inverse_[a] = 1.0 / __builtin_sqrt(own[a]);
    const double scale = inverse_[a];
    for (std::size_t c = start; c < width_; c += lanes) at(own + c) *= scale;
    return true;
  }

  std::size_t rank_, width_, stride_;
  Scratch<double> upper_, inverse_, side_;
};

}  // namespace

void solve_items(const ItemSolve& job) {
  Cholesky cholesky(job.rank);
  for (std::size_t j = 0; j < job.items; ++j) {
    double* x = job.solutions + j * job.rank;
    job.positive[j] = cholesky.factor(job.matrices + j * job.rank * job.rank, job.ridges[j]);
    if (job.positive[j])
      cholesky.solve(job.sides + j * job.rank, x);
    else
      std::memset(x, 0, job.rank * sizeof(double));
  }
}

}  // namespace tacit::TACIT_ISA

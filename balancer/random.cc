#include "signpost/balancer/random.h"

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "signpost/balancer/weights.h"

namespace signpost {
namespace {

using balancer_internal::Mix64;
using balancer_internal::Scale;
using balancer_internal::ThreadRandom;

// With a seed, the same picks in the same order; without one, a generator per thread.
class Source {
 public:
  explicit Source(uint64_t seed) : seed_(seed) {}

  uint64_t Next() const {
    if (seed_ == 0) return ThreadRandom();
    return Mix64(seed_ + 0x9E3779B97F4A7C15ull * drawn_.fetch_add(1, std::memory_order_relaxed));
  }

 private:
  const uint64_t seed_;
  mutable std::atomic<uint64_t> drawn_{1};
};

class UniformPicker final : public Picker {
 public:
  UniformPicker(size_t size, uint64_t seed) : size_(size), source_(seed) {}

  size_t Pick(const Request&) const override {
    if (size_ == 0) return kNone;
    if (size_ == 1) return 0;
    return Scale(source_.Next(), size_);
  }

 private:
  const size_t size_;
  const Source source_;
};

// Vose's alias method: column i is chosen evenly; it keeps itself below `keep`, else its alias.
class AliasPicker final : public Picker {
 public:
  // REQUIRES: weights are >= 0, not all equal.
  AliasPicker(const std::vector<int32_t>& weights, uint64_t seed) : source_(seed) {
    const size_t n = weights.size();
    uint64_t total = 0;
    for (int32_t weight : weights) total += static_cast<uint64_t>(weight);
    columns_.resize(n);
    // Weight * n against total, in whole numbers: below 2^63 for any pool that fits in memory.
    std::vector<uint64_t> mass(n);
    std::vector<uint32_t> small;
    std::vector<uint32_t> large;
    for (size_t i = 0; i < n; ++i) {
      mass[i] = static_cast<uint64_t>(weights[i]) * n;
      (mass[i] < total ? small : large).push_back(static_cast<uint32_t>(i));
    }
    while (!small.empty()) {
      // The masses sum to n * total, so that a small one always has a large one to lean on.
      const uint32_t poor = small.back();
      const uint32_t rich = large.back();
      small.pop_back();
      columns_[poor] = {Threshold(mass[poor], total), rich};
      mass[rich] -= total - mass[poor];
      if (mass[rich] < total) {
        large.pop_back();
        small.push_back(rich);
      }
    }
    for (uint32_t i : large) columns_[i] = {kAlways, i};
  }

  size_t Pick(const Request&) const override {
    const uint64_t random = source_.Next();
    const size_t i = Scale(random, columns_.size());
    const Column& column = columns_[i];
    // Scale used the upper half.
    return static_cast<uint32_t>(random) < column.keep ? i : column.alias;
  }

 private:
  static constexpr uint64_t kAlways = uint64_t{1} << 32;
  struct Column {
    uint64_t keep = 0;
    uint32_t alias = 0;
  };

  static uint64_t Threshold(uint64_t mass, uint64_t total) {
    return static_cast<uint64_t>(static_cast<long double>(mass) / total * kAlways);
  }

  std::vector<Column> columns_;
  const Source source_;
};

}  // namespace

RandomBalancer::RandomBalancer(const BalancerOptions& options) : seed_(options.seed) {}

std::shared_ptr<const Picker> RandomBalancer::Build(const std::vector<PoolMember>& pool) {
  std::vector<int32_t> weights = balancer_internal::WeightsOf(pool);
  if (picker_ != nullptr && weights == weights_) return picker_;
  if (balancer_internal::AllEqual(weights)) {
    picker_ = std::make_shared<UniformPicker>(weights.size(), seed_);
  } else {
    picker_ = std::make_shared<AliasPicker>(weights, seed_);
  }
  weights_ = std::move(weights);
  return picker_;
}

}  // namespace signpost

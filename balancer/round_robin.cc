#include "signpost/balancer/round_robin.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "signpost/balancer/weights.h"

namespace signpost {
namespace {

using Turn = std::shared_ptr<std::atomic<uint64_t>>;

// A schedule takes length * members steps to compute: a few milliseconds at most.
constexpr uint64_t kMaxSteps = 1 << 21;

class EvenPicker final : public Picker {
 public:
  EvenPicker(size_t size, Turn turn) : size_(size), turn_(std::move(turn)) {}

  size_t Pick(const Request&) const override {
    if (size_ == 0) return kNone;
    if (size_ == 1) return 0;
    return turn_->fetch_add(1, std::memory_order_relaxed) % size_;
  }

 private:
  const size_t size_;
  const Turn turn_;
};

class SchedulePicker final : public Picker {
 public:
  SchedulePicker(std::vector<uint32_t> schedule, Turn turn)
      : schedule_(std::move(schedule)), turn_(std::move(turn)) {}

  size_t Pick(const Request&) const override {
    return schedule_[turn_->fetch_add(1, std::memory_order_relaxed) % schedule_.size()];
  }

 private:
  const std::vector<uint32_t> schedule_;
  const Turn turn_;
};

// Goes round all addresses; in round g address i is taken if g * weight crosses a multiple of the
// largest weight. Each has its own phase, so that light ones do not come all in one round.
class StridePicker final : public Picker {
 public:
  StridePicker(const std::vector<int32_t>& weights, Turn turn) : turn_(std::move(turn)) {
    const uint64_t largest = *std::max_element(weights.begin(), weights.end());
    strides_.reserve(weights.size());
    for (int32_t weight : weights) {
      const uint64_t scaled = static_cast<uint64_t>(weight) * kWhole / largest;
      // A light address is light, not forgotten.
      strides_.push_back(static_cast<uint32_t>(weight > 0 ? std::max<uint64_t>(scaled, 1) : 0));
    }
  }

  size_t Pick(const Request&) const override {
    // Ends: the heaviest is taken in every round.
    while (true) {
      const uint64_t turn = turn_->fetch_add(1, std::memory_order_relaxed);
      const uint64_t round = turn / strides_.size();
      const size_t i = turn % strides_.size();
      const uint64_t phase = balancer_internal::Mix64(i + 1) % kWhole;
      if ((round * strides_[i] + phase) % kWhole + strides_[i] >= kWhole) return i;
    }
  }

 private:
  static constexpr uint64_t kWhole = 1 << 16;
  std::vector<uint32_t> strides_;
  const Turn turn_;
};

std::vector<uint32_t> Schedule(const std::vector<int32_t>& weights, uint64_t length,
                               int64_t total) {
  std::vector<uint32_t> members;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0) members.push_back(static_cast<uint32_t>(i));
  }
  std::vector<int64_t> current(members.size(), 0);
  std::vector<uint32_t> schedule;
  schedule.reserve(length);
  while (schedule.size() < length) {
    size_t best = 0;
    for (size_t i = 0; i < members.size(); ++i) {
      current[i] += weights[members[i]];
      if (current[i] > current[best]) best = i;
    }
    current[best] -= total;
    schedule.push_back(members[best]);
  }
  return schedule;
}

std::shared_ptr<const Picker> NewPicker(const std::vector<int32_t>& weights, const Turn& turn) {
  if (balancer_internal::AllEqual(weights)) {
    return std::make_shared<EvenPicker>(weights.size(), turn);
  }
  int64_t total = 0;
  int32_t divisor = 0;
  for (int32_t weight : weights) {
    total += weight;
    divisor = std::gcd(divisor, weight);
  }
  const uint64_t length = static_cast<uint64_t>(total / divisor);
  if (length > kMaxSteps / weights.size()) return std::make_shared<StridePicker>(weights, turn);
  return std::make_shared<SchedulePicker>(Schedule(weights, length, total), turn);
}

}  // namespace

RoundRobinBalancer::RoundRobinBalancer(const BalancerOptions& options)
    : turn_(std::make_shared<std::atomic<uint64_t>>(
          // Far from the end of the numbers, where the sequence would skip.
          options.seed == 0 ? balancer_internal::ThreadRandom() >> 16 : 0)) {}

std::shared_ptr<const Picker> RoundRobinBalancer::Build(const std::vector<PoolMember>& pool) {
  std::vector<int32_t> weights = balancer_internal::WeightsOf(pool);
  if (picker_ != nullptr && weights == weights_) return picker_;
  picker_ = NewPicker(weights, turn_);
  weights_ = std::move(weights);
  return picker_;
}

}  // namespace signpost

#include "signpost/common/random.h"

#include <atomic>
#include <random>

namespace signpost {
namespace {

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15ull;

// Each thread starts elsewhere, and each process too.
uint64_t NewThreadSeed() {
  static const uint64_t process_seed = [] {
    std::random_device device;
    return (static_cast<uint64_t>(device()) << 32) | device();
  }();
  static std::atomic<uint64_t> threads{0};
  return Mix64(process_seed + kGolden * threads.fetch_add(1, std::memory_order_relaxed));
}

}  // namespace

uint64_t Mix64(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
  return value ^ (value >> 31);
}

uint64_t ThreadRandom() {
  thread_local uint64_t state = NewThreadSeed();
  state += kGolden;
  return Mix64(state);
}

}  // namespace signpost

// Any fuzz target with each file of its corpus, and with the beginnings of each.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "signpost/tests/fuzz/corpus.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace signpost::fuzz {
namespace {

// From a buffer of just that size, so that AddressSanitizer sees a read behind it.
int RunTarget(const std::string& bytes, size_t size) {
  const std::unique_ptr<uint8_t[]> buffer(new uint8_t[size]);
  for (size_t i = 0; i < size; ++i) buffer[i] = static_cast<uint8_t>(bytes[i]);
  return LLVMFuzzerTestOneInput(buffer.get(), size);
}

TEST(FuzzReplayTest, EachSeed) {
  const std::vector<Seed> seeds = Corpus();
  ASSERT_FALSE(seeds.empty());
  for (const Seed& seed : seeds) {
    EXPECT_EQ(RunTarget(seed.bytes, seed.bytes.size()), 0) << seed.name;
  }
}

TEST(FuzzReplayTest, EachSeedCutShort) {
  constexpr size_t kMostCuts = 600;
  for (const Seed& seed : Corpus()) {
    for (size_t size = 0; size < seed.bytes.size() && size < kMostCuts; ++size) {
      EXPECT_EQ(RunTarget(seed.bytes, size), 0) << seed.name << size;
    }
  }
}

}  // namespace
}  // namespace signpost::fuzz

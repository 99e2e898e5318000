// Runs a fuzz target on mutations of its corpus, for a machine without libFuzzer:
//
//   mutate [--runs=100000] [--first=0] [--seed=1] [--print]
//
// Deterministic: run N of a seed is always the same, whatever ran before it. When the target dies
// the number of the run is shown; `--first=N --runs=1 --print` shows its input in hex and runs it
// again.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "signpost/tests/fuzz/corpus.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace signpost::fuzz {
namespace {

constexpr size_t kMaxSize = 4096;

volatile uint64_t running = 0;

void ShowRun() { std::fprintf(stderr, "mutate: died in --first=%llu --runs=1\n", 0ULL + running); }

void OnSignal(int signal_number) {
  ShowRun();
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

// SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // Below `n`; 0 for 0.
  size_t Below(size_t n) { return n == 0 ? 0 : Next() % n; }

 private:
  uint64_t state_;
};

// Bytes that are bounds of something in most formats.
constexpr uint8_t kBounds[] = {0x00, 0x01, 0x0f, 0x10, 0x1f, 0x20, 0x7e, 0x7f,
                               0x80, 0x81, 0xc0, 0xdf, 0xed, 0xf0, 0xfe, 0xff};

void Mutate(Random& random, const std::vector<Seed>& seeds, std::string& bytes) {
  const size_t at = random.Below(bytes.size() + 1);
  const size_t some = 1 + random.Below(random.Below(2) == 0 ? 4 : 64);
  const bool inside = at < bytes.size();
  switch (random.Below(9)) {
    case 0:  // another byte
      if (inside) bytes[at] = static_cast<char>(random.Next());
      break;
    case 1:
      if (inside) bytes[at] = static_cast<char>(kBounds[random.Below(sizeof(kBounds))]);
      break;
    case 2:  // one bit
      if (inside) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.Below(8)));
      break;
    case 3:  // one more, one less
      if (inside) bytes[at] = static_cast<char>(bytes[at] + (random.Below(2) == 0 ? 1 : -1));
      break;
    case 4:
      bytes.erase(at, some);
      break;
    case 5:
      bytes.insert(at, some, static_cast<char>(random.Next()));
      break;
    case 6: {  // a piece of itself somewhere else
      const std::string piece = bytes.substr(random.Below(bytes.size() + 1), some);
      const size_t times = random.Below(8) == 0 ? random.Below(64) : 1;
      for (size_t i = 0; i < times && bytes.size() < kMaxSize; ++i) bytes.insert(at, piece);
      break;
    }
    case 7: {  // a piece of another seed
      const std::string& other = seeds[random.Below(seeds.size())].bytes;
      bytes.insert(at, other.substr(random.Below(other.size() + 1), some));
      break;
    }
    default:
      bytes.resize(at);
  }
  if (bytes.size() > kMaxSize) bytes.resize(kMaxSize);
}

uint64_t Option(int argc, char** argv, const char* name, uint64_t value) {
  const size_t length = std::strlen(name);
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], name, length) != 0) continue;
    value = argv[i][length] == '=' ? std::strtoull(argv[i] + length + 1, nullptr, 10) : 1;
  }
  return value;
}

int Main(int argc, char** argv) {
  const uint64_t runs = Option(argc, argv, "--runs", 100000);
  const uint64_t first = Option(argc, argv, "--first", 0);
  const uint64_t seed = Option(argc, argv, "--seed", 1);
  const bool print = Option(argc, argv, "--print", 0) != 0;
  const std::vector<Seed> seeds = Corpus();
  if (seeds.empty()) {
    std::fprintf(stderr, "mutate: FUZZ_CORPUS names no folder with seeds\n");
    return 1;
  }
  for (const int number : {SIGABRT, SIGSEGV, SIGILL, SIGFPE}) std::signal(number, OnSignal);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(ShowRun);
  for (uint64_t i = 0; i < runs; ++i) {
    running = first + i;
    Random random(Random(seed).Next() ^ (running * 0xd6e8feb86659fd93));
    std::string bytes = seeds[random.Below(seeds.size())].bytes;
    for (size_t left = 1 + random.Below(6); left > 0; --left) Mutate(random, seeds, bytes);
    if (print) {
      for (const char c : bytes) std::printf("%02x", static_cast<uint8_t>(c));
      std::printf("\n");
      std::fflush(stdout);
    }
    // Of just that size, so that AddressSanitizer sees a read behind it.
    const std::unique_ptr<uint8_t[]> buffer(new uint8_t[bytes.size()]);
    std::memcpy(buffer.get(), bytes.data(), bytes.size());
    LLVMFuzzerTestOneInput(buffer.get(), bytes.size());
  }
  std::printf("%llu runs of %zu seeds\n", 0ULL + runs, seeds.size());
  return 0;
}

}  // namespace
}  // namespace signpost::fuzz

int main(int argc, char** argv) { return signpost::fuzz::Main(argc, argv); }

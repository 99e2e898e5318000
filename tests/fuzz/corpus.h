// The seeds of a fuzz target: all files of the folder that FUZZ_CORPUS names, in order of name.
#ifndef SIGNPOST_TESTS_FUZZ_CORPUS_H_
#define SIGNPOST_TESTS_FUZZ_CORPUS_H_

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace signpost::fuzz {

struct Seed {
  std::string name;
  std::string bytes;
};

// Empty if there is no such folder.
inline std::vector<Seed> Corpus() {
  namespace fs = std::filesystem;
  const char* const folder = std::getenv("FUZZ_CORPUS");
  std::vector<Seed> seeds;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder == nullptr ? "" : folder, error)) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    seeds.push_back({entry.path().filename().string(), std::move(bytes)});
  }
  std::sort(seeds.begin(), seeds.end(),
            [](const Seed& a, const Seed& b) { return a.name < b.name; });
  return seeds;
}

}  // namespace signpost::fuzz

#endif  // SIGNPOST_TESTS_FUZZ_CORPUS_H_

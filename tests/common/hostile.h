// Input that no peer would send on purpose.
#ifndef SIGNPOST_TESTS_COMMON_HOSTILE_H_
#define SIGNPOST_TESTS_COMMON_HOSTILE_H_

#include <functional>
#include <random>
#include <string>

#include "absl/strings/string_view.h"

namespace signpost {

inline std::string Repeat(absl::string_view text, size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) out.append(text.data(), text.size());
  return out;
}

// Random bytes, and `valid` with some bytes changed, cut or doubled. The seed is fixed, so a
// failure comes again.
inline void ForEachHostileText(absl::string_view valid, int rounds,
                               const std::function<void(const std::string&)>& use) {
  std::mt19937 random(20240501);
  const auto below = [&random](size_t bound) { return bound == 0 ? 0 : random() % bound; };
  for (int round = 0; round < rounds; ++round) {
    std::string noise(below(200), '\0');
    for (char& c : noise) c = static_cast<char>(below(256));
    use(noise);
    std::string changed(valid);
    for (size_t i = below(4) + 1; i > 0 && !changed.empty(); --i) {
      const size_t at = below(changed.size());
      switch (below(3)) {
        case 0:
          changed[at] = static_cast<char>(below(256));
          break;
        case 1:
          changed.resize(at);
          break;
        default:
          changed.insert(at, changed.substr(at));
      }
    }
    use(changed);
  }
}

}  // namespace signpost

#endif  // SIGNPOST_TESTS_COMMON_HOSTILE_H_

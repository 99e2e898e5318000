// What must hold whatever the input is; else the process ends, as a fuzzer expects.
#ifndef SIGNPOST_TESTS_FUZZ_REQUIRE_H_
#define SIGNPOST_TESTS_FUZZ_REQUIRE_H_

#include <cstdio>
#include <cstdlib>

#define FUZZ_REQUIRE(condition)                                                           \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)

#endif  // SIGNPOST_TESTS_FUZZ_REQUIRE_H_

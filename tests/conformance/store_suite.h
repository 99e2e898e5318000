// What every Store must do, whatever is behind it. Instantiate with a fixture factory:
//   INSTANTIATE_TEST_SUITE_P(Memory, StoreSuite, testing::Values(StoreSuiteParam{...}));
// Only what the port promises is asked for: several changes may come as one, and watches are polled
// with a bound.
#ifndef SIGNPOST_TESTS_CONFORMANCE_STORE_SUITE_H_
#define SIGNPOST_TESTS_CONFORMANCE_STORE_SUITE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "signpost/registry/store/store.h"
#include "tests/conformance/store_handle.h"

namespace signpost {

struct StoreSuiteParam {
  std::string name;
  std::function<std::unique_ptr<StoreFixture>()> make;
  // Put makes its missing parents real keys with empty values (ZooKeeper).
  bool parents_are_keys = false;
  // A value that is refused with kResourceExhausted. 0: not tested.
  size_t too_large = 0;
};

inline void PrintTo(const StoreSuiteParam& param, std::ostream* out) { *out << param.name; }

class StoreSuite : public testing::TestWithParam<StoreSuiteParam> {
 protected:
  void SetUp() override {
    fixture_ = GetParam().make();
    ASSERT_NE(fixture_, nullptr);
    root_ = fixture_->root();
    a_ = std::make_unique<Handle>(*fixture_, "store-a");
    b_ = std::make_unique<Handle>(*fixture_, "store-b");
  }
  void TearDown() override {
    a_.reset();
    b_.reset();
    fixture_.reset();
  }

  std::string Key(const std::string& path) const { return root_ + path; }
  Handle& a() { return *a_; }
  Handle& b() { return *b_; }

  static bool LastIs(const std::vector<absl::StatusOr<StoreValue>>& told,
                     const std::string& value) {
    return !told.empty() && told.back().ok() && told.back()->value == value;
  }
  static bool LastIsAbsent(const std::vector<absl::StatusOr<StoreValue>>& told) {
    return !told.empty() && absl::IsNotFound(told.back().status());
  }
  // Waits until the deltas lead to `want`.
  static void ExpectTree(ToldDeltas& told, const Tree& want) {
    const bool reached = told.Await([&](const auto& deltas) {
      return !deltas.empty() && deltas.back().ok() && Fold(deltas) == want;
    });
    EXPECT_TRUE(reached);
    EXPECT_EQ(Fold(told.items()), want);
  }

  std::unique_ptr<StoreFixture> fixture_;
  std::string root_;
  std::unique_ptr<Handle> a_;
  std::unique_ptr<Handle> b_;
};

}  // namespace signpost

#include "tests/conformance/store_suite_calls.h"
#include "tests/conformance/store_suite_names.h"
#include "tests/conformance/store_suite_sessions.h"
#include "tests/conformance/store_suite_watches.h"

#endif  // SIGNPOST_TESTS_CONFORMANCE_STORE_SUITE_H_

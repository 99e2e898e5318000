#include "signpost/common/status.h"

#include <gtest/gtest.h>

namespace signpost {
namespace {

TEST(StatusTest, OnlyPassingFaultsAreRetryable) {
  EXPECT_TRUE(IsRetryable(absl::UnavailableError("x")));
  EXPECT_TRUE(IsRetryable(absl::DeadlineExceededError("x")));
  EXPECT_TRUE(IsRetryable(absl::AbortedError("x")));
  EXPECT_TRUE(IsRetryable(absl::ResourceExhaustedError("x")));
  EXPECT_FALSE(IsRetryable(absl::OkStatus()));
  EXPECT_FALSE(IsRetryable(absl::NotFoundError("x")));
  EXPECT_FALSE(IsRetryable(absl::InvalidArgumentError("x")));
  EXPECT_FALSE(IsRetryable(absl::CancelledError("x")));
}

TEST(StatusTest, AnnotatePutsThePlaceInFront) {
  const absl::Status status = Annotate(absl::NotFoundError("no node"), "/services/shop");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "/services/shop: no node");
  EXPECT_TRUE(Annotate(absl::OkStatus(), "/services/shop").ok());
}

}  // namespace
}  // namespace signpost

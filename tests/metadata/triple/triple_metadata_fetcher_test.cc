// Asking a running instance for its metadata, and what goes wrong with it.
#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/common/await.h"
#include "signpost/common/clock.h"
#include "signpost/common/executor.h"
#include "signpost/metadata/triple/triple_metadata.h"
#include "tests/metadata/triple/peers.h"
#include "tests/support/silent_port.h"

namespace signpost {
namespace {

constexpr char kParams[] = "dubbo.metadata-service.url-params";

class TripleMetadataFetcherTest : public testing::Test {
 protected:
  ~TripleMetadataFetcherTest() override { fetcher_.reset(); }

  static ServiceInstance Instance(std::map<std::string, std::string> metadata) {
    ServiceInstance instance;
    instance.app = "shop";
    instance.host = "127.0.0.1";
    instance.port = 20880;
    instance.metadata = std::move(metadata);
    instance.metadata[kRevisionKey] = "r1";
    instance.metadata.try_emplace(kStorageTypeKey, "local");
    return instance;
  }
  // With `meta-v` as given; empty: none.
  static ServiceInstance At(uint16_t port, const std::string& version = "2.0.0") {
    ServiceInstance instance =
        Instance({{kParams, absl::StrCat(R"({"protocol":"tri","port":")", port, R"("})")}});
    if (!version.empty()) instance.metadata["meta-v"] = version;
    return instance;
  }
  absl::StatusOr<MetadataInfo> Ask(const ServiceInstance& instance, const std::string& revision,
                                   absl::Duration timeout = absl::Seconds(20)) {
    return Await<absl::StatusOr<MetadataInfo>>(timeout + absl::Seconds(20), [&](auto done) {
      CallOptions options;
      options.timeout = timeout;
      fetcher_->Fetch(instance, revision, options, std::move(done));
    });
  }

  std::shared_ptr<Executor> executor_ = NewSerialExecutor("control");
  std::unique_ptr<MetadataFetcher> fetcher_ = NewTripleMetadataFetcher(*executor_);
};

TEST_F(TripleMetadataFetcherTest, SpeaksToThoseThatSayTri) {
  EXPECT_TRUE(fetcher_->Speaks(At(1)));
  EXPECT_TRUE(fetcher_->Speaks(At(1, "1.0.0")));
  EXPECT_TRUE(fetcher_->Speaks(At(1, "")));
  EXPECT_TRUE(fetcher_->Speaks(Instance({{kParams, R"({"protocol":"tri","port":50051})"}})));
  EXPECT_FALSE(fetcher_->Speaks(Instance({})));
  for (const char* params : {R"({"protocol":"dubbo","port":"1"})", R"({"protocol":"tri"})",
                             R"({"protocol":"tri","port":"0"})",
                             R"({"protocol":"tri","port":"70000"})", "{broken", "[]", ""}) {
    EXPECT_FALSE(fetcher_->Speaks(Instance({{kParams, params}}))) << params;
  }
  ServiceInstance remote = At(1);
  remote.metadata[kStorageTypeKey] = "remote";
  EXPECT_FALSE(fetcher_->Speaks(remote));
}

TEST_F(TripleMetadataFetcherTest, AsksAServer) {
  TripleMetadataOptions options;
  options.host = "127.0.0.1";
  auto server = ServeTripleMetadata(Publish(), options);
  ASSERT_TRUE(server.ok()) << server.status();
  const ServiceInstance instance = Instance((*server)->InstanceMetadata());
  ASSERT_TRUE(fetcher_->Speaks(instance));
  const auto answer = Ask(instance, "r1");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->revision, "r1");
  EXPECT_EQ(answer->services, SampleInfo().services);
  const auto unknown = Ask(instance, "r2");
  EXPECT_TRUE(absl::IsNotFound(unknown.status())) << unknown.status();
  // The same by the older service.
  ServiceInstance older = instance;
  older.metadata["meta-v"] = "1.0.0";
  older.host = "localhost";  // nothing is remembered of that
  const auto v1 = Ask(older, "r1");
  ASSERT_TRUE(v1.ok()) << v1.status();
  EXPECT_EQ(v1->services, SampleInfo().services);
  EXPECT_TRUE(absl::IsNotFound(Ask(older, "r2").status()));
  (*server)->Close();
  EXPECT_TRUE(absl::IsUnavailable(Ask(instance, "r1").status()));
}

TEST_F(TripleMetadataFetcherTest, AnInstanceWithTheOlderServiceOnly) {
  OnlyV1 service;
  const GrpcPeer peer({&service});
  for (int i = 0; i < 3; ++i) {
    const auto answer = Ask(At(peer.port()), "r1");
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->services, SampleInfo().services);
  }
  EXPECT_EQ(service.headers.calls, 3);
}

TEST_F(TripleMetadataFetcherTest, AnInstanceWithTheNewerServiceOnly) {
  OnlyV2 service;
  const GrpcPeer peer({&service});
  for (const char* version : {"2.0.0", "1.0.0", ""}) {
    const auto answer = Ask(At(peer.port(), version), "r1");
    EXPECT_TRUE(answer.ok()) << version << answer.status();
  }
  EXPECT_EQ(service.headers.calls, 3);
}

TEST_F(TripleMetadataFetcherTest, AnInstanceWithNeither) {
  const GrpcPeer peer({});
  const absl::Status status = Ask(At(peer.port()), "r1").status();
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_NE(status.message().find(absl::StrCat("127.0.0.1:", peer.port())), std::string::npos);
}

// Whether it is the one that was asked for is for the resolver to say.
TEST_F(TripleMetadataFetcherTest, AnotherRevisionIsHandedOn) {
  OnlyV2 service;
  service.answer.revision = "r7";
  const GrpcPeer peer({&service});
  const auto answer = Ask(At(peer.port()), "r1");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->revision, "r7");
}

TEST_F(TripleMetadataFetcherTest, SilenceEndsByTheDeadline) {
  const SilentPort silent;
  const absl::Status status = Ask(At(silent.port()), "r1", absl::Milliseconds(200)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_NE(status.message().find("127.0.0.1"), std::string::npos);
}

TEST_F(TripleMetadataFetcherTest, NobodyThere) {
  const absl::Status nobody = Ask(At(FreePort()), "r1").status();
  EXPECT_TRUE(absl::IsUnavailable(nobody)) << nobody;
  EXPECT_NE(nobody.message().find("127.0.0.1"), std::string::npos);
}

TEST_F(TripleMetadataFetcherTest, AnAddressThatIsNoneIsAnError) {
  ServiceInstance instance = At(1);
  instance.host = "unix:/tmp/x";
  EXPECT_TRUE(absl::IsInvalidArgument(Ask(instance, "r1").status()));
}

TEST_F(TripleMetadataFetcherTest, CancelEndsIt) {
  const SilentPort silent;
  CallOptions options;
  options.timeout = absl::Minutes(10);
  Waiter<absl::StatusOr<MetadataInfo>> waiter;
  fetcher_->Fetch(At(silent.port()), "r1", options, waiter.Callback());
  pollfd asked{silent.fd(), POLLIN, 0};
  ASSERT_EQ(poll(&asked, 1, 20000), 1);
  options.cancel.Cancel();
  EXPECT_TRUE(absl::IsCancelled(waiter.Wait(absl::Seconds(20)).status()));
}

TEST_F(TripleMetadataFetcherTest, EndsWithQuestionsOpen) {
  const SilentPort silent;
  CallOptions options;
  options.timeout = absl::Minutes(10);
  std::vector<std::unique_ptr<Waiter<absl::StatusOr<MetadataInfo>>>> waiters;
  for (int i = 0; i < 100; ++i) {
    waiters.push_back(std::make_unique<Waiter<absl::StatusOr<MetadataInfo>>>());
    fetcher_->Fetch(At(silent.port()), "r1", options, waiters.back()->Callback());
  }
  pollfd asked{silent.fd(), POLLIN, 0};
  ASSERT_EQ(poll(&asked, 1, 20000), 1);
  const absl::Duration start = Clock::Real().MonotonicNow();
  fetcher_.reset();
  EXPECT_LT(Clock::Real().MonotonicNow() - start, absl::Seconds(4));
  for (const auto& waiter : waiters) {
    EXPECT_TRUE(absl::IsCancelled(waiter->Wait(absl::Seconds(20)).status()));
  }
  // gRPC's threads may still be at it.
  executor_.reset();
}

TEST_F(TripleMetadataFetcherTest, HungInstancesHideNobody) {
  const SilentPort silent;
  CallOptions options;
  options.timeout = absl::Seconds(2);
  for (int i = 0; i < 40; ++i) {
    fetcher_->Fetch(At(silent.port()), "r1", options, [](absl::StatusOr<MetadataInfo>) {});
  }
  OnlyV2 service;
  const GrpcPeer peer({&service});
  const auto answer = Ask(At(peer.port()), "r1");
  EXPECT_TRUE(answer.ok()) << answer.status();
}

TEST_F(TripleMetadataFetcherTest, ManyAtOnce) {
  OnlyV2 service;
  const GrpcPeer peer({&service});
  std::vector<std::unique_ptr<Waiter<absl::StatusOr<MetadataInfo>>>> waiters;
  CallOptions options;
  options.timeout = absl::Minutes(2);
  for (int i = 0; i < 100; ++i) {
    waiters.push_back(std::make_unique<Waiter<absl::StatusOr<MetadataInfo>>>());
    fetcher_->Fetch(At(peer.port()), "r1", options, waiters.back()->Callback());
  }
  for (const auto& waiter : waiters) {
    const auto answer = waiter->Wait(absl::Minutes(2));
    EXPECT_TRUE(answer.ok()) << answer.status();
  }
}

}  // namespace
}  // namespace signpost

// Asking a running instance for its metadata, and what goes wrong with it.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/common/await.h"
#include "signpost/metadata/published_metadata.h"
#include "signpost/metadata/thrift/thrift_metadata.h"
#include "tests/support/loopback.h"

namespace signpost {
namespace {

class ThriftMetadataFetcherTest : public testing::Test {
 protected:
  ~ThriftMetadataFetcherTest() override { fetcher_.reset(); }

  ServiceInstance Instance(std::map<std::string, std::string> metadata) {
    ServiceInstance instance;
    instance.app = "shop";
    instance.host = "127.0.0.1";
    instance.port = 20880;
    instance.metadata = std::move(metadata);
    instance.metadata[kRevisionKey] = "r1";
    instance.metadata.try_emplace(kStorageTypeKey, "local");
    return instance;
  }
  ServiceInstance At(uint16_t port) {
    return Instance({{"dubbo.metadata-service.url-params",
                      absl::StrCat(R"({"protocol":"thrift","port":")", port, R"("})")}});
  }
  absl::StatusOr<MetadataInfo> Ask(const ServiceInstance& instance, const std::string& revision,
                                   absl::Duration timeout = absl::Seconds(10)) {
    return Await<absl::StatusOr<MetadataInfo>>(timeout + absl::Seconds(10), [&](auto done) {
      CallOptions options;
      options.timeout = timeout;
      fetcher_->Fetch(instance, revision, options, std::move(done));
    });
  }

  std::shared_ptr<Executor> executor_ = NewSerialExecutor("control");
  std::unique_ptr<MetadataFetcher> fetcher_ = NewThriftMetadataFetcher(*executor_);
};

TEST_F(ThriftMetadataFetcherTest, SpeaksToThoseThatSayThrift) {
  EXPECT_TRUE(fetcher_->Speaks(At(1)));
  EXPECT_FALSE(fetcher_->Speaks(Instance({})));
  for (const char* params : {R"({"protocol":"tri","port":"1"})", R"({"protocol":"thrift"})",
                             R"({"protocol":"thrift","port":"0"})",
                             R"({"protocol":"thrift","port":"70000"})", "{broken", ""}) {
    EXPECT_FALSE(fetcher_->Speaks(Instance({{"dubbo.metadata-service.url-params", params}})))
        << params;
  }
  ServiceInstance remote = At(1);
  remote.metadata[kStorageTypeKey] = "remote";
  EXPECT_FALSE(fetcher_->Speaks(remote));
}

TEST_F(ThriftMetadataFetcherTest, AsksAServer) {
  auto published = std::make_shared<PublishedMetadata>("shop", Clock::Real());
  MetadataInfo info;
  info.app = "shop";
  info.revision = "r1";
  ServiceInfo service;
  service.name = service.path = "a.A";
  service.protocol = "tri";
  service.params = {{"methods", "echo"}};
  info.services[service.match_key()] = service;
  published->Publish(info, {});
  ThriftMetadataOptions options;
  options.host = "127.0.0.1";
  auto server = ServeThriftMetadata(published, options);
  ASSERT_TRUE(server.ok()) << server.status();
  const ServiceInstance instance = Instance((*server)->InstanceMetadata());
  ASSERT_TRUE(fetcher_->Speaks(instance));
  const auto answer = Ask(instance, "r1");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->services, info.services);
  const auto unknown = Ask(instance, "r2");
  EXPECT_TRUE(absl::IsNotFound(unknown.status())) << unknown.status();
  (*server)->Close();
  EXPECT_TRUE(absl::IsUnavailable(Ask(instance, "r1").status()));
}

TEST_F(ThriftMetadataFetcherTest, SilenceEndsByTheDeadline) {
  // A port that takes connections and says nothing.
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(listener, 8), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), 0);
  const absl::Status silent =
      Ask(At(ntohs(address.sin_port)), "r1", absl::Milliseconds(200)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(silent)) << silent;
  close(listener);
}

TEST_F(ThriftMetadataFetcherTest, NobodyThere) {
  const absl::Status nobody = Ask(At(FreePort()), "r1").status();
  EXPECT_TRUE(absl::IsUnavailable(nobody)) << nobody;
  EXPECT_NE(nobody.message().find("127.0.0.1"), std::string::npos);
}

}  // namespace
}  // namespace signpost

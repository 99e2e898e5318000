#include "signpost/client/provider.h"

#include <gtest/gtest.h>

#include <memory>

#include "signpost/common/await.h"
#include "signpost/common/executor.h"
#include "signpost/common/manual_executor.h"
#include "tests/client/fake_registry.h"
#include "tests/support/fake_network_interfaces.h"

namespace signpost {
namespace {

constexpr char kGreeter[] = "tri://192.0.2.1:50051/org.example.Greeter?methods=greet";

class ProviderTest : public testing::Test {
 protected:
  Provider New(std::string app = "shop", bool read_only = false) {
    Provider::Parts parts;
    parts.executor = executor_;
    parts.registrar = registry_;
    parts.app = std::move(app);
    parts.read_only = read_only;
    parts.address = address_;
    registry_->executor = executor_;
    return Provider(std::move(parts));
  }
  // Calls end on a thread of their own, as in a real client.
  void AnswerAtOnce() {
    executor_ = NewSerialExecutor("test");
    registry_->answer_at_once = true;
  }

  SimulatedClock clock_;
  std::shared_ptr<Executor> executor_ = std::make_shared<ManualExecutor>(clock_);
  std::shared_ptr<FakeRegistry> registry_ = std::make_shared<FakeRegistry>();
  std::shared_ptr<AddressSelector> address_;
};

TEST_F(ProviderTest, FillsInWhatPeersWant) {
  Provider provider = New();
  ASSERT_TRUE(provider.Export("tri://192.0.2.1:50051/org.example.Greeter?version=1").ok());
  ASSERT_EQ(registry_->registers.size(), 1u);
  const Url& url = registry_->registers[0].url;
  EXPECT_EQ(url.Get("interface"), "org.example.Greeter");
  EXPECT_EQ(url.Get("application"), "shop");
  EXPECT_EQ(url.Get("side"), "provider");
  EXPECT_EQ(url.Get("dubbo"), "2.0.2");
  EXPECT_EQ(url.Get("methods"), "*");
  EXPECT_EQ(url.Get("version"), "1");
}

TEST_F(ProviderTest, AProcessHasOneHost) {
  Provider provider = New();
  ASSERT_TRUE(provider.Export(kGreeter).ok());
  const absl::Status other = provider.Export("dubbo://192.0.2.2:20880/org.example.Greeter");
  EXPECT_TRUE(absl::IsInvalidArgument(other)) << other;
  EXPECT_NE(other.message().find("192.0.2.1"), std::string::npos) << other;
  EXPECT_EQ(registry_->registers.size(), 1u);
}

TEST_F(ProviderTest, BlockingCallsInACallbackAreRefused) {
  AnswerAtOnce();
  Provider provider = New();
  ASSERT_TRUE(provider.Export(kGreeter).ok());
  const absl::Status inside = Await(absl::Seconds(20), [&](auto done) {
    executor_->Post([&, done] { done(provider.Offline(CallOptions())); });
  });
  EXPECT_TRUE(absl::IsFailedPrecondition(inside)) << inside;
}

TEST_F(ProviderTest, SameUrlOnce) {
  Provider provider = New();
  ASSERT_TRUE(provider.Export(kGreeter).ok());
  ASSERT_TRUE(provider.Export(kGreeter).ok());
  EXPECT_EQ(registry_->registers.size(), 1u);
  EXPECT_EQ(registry_->registers[0].url.Get("methods"), "greet");
}

TEST_F(ProviderTest, RefusesUrlsThatNobodyCouldCall) {
  Provider provider = New();
  for (const char* url :
       {"", "tri://192.0.2.1:50051", "tri://192.0.2.1/org.example.Greeter",
        "tri://0.0.0.0:50051/org.example.Greeter", "tri://192.0.2.1:50051/blue/org.example.Greeter",
        "tri://192.0.2.1:99999/org.example.Greeter"}) {
    EXPECT_EQ(provider.Export(url).code(), absl::StatusCode::kInvalidArgument) << url;
  }
  EXPECT_TRUE(registry_->registers.empty());
}

TEST_F(ProviderTest, AWildcardHostBecomesAnAddressOfThisMachine) {
  auto interfaces = std::make_shared<FakeNetworkInterfaces>();
  interfaces->addresses = {{"eth0", "192.0.2.10"}};
  address_ = std::make_shared<AddressSelector>(AddressOptions(), Url(), interfaces);
  Provider provider = New();
  const char* const urls[] = {"tri://0.0.0.0:50051/a.One", "tri://[::]:50051/a.Two",
                              "tri://:50051/a.Three"};
  for (const char* url : urls) ASSERT_TRUE(provider.Export(url).ok()) << url;
  ASSERT_EQ(registry_->registers.size(), 3u);
  const std::vector<Url> exported = provider.exported();
  ASSERT_EQ(exported.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(exported[i], registry_->registers[i].url);
    EXPECT_EQ(exported[i].address(), "192.0.2.10:50051");
  }
  // What was exported is also what is taken off, whatever the interfaces are by then.
  interfaces->addresses.clear();
  ASSERT_TRUE(provider.Unexport(*Url::Parse(urls[0])).ok());
  EXPECT_EQ(registry_->unregisters[0].url, registry_->registers[0].url);
  EXPECT_EQ(provider.exported().size(), 2u);
}

TEST_F(ProviderTest, Port0IsForThoseThatDidNotListenYet) {
  Provider provider = New();
  const absl::Status status = provider.Export("tri://192.0.2.1:0/org.example.Greeter");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("listen first"), absl::string_view::npos);
}

TEST_F(ProviderTest, TheAdvertisedAddressIsRegistered) {
  AddressOptions options;
  options.advertised.host = "203.0.113.50";
  options.advertised.port = 31000;
  address_ =
      std::make_shared<AddressSelector>(options, Url(), std::make_shared<FakeNetworkInterfaces>());
  Provider provider = New();
  ASSERT_TRUE(provider.Export("tri://192.0.2.1:50051/org.example.Greeter").ok());
  EXPECT_EQ(registry_->registers[0].url.address(), "203.0.113.50:31000");
  ASSERT_TRUE(provider.Unexport(*Url::Parse("tri://192.0.2.1:50051/org.example.Greeter")).ok());
}

TEST_F(ProviderTest, NoAddressIsAnErrorOfTheExport) {
  address_ = std::make_shared<AddressSelector>(AddressOptions(), Url(),
                                               std::make_shared<FakeNetworkInterfaces>());
  const absl::Status status = New().Export("tri://0.0.0.0:1/org.example.Greeter");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("org.example.Greeter"), absl::string_view::npos);
}

TEST_F(ProviderTest, NeedsAnAppAndTheRightToWrite) {
  EXPECT_EQ(New("").Export(kGreeter).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(New("shop", true).Export(kGreeter).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ProviderTest, Unexport) {
  Provider provider = New();
  const Url url = *Url::Parse(kGreeter);
  EXPECT_EQ(provider.Unexport(url).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(provider.Export(url).ok());
  EXPECT_TRUE(provider.has_exports());
  ASSERT_TRUE(provider.Unexport(url).ok());
  EXPECT_FALSE(provider.has_exports());
  ASSERT_EQ(registry_->unregisters.size(), 1u);
  EXPECT_EQ(registry_->unregisters[0].url, registry_->registers[0].url);
}

TEST_F(ProviderTest, StateKeepsTheFirstErrorUntilASuccess) {
  Provider provider = New();
  EXPECT_TRUE(provider.state().ok());
  ASSERT_TRUE(provider.Export(kGreeter).ok());
  ASSERT_TRUE(provider.Export("dubbo://192.0.2.1:20880/org.example.Greeter").ok());
  FakeRegistry::Answer(registry_->registers, absl::UnavailableError("first"));
  FakeRegistry::Answer(registry_->registers, absl::InternalError("second"));
  EXPECT_EQ(provider.state().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(provider.state().message().find("org.example.Greeter"), absl::string_view::npos);
  ASSERT_TRUE(provider.Export("tri://192.0.2.1:50051/org.example.Other").ok());
  FakeRegistry::Answer(registry_->registers, absl::OkStatus());
  EXPECT_TRUE(provider.state().ok());
}

TEST_F(ProviderTest, OfflineAndOnline) {
  AnswerAtOnce();
  Provider provider = New();
  ASSERT_TRUE(provider.Export(kGreeter).ok());
  ASSERT_TRUE(provider.WaitPublished(absl::Seconds(5)).ok());
  ASSERT_TRUE(provider.Offline(CallOptions()).ok());
  EXPECT_EQ(registry_->unregister_alls.size(), 1u);
  const size_t before = registry_->registers.size();
  ASSERT_TRUE(provider.Export("tri://192.0.2.1:50051/org.example.Other").ok());
  EXPECT_EQ(registry_->registers.size(), before);
  ASSERT_TRUE(provider.Online(CallOptions()).ok());
  EXPECT_EQ(registry_->registers.size(), before + 2);
}

TEST_F(ProviderTest, CloseTakesEverythingOffOnce) {
  AnswerAtOnce();
  Provider provider = New();
  ASSERT_TRUE(provider.Export(kGreeter).ok());
  ASSERT_TRUE(provider.Close(absl::Seconds(5)).ok());
  ASSERT_TRUE(provider.Close(absl::Seconds(5)).ok());
  EXPECT_EQ(registry_->unregister_alls.size(), 1u);
  EXPECT_EQ(provider.Export(kGreeter).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(provider.WaitPublished(absl::Seconds(1)).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ProviderTest, CloseDoesNotWaitForAMuteRegistry) {
  Provider provider = New();
  ASSERT_TRUE(provider.Export(kGreeter).ok());
  EXPECT_EQ(provider.Close(absl::Milliseconds(20)).code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(ProviderTest, NoPasswordInErrors) {
  Provider provider = New();
  const absl::Status status =
      provider.Export("tri://u:p4ss@0.0.0.0:1/org.example.Greeter?token=tk1");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.ToString().find("p4ss"), std::string::npos);
  EXPECT_EQ(status.ToString().find("tk1"), std::string::npos);
}

}  // namespace
}  // namespace signpost

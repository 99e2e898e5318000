// Asking a running instance for its metadata, and what goes wrong with it.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <poll.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/common/await.h"
#include "signpost/common/clock.h"
#include "signpost/common/manual_executor.h"
#include "signpost/common/mutex.h"
#include "signpost/metadata/published_metadata.h"
#include "signpost/metadata/thrift/thrift_metadata.h"
#include "tests/support/loopback.h"
#include "tests/support/silent_port.h"

namespace {

// A name server that does not answer: look-ups of "slow.invalid" wait for the test.
class SlowNames {
 public:
  void LookUp() {
    signpost::MutexLock lock(mutex_);
    ++asked_;
    ++inside_;
    changed_.SignalAll();
    while (!released_) changed_.Wait(mutex_);
    --inside_;
    changed_.SignalAll();
  }
  void Hang() {
    signpost::MutexLock lock(mutex_);
    asked_ = 0;
    released_ = false;
  }
  // Whether so many are looked up soon.
  bool AwaitAsked(int count) {
    signpost::MutexLock lock(mutex_);
    return Await([&] { return asked_ >= count; });
  }
  // Ends all look-ups; whether they do.
  bool Release() {
    signpost::MutexLock lock(mutex_);
    released_ = true;
    changed_.SignalAll();
    return Await([&] { return inside_ == 0; });
  }

 private:
  template <typename Condition>
  bool Await(Condition condition) {
    const signpost::Clock& clock = signpost::Clock::Real();
    const absl::Duration end = clock.MonotonicNow() + absl::Seconds(20);
    while (!condition() && clock.MonotonicNow() < end) {
      changed_.WaitFor(mutex_, absl::Seconds(20));
    }
    return condition();
  }

  signpost::Mutex mutex_;
  signpost::CondVar changed_;
  int asked_ = 0;
  int inside_ = 0;
  bool released_ = false;
};
// Never destroyed: a thread may still be in there.
SlowNames& Names() {
  static SlowNames* const names = new SlowNames;
  return *names;
}

}  // namespace

// In place of the C library's.
extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  if (host != nullptr && std::strcmp(host, "slow.invalid") == 0) {
    Names().LookUp();
    return EAI_AGAIN;
  }
  static const auto real =
      reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(host, service, hints, found);
}

namespace signpost {
namespace {

// Who has connected to it.
class SilentPeer {
 public:
  explicit SilentPeer(const SilentPort& port) {
    pollfd comes{port.fd(), POLLIN, 0};
    if (poll(&comes, 1, 20000) == 1) fd_ = accept(port.fd(), nullptr, nullptr);
  }
  ~SilentPeer() {
    if (fd_ >= 0) close(fd_);
  }
  bool connected() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

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
  static MetadataInfo Published() {
    MetadataInfo info;
    info.app = "shop";
    info.revision = "r1";
    ServiceInfo service;
    service.name = service.path = "a.A";
    service.protocol = "tri";
    service.params = {{"methods", "echo"}};
    info.services[service.match_key()] = service;
    return info;
  }
  static absl::StatusOr<std::unique_ptr<MetadataServer>> Serve() {
    auto published = std::make_shared<PublishedMetadata>("shop", Clock::Real());
    published->Publish(Published(), {});
    ThriftMetadataOptions options;
    options.host = "127.0.0.1";
    return ServeThriftMetadata(published, options);
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
  auto server = Serve();
  ASSERT_TRUE(server.ok()) << server.status();
  const ServiceInstance instance = Instance((*server)->InstanceMetadata());
  ASSERT_TRUE(fetcher_->Speaks(instance));
  const auto answer = Ask(instance, "r1");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->services, Published().services);
  const auto unknown = Ask(instance, "r2");
  EXPECT_TRUE(absl::IsNotFound(unknown.status())) << unknown.status();
  (*server)->Close();
  EXPECT_TRUE(absl::IsUnavailable(Ask(instance, "r1").status()));
}

TEST_F(ThriftMetadataFetcherTest, SilenceEndsByTheDeadline) {
  const SilentPort silent;
  const absl::Status status = Ask(At(silent.port()), "r1", absl::Milliseconds(200)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
}

TEST_F(ThriftMetadataFetcherTest, HungServicesHideNobody) {
  SimulatedClock clock;
  ManualExecutor executor(clock);
  const auto fetcher = NewThriftMetadataFetcher(executor);
  const SilentPort silent;
  CallOptions options;
  options.timeout = absl::Minutes(10);
  for (int i = 0; i < 16; ++i) {
    fetcher->Fetch(At(silent.port()), "r1", options, [](absl::StatusOr<MetadataInfo>) {});
  }
  // All threads ask.
  std::vector<std::unique_ptr<SilentPeer>> asking;
  for (int i = 0; i < 16; ++i) {
    asking.push_back(std::make_unique<SilentPeer>(silent));
    ASSERT_TRUE(asking.back()->connected());
  }
  auto server = Serve();
  ASSERT_TRUE(server.ok()) << server.status();
  std::optional<absl::StatusOr<MetadataInfo>> answer;
  fetcher->Fetch(
      Instance((*server)->InstanceMetadata()), "r1", options,
      [&](absl::StatusOr<MetadataInfo> answered) { answer.emplace(std::move(answered)); });
  executor.AdvanceAndRun(options.timeout / 4);
  const absl::Duration end = Clock::Real().MonotonicNow() + absl::Seconds(20);
  while (!answer.has_value() && Clock::Real().MonotonicNow() < end) {
    if (executor.RunUntilIdle() == 0) std::this_thread::yield();
  }
  ASSERT_TRUE(answer.has_value());
  EXPECT_TRUE(answer->ok()) << answer->status();
}

TEST_F(ThriftMetadataFetcherTest, DrippingAnswerEndsByTheDeadline) {
  const SilentPort port;
  bool closed = false;
  std::thread server([&] {
    const int peer = accept(port.fd(), nullptr, nullptr);
    // The length of a frame, and then a byte every now and then.
    closed = send(peer, "\0\0\x10\0", 4, MSG_NOSIGNAL) != 4;
    for (int i = 0; i < 1000 && !closed; ++i) {
      pollfd gone{peer, POLLRDHUP, 0};
      closed = poll(&gone, 1, 20) != 0 || send(peer, "", 1, MSG_NOSIGNAL) != 1;
    }
    close(peer);
  });
  const absl::Status status = Ask(At(port.port()), "r1", absl::Milliseconds(500)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  server.join();
  EXPECT_TRUE(closed);  // the thread that asked is free again
}

TEST_F(ThriftMetadataFetcherTest, CancelEndsIt) {
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

TEST_F(ThriftMetadataFetcherTest, EndsWhileANameIsLookedUp) {
  Names().Hang();
  ServiceInstance instance = At(1);
  instance.host = "slow.invalid";
  Waiter<absl::StatusOr<MetadataInfo>> waiter;
  fetcher_->Fetch(instance, "r1", CallOptions(), waiter.Callback());
  ASSERT_TRUE(Names().AwaitAsked(1));
  const absl::Duration start = Clock::Real().MonotonicNow();
  fetcher_.reset();
  // It waits a second for what can be interrupted, but for a look-up not at all.
  EXPECT_LT(Clock::Real().MonotonicNow() - start, absl::Milliseconds(900));
  EXPECT_TRUE(absl::IsCancelled(waiter.Wait(absl::Seconds(20)).status()));
  executor_.reset();
  EXPECT_TRUE(Names().Release());
}

TEST_F(ThriftMetadataFetcherTest, NamesThatNobodyKnowsHideNobody) {
  Names().Hang();
  ServiceInstance instance = At(1);
  instance.host = "slow.invalid";
  CallOptions options;
  options.timeout = absl::Minutes(10);
  for (int i = 0; i < 20; ++i) {
    fetcher_->Fetch(instance, "r1", options, [](absl::StatusOr<MetadataInfo>) {});
  }
  EXPECT_TRUE(Names().AwaitAsked(8));
  auto server = Serve();
  ASSERT_TRUE(server.ok()) << server.status();
  const auto answer = Ask(Instance((*server)->InstanceMetadata()), "r1");
  EXPECT_TRUE(answer.ok()) << answer.status();
  fetcher_.reset();
  EXPECT_TRUE(Names().Release());
}

TEST_F(ThriftMetadataFetcherTest, NobodyThere) {
  const absl::Status nobody = Ask(At(FreePort()), "r1").status();
  EXPECT_TRUE(absl::IsUnavailable(nobody)) << nobody;
  EXPECT_NE(nobody.message().find("127.0.0.1"), std::string::npos);
}

}  // namespace
}  // namespace signpost

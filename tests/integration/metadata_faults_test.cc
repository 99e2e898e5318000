// Providers with storage type `local` that do not answer as they should, over each protocol: the
// consumer gets its addresses within a bound, and how often who was asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/dubbo_metadata.h"
#include "signpost/client/plugins/memory.h"
#include "signpost/client/plugins/thrift_metadata.h"
#include "signpost/client/plugins/triple_metadata.h"
#include "signpost/common/await.h"
#include "signpost/common/json.h"
#include "signpost/common/tcp.h"
#include "tests/integration/live_registry.h"
#include "tests/support/silent_port.h"

namespace signpost {
namespace {

using testing::HasSubstr;

constexpr char kApp[] = "shop";
// Of docs/formats/metadata_service.md: 200 ms for each that is silent, and as much again.
constexpr absl::Duration kBound = absl::Seconds(20 * kSlowness);

// What a provider knows, and how often it was asked.
class CountingService final : public MetadataService {
 public:
  const std::string& app() const override { return app_; }
  std::vector<std::string> ExportedUrls(const ExportedFilter&) const override { return {}; }
  std::vector<std::string> SubscribedUrls() const override { return {}; }
  absl::StatusOr<std::shared_ptr<const MetadataInfo>> GetMetadataInfo(
      const std::string& revision) const override {
    ++asked;
    const auto found = infos.find(revision);
    if (found == infos.end()) return absl::NotFoundError("revision " + revision);
    return found->second;
  }
  std::vector<std::shared_ptr<const MetadataInfo>> MetadataInfos() const override { return {}; }

  // Revision `revision` offers the interface `a.<service>`.
  void Add(const std::string& revision, const std::string& service) {
    infos[revision] = Info(revision, service);
  }
  static std::shared_ptr<const MetadataInfo> Info(const std::string& revision,
                                                  const std::string& service) {
    auto info = std::make_shared<MetadataInfo>();
    info->app = kApp;
    info->revision = revision;
    if (!service.empty()) {
      ServiceInfo offered;
      offered.name = offered.path = "a." + service;
      offered.protocol = "tri";
      offered.params = {{"methods", "x"}};
      info->services[offered.match_key()] = offered;
    }
    return info;
  }

  std::map<std::string, std::shared_ptr<const MetadataInfo>> infos;
  mutable std::atomic<int> asked{0};

 private:
  const std::string app_ = kApp;
};

// Takes each connection, says `answer` and closes.
class RudePort {
 public:
  explicit RudePort(std::string answer)
      : answer_(std::move(answer)), stop_(eventfd(0, EFD_CLOEXEC)), thread_([this] { Run(); }) {}
  ~RudePort() {
    const uint64_t one = 1;
    EXPECT_EQ(write(stop_, &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
    thread_.join();
    close(stop_);
  }
  uint16_t port() const { return port_.port(); }

 private:
  void Run() {
    for (;;) {
      pollfd waiting[] = {{port_.fd(), POLLIN, 0}, {stop_, POLLIN, 0}};
      if (poll(waiting, 2, -1) < 0) return;
      if (waiting[1].revents != 0) return;
      const FileDescriptor peer(accept(port_.fd(), nullptr, nullptr));
      if (!answer_.empty()) (void)send(peer.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL);
    }
  }

  const std::string answer_;
  SilentPort port_;
  const int stop_;
  std::thread thread_;
};

class MetadataFaultsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(AddMemory(registries_).ok());
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    registry_ = absl::StrCat("memory://", info->name());
    for (char& c : registry_) {
      if (c == '/') c = '-';
    }
    registry_ = absl::StrCat("memory://faults-", registry_.substr(9));
    const std::string name = GetParam();
    protocol_ = name == "dubbo" ? DubboMetadata()
                : name == "tri" ? TripleMetadata()
                                : ThriftMetadata();
    writer_ = Open();
  }

  std::unique_ptr<Client> Open() {
    ClientOptions options;
    options.registry = registry_;
    options.metadata_protocols = {protocol_};
    auto client = Client::Create(options, registries_);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  std::unique_ptr<MetadataServer> Serve(std::shared_ptr<const MetadataService> service,
                                        uint16_t port = 0) {
    auto server = protocol_.server(std::move(service), "", port);
    EXPECT_TRUE(server.ok()) << server.status();
    return server.ok() ? *std::move(server) : nullptr;
  }
  static uint16_t PortOf(const MetadataServer& server) {
    const auto metadata = server.InstanceMetadata();
    const auto params = Json::Parse(metadata.at("dubbo.metadata-service.url-params"));
    EXPECT_TRUE(params.ok()) << params.status();
    return params.ok() ? static_cast<uint16_t>((*params)["port"].AsInt()) : 0;
  }

  void Write(const std::string& path, const std::string& text) {
    auto version = Await<absl::StatusOr<int64_t>>(absl::Seconds(10), [&](auto done) {
      writer_->centre().store().Put(path, text, CallOptions(), std::move(done));
    });
    ASSERT_TRUE(version.ok()) << version.status();
  }
  // An instance at 127.0.0.1:`port` whose metadata service is at `metadata_port`.
  void WriteInstance(int port, const std::string& revision, uint16_t metadata_port) {
    std::map<std::string, std::string> metadata = like_->InstanceMetadata();
    metadata["dubbo.metadata.revision"] = revision;
    metadata["dubbo.metadata.storage-type"] = "local";
    metadata["dubbo.endpoints"] = absl::StrCat("[{\"port\":", port, ",\"protocol\":\"tri\"}]");
    std::string& params = metadata["dubbo.metadata-service.url-params"];
    const std::string own = absl::StrCat("\"", PortOf(*like_), "\"");
    params.replace(params.find(own), own.size(), absl::StrCat("\"", metadata_port, "\""));
    Json payload;
    payload.Set("@class", "org.apache.dubbo.registry.zookeeper.ZookeeperInstance");
    payload.Set("metadata", JsonFromStringMap(metadata));
    Json instance;
    instance.Set("name", kApp);
    instance.Set("address", "127.0.0.1");
    instance.Set("port", static_cast<int64_t>(port));
    instance.Set("payload", std::move(payload));
    Write(absl::StrCat("/services/", kApp, "/127.0.0.1:", port), instance.Print());
  }
  void WriteMapping(const std::string& service) { Write("/dubbo/mapping/a." + service, kApp); }

  RegistryFactories registries_{"registry"};
  std::string registry_;
  MetadataProtocol protocol_;
  std::unique_ptr<Client> writer_;
  // Its keys are those of the others, with other ports.
  std::unique_ptr<MetadataServer> like_;
};
INSTANTIATE_TEST_SUITE_P(Of, MetadataFaultsTest, testing::Values("dubbo", "tri", "thrift"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(MetadataFaultsTest, AThousandInstancesCostARequestForEachRevision) {
  auto service = std::make_shared<CountingService>();
  like_ = Serve(service);
  for (const int revisions : {1, 10}) {
    SCOPED_TRACE(revisions);
    service->asked = 0;
    const std::string name = absl::StrCat("Of", revisions);
    for (int i = 0; i < revisions; ++i) service->Add(absl::StrCat(name, "-r", i), name);
    for (int i = 0; i < 1000; ++i) {
      WriteInstance(20000 + i, absl::StrCat(name, "-r", i % revisions), PortOf(*like_));
    }
    WriteMapping(name);
    auto consumer = Open();
    auto directory = *consumer->consumer().Refer("a." + name);
    EXPECT_TRUE(Poll(kBound, [&] { return directory->addresses()->size() == 1000; }))
        << directory->addresses()->size() << " " << directory->state();
    // An answer that takes long is asked for a second time; the exact number is
    // metadata_resolver_test's.
    EXPECT_GE(service->asked, revisions);
    EXPECT_LE(service->asked, 2 * revisions);
  }
}

TEST_P(MetadataFaultsTest, OneOf50ThatIsWellIsFound) {
  auto service = std::make_shared<CountingService>();
  service->Add("r1", "A");
  like_ = Serve(service);
  std::vector<std::unique_ptr<SilentPort>> silent;
  for (int i = 0; i < 49; ++i) {
    silent.push_back(std::make_unique<SilentPort>());
    WriteInstance(21000 + i, "r1", silent.back()->port());
  }
  WriteInstance(21049, "r1", PortOf(*like_));
  WriteMapping("A");
  auto consumer = Open();
  auto directory = *consumer->consumer().Refer("a.A");
  const absl::Status ready = directory->WaitReady(kBound);
  EXPECT_TRUE(ready.ok()) << ready;
  EXPECT_TRUE(Poll(kBound, [&] { return directory->addresses()->size() == 50; }));
  EXPECT_EQ(service->asked, 1);
}

TEST_P(MetadataFaultsTest, AFaultyInstanceIsPassedOver) {
  auto good = std::make_shared<CountingService>();
  like_ = Serve(good);
  auto bad = std::make_shared<CountingService>();
  bad->infos["other"] = CountingService::Info("another revision", "other");
  bad->infos["empty"] = CountingService::Info("empty", "");
  auto bad_server = Serve(bad);
  SilentPort silent;
  RudePort garbage(std::string(1000, 'x'));
  RudePort closes("");
  uint16_t refuses = 0;
  { refuses = SilentPort().port(); }
  int port = 22000;
  for (const auto& [revision, faulty] :
       std::vector<std::pair<std::string, uint16_t>>{{"refuses", refuses},
                                                     {"closes", closes.port()},
                                                     {"garbage", garbage.port()},
                                                     {"silent", silent.port()},
                                                     {"unknown", PortOf(*bad_server)},
                                                     {"other", PortOf(*bad_server)},
                                                     {"empty", PortOf(*bad_server)}}) {
    SCOPED_TRACE(revision);
    const int asked_before = good->asked;
    good->Add(revision, revision);
    // Several, so that which one is asked first is no matter of luck for long.
    for (int i = 0; i < 3; ++i) WriteInstance(++port, revision, faulty);
    WriteInstance(++port, revision, PortOf(*like_));
    WriteMapping(revision);
    auto consumer = Open();
    auto directory = *consumer->consumer().Refer("a." + revision);
    const absl::Status ready = directory->WaitReady(kBound);
    EXPECT_TRUE(ready.ok()) << ready;
    EXPECT_TRUE(Poll(kBound, [&] { return directory->addresses()->size() == 4; }));
    // Others of the application are asked for their own revisions too: those before.
    EXPECT_GE(good->asked - asked_before, 1);
  }
}

TEST_P(MetadataFaultsTest, ASilentRevisionDelaysNoOther) {
  auto service = std::make_shared<CountingService>();
  service->Add("r2", "B");
  like_ = Serve(service);
  std::vector<std::unique_ptr<SilentPort>> silent;
  for (int i = 0; i < 40; ++i) {
    silent.push_back(std::make_unique<SilentPort>());
    WriteInstance(23000 + i, absl::StrCat("hangs", i % 20), silent.back()->port());
  }
  WriteInstance(23100, "r2", PortOf(*like_));
  WriteMapping("B");
  WriteMapping("A");
  auto consumer = Open();
  auto hangs = *consumer->consumer().Refer("a.A");
  auto works = *consumer->consumer().Refer("a.B");
  const absl::Status ready = works->WaitReady(kBound);
  EXPECT_TRUE(ready.ok()) << ready;
  EXPECT_EQ(works->addresses()->size(), 1u);
  EXPECT_FALSE(hangs->Pick(Request()).ok());
}

TEST_P(MetadataFaultsTest, ItHealsWithoutAWordOfTheRegistry) {
  auto service = std::make_shared<CountingService>();
  service->Add("r1", "A");
  like_ = Serve(service);
  auto later = std::make_unique<SilentPort>();
  const uint16_t port = later->port();
  WriteInstance(24000, "r1", port);
  WriteMapping("A");
  auto consumer = Open();
  auto directory = *consumer->consumer().Refer("a.A");
  EXPECT_TRUE(Poll(kBound, [&] {
    return absl::IsUnavailable(directory->state()) || absl::IsDeadlineExceeded(directory->state());
  }));
  // What an operator reads names the instance.
  EXPECT_TRUE(Poll(kBound, [&] {
    return directory->state().message().find("127.0.0.1") != std::string::npos;
  })) << directory->state();
  later.reset();
  auto server = Serve(service, port);
  const absl::Status ready = directory->WaitReady(kBound);
  EXPECT_TRUE(ready.ok()) << ready;
}

}  // namespace
}  // namespace signpost

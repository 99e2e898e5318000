// Options of the metadata that a process answers for itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "signpost/client/options.h"
#include "signpost/client/plugins/memory.h"

namespace signpost {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<ClientOptions> Load(std::map<std::string, std::string> environment,
                                   const ClientOptions& program = ClientOptions()) {
  OptionSources sources;
  sources.environment = std::move(environment);
  return LoadOptions(program, sources);
}

constexpr char kProtocol[] = "DUBBO_APPLICATION_METADATA_SERVICE_PROTOCOL";
constexpr char kHost[] = "DUBBO_APPLICATION_METADATA_SERVICE_HOST";
constexpr char kPort[] = "DUBBO_APPLICATION_METADATA_SERVICE_PORT";

TEST(OptionsMetadataTest, ProtocolsHostAndPortAreRead) {
  const auto options = Load({{kProtocol, "dubbo, tri"}, {kHost, "127.0.0.1"}, {kPort, "20889"}});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->metadata_service.protocols, ElementsAre("dubbo", "tri"));
  EXPECT_EQ(options->metadata_service.host, "127.0.0.1");
  EXPECT_EQ(options->metadata_service.port, 20889);
}

TEST(OptionsMetadataTest, TheProgramGoesFirst) {
  ClientOptions program;
  program.metadata_service.protocols = {"thrift"};
  program.metadata_service.host = "::1";
  program.metadata_service.port = 1;
  const auto options =
      Load({{kProtocol, "dubbo"}, {kHost, "127.0.0.1"}, {kPort, "20889"}}, program);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->metadata_service.protocols, ElementsAre("thrift"));
  EXPECT_EQ(options->metadata_service.host, "::1");
  EXPECT_EQ(options->metadata_service.port, 1);
}

TEST(OptionsMetadataTest, APortThatIsNoneIsNamed) {
  for (const char* bad : {"0", "65536", "-1", "x"}) {
    const auto options = Load({{kPort, bad}});
    ASSERT_FALSE(options.ok()) << bad;
    EXPECT_THAT(options.status().message(), HasSubstr(kPort));
  }
}

// Serves nothing; notes on which port it was to.
MetadataProtocol Protocol(const std::string& name, std::vector<std::string>& served) {
  class Server final : public MetadataServer {
   public:
    explicit Server(std::string name) : name_(std::move(name)) {}
    std::map<std::string, std::string> InstanceMetadata() const override {
      return {{"dubbo.metadata-service.url-params", "{\"protocol\":\"" + name_ + "\"}"}};
    }
    void Close() override {}

   private:
    const std::string name_;
  };
  MetadataProtocol protocol;
  protocol.name = name;
  protocol.fetcher = [](Executor&) { return nullptr; };
  protocol.server = [name, &served](
                        std::shared_ptr<const MetadataService>, const std::string& host,
                        uint16_t port) -> absl::StatusOr<std::unique_ptr<MetadataServer>> {
    served.push_back(name + ":" + host + ":" + std::to_string(port));
    return std::make_unique<Server>(name);
  };
  return protocol;
}

TEST(OptionsMetadataTest, TheNamedProtocolsAnswerTheFirstOneOnThePort) {
  RegistryFactories registries("registry");
  ASSERT_TRUE(AddMemory(registries).ok());
  std::vector<std::string> served;
  ClientOptions options;
  options.app = "shop";
  options.registry = "memory://options-metadata?register-mode=interface&mode=interface";
  options.metadata = "local";
  options.metadata_protocols = {Protocol("a", served), Protocol("b", served),
                                Protocol("c", served)};
  options.metadata_protocols[0].server = nullptr;
  const auto create = [&] {
    served.clear();
    return Client::Create(options, registries).status();
  };
  EXPECT_TRUE(create().ok());
  EXPECT_THAT(served, ElementsAre("b::0"));
  options.metadata_service.protocols = {"c", "b"};
  options.metadata_service.host = "h";
  options.metadata_service.port = 20889;
  EXPECT_TRUE(create().ok());
  EXPECT_THAT(served, ElementsAre("c:h:20889", "b:h:0"));
  options.metadata_service.protocols = {"b", "b"};
  EXPECT_THAT(create().message(), HasSubstr("'b': named twice"));
  // One that only asks, and one that nobody has.
  for (const char* missing : {"a", "tri"}) {
    options.metadata_service.protocols = {missing};
    const absl::Status status = create();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("this process has b, c"));
  }
}

}  // namespace
}  // namespace signpost

// What the server answers, alone or on a host's; and what hostile bytes do to it: nothing.
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/client_unary_call.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/clock.h"
#include "signpost/common/json.h"
#include "signpost/metadata/triple/add_triple_metadata.h"
#include "signpost/metadata/triple/triple_metadata.h"
#include "signpost/metadata/triple/wrapped_call.h"
#include "tests/metadata/triple/peers.h"
#include "tests/support/raw_connection.h"

namespace signpost {
namespace {

namespace wire = org::apache::dubbo::metadata;
namespace triple = org::apache::dubbo::triple;

// A peer that speaks the protocol.
class Peer {
 public:
  explicit Peer(uint16_t port) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxReceiveMessageSize(-1);
    channel = grpc::CreateCustomChannel(absl::StrCat("ipv4:127.0.0.1:", port),
                                        grpc::InsecureChannelCredentials(), arguments);
    v2 = wire::MetadataServiceV2::NewStub(channel);
    v1 = wire::MetadataService::NewStub(channel);
  }

  grpc::Status Get(const std::string& revision, wire::MetadataInfoV2* info) {
    grpc::ClientContext context;
    Limit(context);
    wire::MetadataRequest request;
    request.set_revision(revision);
    return v2->GetMetadataInfo(&context, request, info);
  }
  grpc::Status GetByJavasName(const std::string& revision, wire::MetadataInfoV2* info) {
    grpc::ClientContext context;
    Limit(context);
    wire::MetadataRequest request;
    request.set_revision(revision);
    return v2->getMetadataInfo(&context, request, info);
  }
  static void Limit(grpc::ClientContext& context) {
    context.set_deadline(absl::ToChronoTime(Clock::Real().WallNow() + absl::Seconds(20)));
  }

  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<wire::MetadataServiceV2::Stub> v2;
  std::unique_ptr<wire::MetadataService::Stub> v1;
};

class TripleMetadataServerTest : public testing::Test {
 protected:
  void Start(TripleMetadataOptions options = TripleMetadataOptions()) {
    options.host = "127.0.0.1";
    auto server = ServeTripleMetadata(published_, options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    port_ = PortOf(*server_);
    EXPECT_NE(port_, 0);
  }
  static uint16_t PortOf(const MetadataServer& server) {
    const auto metadata = server.InstanceMetadata();
    const auto found = metadata.find("dubbo.metadata-service.url-params");
    if (found == metadata.end()) return 0;
    const auto params = Json::Parse(found->second);
    int32_t port = 0;
    EXPECT_TRUE(params.ok() && absl::SimpleAtoi((*params)["port"].AsString(), &port));
    return static_cast<uint16_t>(port);
  }

  std::shared_ptr<PublishedMetadata> published_ = Publish();
  std::unique_ptr<MetadataServer> server_;
  uint16_t port_ = 0;
};

TEST_F(TripleMetadataServerTest, TheInstanceSaysV2) {
  Start();
  const auto metadata = server_->InstanceMetadata();
  EXPECT_EQ(metadata.at("meta-v"), "2.0.0");
  const auto params = Json::Parse(metadata.at("dubbo.metadata-service.url-params"));
  ASSERT_TRUE(params.ok());
  EXPECT_EQ((*params)["protocol"].AsString(), "tri");
  EXPECT_EQ((*params)["version"].AsString(), "2.0.0");
  EXPECT_TRUE((*params)["port"].is_string());  // as Java reads it
}

TEST_F(TripleMetadataServerTest, AnswersBothNamesOfTheMethod) {
  Start();
  Peer peer(port_);
  wire::MetadataInfoV2 info;
  grpc::Status status = peer.Get("r1", &info);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(info.app(), "shop");
  EXPECT_EQ(info.version(), "r1");
  EXPECT_EQ(info.services_size(), 1);
  wire::MetadataInfoV2 again;
  status = peer.GetByJavasName("r1", &again);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(again.services_size(), 1);
}

// Never an empty document: Java would keep that for good.
TEST_F(TripleMetadataServerTest, AnUnknownRevisionIsNotFound) {
  Start();
  Peer peer(port_);
  for (const std::string& revision : {std::string("r2"), std::string(), std::string(20000, 'x')}) {
    wire::MetadataInfoV2 info;
    const grpc::Status status = peer.Get(revision, &info);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND) << status.error_message();
  }
}

TEST_F(TripleMetadataServerTest, AnswersTheCallsOfV1) {
  published_->Publish(SampleInfo(), {*Url::Parse("tri://192.0.2.1:50051/a.A?group=g")});
  published_->AddSubscribed(*Url::Parse("consumer://192.0.2.1/a.B"));
  Start();
  Peer peer(port_);
  using Method = grpc::Status (wire::MetadataService::Stub::*)(
      grpc::ClientContext*, const triple::TripleRequestWrapper&, triple::TripleResponseWrapper*);
  const std::pair<Method, std::string> methods[] = {
      {&wire::MetadataService::Stub::serviceName, "java.lang.String"},
      {&wire::MetadataService::Stub::version, "java.lang.String"},
      {&wire::MetadataService::Stub::getMetadataInfos, "java.util.List"},
      {&wire::MetadataService::Stub::getExportedURLs, "java.util.SortedSet"},
      {&wire::MetadataService::Stub::getSubscribedURLs, "java.util.SortedSet"},
  };
  for (const auto& [method, type] : methods) {
    grpc::ClientContext context;
    Peer::Limit(context);
    triple::TripleRequestWrapper request;
    request.set_serializetype("hessian4");
    triple::TripleResponseWrapper response;
    const grpc::Status status = ((*peer.v1).*method)(&context, request, &response);
    EXPECT_TRUE(status.ok()) << type << status.error_message();
    EXPECT_EQ(response.serializetype(), "hessian4");
    EXPECT_EQ(response.type(), type);
    EXPECT_FALSE(response.data().empty());
  }
  grpc::ClientContext context;
  Peer::Limit(context);
  triple::TripleResponseWrapper response;
  const grpc::Status status =
      peer.v1->getMetadataInfo(&context, metadata_triple_internal::WrapRevision("r1"), &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const auto info = metadata_triple_internal::UnwrapMetadataInfo(response);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->services, SampleInfo().services);
  grpc::ClientContext unknown;
  Peer::Limit(unknown);
  EXPECT_EQ(
      peer.v1->getMetadataInfo(&unknown, metadata_triple_internal::WrapRevision("r2"), &response)
          .error_code(),
      grpc::StatusCode::NOT_FOUND);
}

TEST_F(TripleMetadataServerTest, ALargeRequestIsRefused) {
  TripleMetadataOptions options;
  options.limits.max_request_bytes = 1000;
  Start(options);
  Peer peer(port_);
  wire::MetadataInfoV2 info;
  EXPECT_EQ(peer.Get(std::string(2000, 'x'), &info).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(peer.Get("r1", &info).ok());
}

TEST_F(TripleMetadataServerTest, ALargeAnswerIsRefused) {
  MetadataInfo large = SampleInfo("large");
  large.services.begin()->second.params["text"] = std::string(10000, 'x');
  published_->Publish(large, {});
  TripleMetadataOptions options;
  options.limits.max_answer_bytes = 5000;
  Start(options);
  Peer peer(port_);
  wire::MetadataInfoV2 info;
  const grpc::Status status = peer.Get("large", &info);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  EXPECT_TRUE(peer.Get("r1", &info).ok());
}

TEST_F(TripleMetadataServerTest, OtherServicesAreUnimplemented) {
  Start();
  Peer peer(port_);
  const grpc::internal::RpcMethod method("/grpc.reflection.v1alpha.ServerReflection/X",
                                         grpc::internal::RpcMethod::NORMAL_RPC);
  grpc::ClientContext context;
  Peer::Limit(context);
  wire::MetadataRequest request;
  wire::MetadataInfoV2 response;
  const grpc::Status status =
      grpc::internal::BlockingUnaryCall<wire::MetadataRequest, wire::MetadataInfoV2>(
          peer.channel.get(), method, &context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << status.error_message();
}

TEST_F(TripleMetadataServerTest, HostileBytesHarmOnlyTheirConnection) {
  Start();
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  for (const std::string& bytes : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(64, '\xff'),
                                   preface + std::string(64, '\xff')}) {
    RawConnection hostile(port_);
    EXPECT_TRUE(hostile.Send(bytes));
    EXPECT_TRUE(hostile.Closed()) << testing::PrintToString(bytes);
  }
  RawConnection half(port_);
  EXPECT_TRUE(half.Send(preface.substr(0, 10)));
  Peer peer(port_);
  wire::MetadataInfoV2 info;
  EXPECT_TRUE(peer.Get("r1", &info).ok());
}

TEST_F(TripleMetadataServerTest, SilentConnectionsAreClosed) {
  TripleMetadataOptions options;
  options.idle_timeout = absl::Milliseconds(200);
  Start(options);
  EXPECT_TRUE(RawConnection(port_).Closed());
}

TEST_F(TripleMetadataServerTest, ClosesWithConnectionsOpen) {
  Start();
  Peer peer(port_);
  wire::MetadataInfoV2 info;
  EXPECT_TRUE(peer.Get("r1", &info).ok());
  RawConnection half(port_);
  EXPECT_TRUE(half.Send("PRI"));
  const absl::Duration start = Clock::Real().MonotonicNow();
  server_->Close();
  server_->Close();
  EXPECT_LT(Clock::Real().MonotonicNow() - start, absl::Seconds(4));
  EXPECT_EQ(peer.Get("r1", &info).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(TripleMetadataServerTest, ManyAskWhileItChanges) {
  Start();
  std::vector<std::thread> askers;
  for (int i = 0; i < 4; ++i) {
    askers.emplace_back([this] {
      Peer peer(port_);
      for (int k = 0; k < 50; ++k) {
        wire::MetadataInfoV2 info;
        EXPECT_TRUE(peer.Get("r1", &info).ok());
      }
    });
  }
  for (int i = 2; i < 50; ++i) published_->Publish(SampleInfo(absl::StrCat("r", i)), {});
  for (std::thread& asker : askers) asker.join();
}

TEST_F(TripleMetadataServerTest, APortInUseIsAnError) {
  Start();
  TripleMetadataOptions options;
  options.host = "127.0.0.1";
  options.port = port_;
  auto second = ServeTripleMetadata(published_, options);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition) << second.status();
}

TEST_F(TripleMetadataServerTest, NoHostIsAllAddresses) {
  auto server = ServeTripleMetadata(published_, TripleMetadataOptions());
  ASSERT_TRUE(server.ok()) << server.status();
  Peer peer(PortOf(**server));
  wire::MetadataInfoV2 info;
  EXPECT_TRUE(peer.Get("r1", &info).ok());
}

// As a process that has a gRPC server of its own.
class HostTest : public TripleMetadataServerTest {
 protected:
  void StartHost(const TripleMetadataLimits& limits = TripleMetadataLimits()) {
    added_ = AddTripleMetadata(builder_, published_, limits);
    int port = 0;
    builder_.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    host_ = builder_.BuildAndStart();
    ASSERT_NE(host_, nullptr);
    port_ = static_cast<uint16_t>(port);
  }
  ~HostTest() override {
    if (host_ != nullptr) host_->Shutdown(absl::ToChronoTime(Clock::Real().WallNow()));
    host_.reset();
  }

  grpc::ServerBuilder builder_;
  std::unique_ptr<AddedTripleMetadata> added_;
  std::unique_ptr<grpc::Server> host_;
};

TEST_F(HostTest, AnswersOnTheHostsPort) {
  StartHost();
  EXPECT_TRUE(added_->InstanceMetadata().empty());  // nobody has said where it is
  added_->SetPort(port_);
  EXPECT_EQ(PortOf(*added_), port_);
  EXPECT_EQ(added_->InstanceMetadata().at("meta-v"), "2.0.0");
  Peer peer(port_);
  wire::MetadataInfoV2 info;
  const grpc::Status status = peer.Get("r1", &info);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(HostTest, AfterCloseTheHostGoesOn) {
  StartHost();
  Peer peer(port_);
  wire::MetadataInfoV2 info;
  EXPECT_TRUE(peer.Get("r1", &info).ok());
  added_->Close();
  added_->Close();
  const grpc::Status status = peer.Get("r1", &info);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_NE(status.error_message().find("no longer served"), std::string::npos);
}

TEST_F(HostTest, ALargeRequestIsRefusedThereToo) {
  TripleMetadataLimits limits;
  limits.max_request_bytes = 1000;
  StartHost(limits);
  Peer peer(port_);
  wire::MetadataInfoV2 info;
  EXPECT_EQ(peer.Get(std::string(2000, 'x'), &info).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(HostTest, NoCallsAtOnceAreNone) {
  TripleMetadataLimits limits;
  limits.max_concurrent = 0;
  StartHost(limits);
  Peer peer(port_);
  wire::MetadataInfoV2 info;
  EXPECT_EQ(peer.Get("r1", &info).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace signpost

// What the server answers, and what hostile bytes do to it: nothing.
#include <gtest/gtest.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TSocket.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "signpost/common/json.h"
#include "signpost/metadata/published_metadata.h"
#include "signpost/metadata/thrift/MetadataService.h"
#include "signpost/metadata/thrift/thrift_metadata.h"
#include "tests/support/raw_connection.h"

namespace signpost {
namespace {

using apache::thrift::protocol::TBinaryProtocol;
using apache::thrift::transport::TFramedTransport;
using apache::thrift::transport::TSocket;

MetadataInfo InfoOf(const std::string& revision) {
  MetadataInfo info;
  info.app = "shop";
  info.revision = revision;
  ServiceInfo service;
  service.name = service.path = "a.A";
  service.protocol = "tri";
  info.services[service.match_key()] = service;
  return info;
}

// A peer that speaks the protocol.
struct Peer {
  explicit Peer(uint16_t port)
      : socket(std::make_shared<TSocket>("127.0.0.1", port)),
        transport(std::make_shared<TFramedTransport>(socket)),
        client(std::make_shared<TBinaryProtocol>(transport)) {
    socket->setRecvTimeout(20000);
    transport->open();
  }
  std::shared_ptr<TSocket> socket;
  std::shared_ptr<TFramedTransport> transport;
  metadata_wire::MetadataServiceClient client;
};

class ThriftMetadataServerTest : public testing::Test {
 protected:
  void Start(ThriftMetadataOptions options = ThriftMetadataOptions()) {
    options.host = "127.0.0.1";
    auto server = ServeThriftMetadata(published_, options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    auto params = Json::Parse(server_->InstanceMetadata()["dubbo.metadata-service.url-params"]);
    ASSERT_TRUE(params.ok());
    EXPECT_EQ((*params)["protocol"].AsString(), "thrift");
    int32_t port = 0;
    ASSERT_TRUE(absl::SimpleAtoi((*params)["port"].AsString(), &port));
    port_ = static_cast<uint16_t>(port);
    EXPECT_NE(port_, 0);
  }
  std::shared_ptr<PublishedMetadata> published_ =
      std::make_shared<PublishedMetadata>("shop", Clock::Real());
  std::unique_ptr<MetadataServer> server_;
  uint16_t port_ = 0;
};

TEST_F(ThriftMetadataServerTest, AnswersAllItsCalls) {
  published_->Publish(InfoOf("r1"), {*Url::Parse("tri://192.0.2.1:50051/a.A?group=g")});
  published_->AddSubscribed(*Url::Parse("consumer://192.0.2.1/a.B"));
  Start();
  Peer peer(port_);
  std::string version;
  peer.client.version(version);
  EXPECT_EQ(version, "1.0.0");
  metadata_wire::MetadataInfo info;
  peer.client.getMetadataInfo(info, "r1");
  EXPECT_EQ(info.services.size(), 1u);
  EXPECT_THROW(peer.client.getMetadataInfo(info, "r2"), metadata_wire::UnknownRevision);
  std::vector<metadata_wire::MetadataInfo> all;
  peer.client.getMetadataInfos(all);
  EXPECT_EQ(all.size(), 1u);
  std::vector<std::string> urls;
  peer.client.getExportedURLs(urls, "a.A", "g", "", "");
  EXPECT_EQ(urls, std::vector<std::string>{"tri://192.0.2.1:50051/a.A?group=g"});
  peer.client.getExportedURLs(urls, "a.X", "", "", "");
  EXPECT_TRUE(urls.empty());
  peer.client.getSubscribedURLs(urls);
  EXPECT_EQ(urls.size(), 1u);
}

TEST_F(ThriftMetadataServerTest, HostileBytesHarmOnlyTheirConnection) {
  published_->Publish(InfoOf("r1"), {});
  ThriftMetadataOptions options;
  options.max_frame_bytes = 4096;
  Start(options);
  const std::string huge("\x7f\xff\xff\xff", 4);
  const std::string negative("\xff\xff\xff\xff", 4);
  const std::string above("\x00\x01\x00\x00", 4);
  for (const std::string& bytes : {huge, negative, above, std::string("GET / HTTP/1.1\r\n\r\n"),
                                   std::string("\x00\x00\x00\x04\xde\xad\xbe\xef", 8)}) {
    RawConnection hostile(port_);
    EXPECT_TRUE(hostile.Send(bytes));
    EXPECT_TRUE(hostile.Closed()) << testing::PrintToString(bytes);
  }
  RawConnection half(port_);
  EXPECT_TRUE(half.Send(std::string("\x00\x00\x01\x00half", 8)));
  Peer peer(port_);
  metadata_wire::MetadataInfo info;
  peer.client.getMetadataInfo(info, "r1");
  EXPECT_EQ(info.revision, "r1");
}

TEST_F(ThriftMetadataServerTest, SilentConnectionsAreClosed) {
  ThriftMetadataOptions options;
  options.idle_timeout = absl::Milliseconds(200);
  Start(options);
  EXPECT_TRUE(RawConnection(port_).Closed());
}

TEST_F(ThriftMetadataServerTest, ClosesWithConnectionsOpen) {
  Start();
  Peer idle(port_);
  RawConnection half(port_);
  EXPECT_TRUE(half.Send(std::string("\x00\x00", 2)));
  server_->Close();
  server_->Close();
  EXPECT_TRUE(half.Closed());
}

// The end of a client is bounded, and this is only a part of it.
TEST_F(ThriftMetadataServerTest, ClosesSoonWhileAPeerDoesNotReadItsAnswer) {
  MetadataInfo large = InfoOf("r1");
  large.services.begin()->second.params["text"] = std::string(32 << 20, 'x');
  published_->Publish(large, {});
  Start();
  Peer lazy(port_);
  lazy.client.send_getMetadataInfo("r1");
  uint8_t begun = 0;
  ASSERT_EQ(lazy.socket->read(&begun, 1), 1u);
  const absl::Duration start = Clock::Real().MonotonicNow();
  server_->Close();
  EXPECT_LT(Clock::Real().MonotonicNow() - start, absl::Seconds(4));
}

TEST_F(ThriftMetadataServerTest, ManyAskWhileItChanges) {
  published_->Publish(InfoOf("r0"), {});
  Start();
  std::vector<std::thread> askers;
  for (int i = 0; i < 4; ++i) {
    askers.emplace_back([this] {
      Peer peer(port_);
      for (int k = 0; k < 50; ++k) {
        std::vector<metadata_wire::MetadataInfo> all;
        peer.client.getMetadataInfos(all);
        EXPECT_GE(all.size(), 1u);
      }
    });
  }
  for (int i = 1; i < 50; ++i) published_->Publish(InfoOf(absl::StrCat("r", i)), {});
  for (std::thread& asker : askers) asker.join();
}

TEST_F(ThriftMetadataServerTest, APortInUseIsAnError) {
  Start();
  ThriftMetadataOptions options;
  options.host = "127.0.0.1";
  options.port = port_;
  auto second = ServeThriftMetadata(published_, options);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition) << second.status();
}

}  // namespace
}  // namespace signpost

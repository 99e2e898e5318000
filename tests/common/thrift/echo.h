// A Thrift service that gives back the text it is given, without generated code.
#ifndef SIGNPOST_TESTS_COMMON_THRIFT_ECHO_H_
#define SIGNPOST_TESTS_COMMON_THRIFT_ECHO_H_

#include <gtest/gtest.h>
#include <thrift/TProcessor.h>
#include <thrift/protocol/TProtocol.h>

#include <cstdint>
#include <memory>
#include <string>

#include "signpost/common/thrift/thrift_server.h"

namespace signpost {

class EchoProcessor final : public apache::thrift::TProcessor {
 public:
  bool process(std::shared_ptr<apache::thrift::protocol::TProtocol> in,
               std::shared_ptr<apache::thrift::protocol::TProtocol> out, void*) override {
    std::string name;
    std::string text;
    apache::thrift::protocol::TMessageType type;
    int32_t sequence = 0;
    in->readMessageBegin(name, type, sequence);
    in->readString(text);
    in->readMessageEnd();
    in->getTransport()->readEnd();
    // Never answered.
    if (text == "hang") return true;
    out->writeMessageBegin(name, apache::thrift::protocol::T_REPLY, sequence);
    out->writeString(text);
    out->writeMessageEnd();
    out->getTransport()->writeEnd();
    out->getTransport()->flush();
    return true;
  }
};

inline std::unique_ptr<ThriftServer> StartEcho(
    const ThriftServerOptions& options = ThriftServerOptions()) {
  auto server = ThriftServer::Start(std::make_shared<EchoProcessor>(), options);
  EXPECT_TRUE(server.ok()) << server.status();
  return server.ok() ? *std::move(server) : nullptr;
}

// Throws what Thrift throws.
inline std::string Echo(apache::thrift::protocol::TProtocol& protocol, const std::string& text) {
  protocol.writeMessageBegin("echo", apache::thrift::protocol::T_CALL, 1);
  protocol.writeString(text);
  protocol.writeMessageEnd();
  protocol.getTransport()->writeEnd();
  protocol.getTransport()->flush();
  std::string name;
  std::string answer;
  apache::thrift::protocol::TMessageType type;
  int32_t sequence = 0;
  protocol.readMessageBegin(name, type, sequence);
  protocol.readString(answer);
  protocol.readMessageEnd();
  protocol.getTransport()->readEnd();
  return answer;
}

}  // namespace signpost

#endif  // SIGNPOST_TESTS_COMMON_THRIFT_ECHO_H_
